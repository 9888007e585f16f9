// Resize for opsets below 11, by picking and weighting samples along each axis.
#include <algorithm>
#include <cmath>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

constexpr DType kF = DType::Float;

struct Mode {
  std::string transform, interpolation, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false;
};

// Along one axis: sizes as 0-d int64 and the scale as 0-d float, constants where they are known.
struct Axis {
  Value in = nullptr, out = nullptr, scale = nullptr;
};

// Positions in the input that the outputs lie at, 1-d float.
Value coordinates(Rewriter& r, const Axis& a, const Mode& m) {
  Value x = r.cast(r.arange(a.out), kF), half = r.number(0.5, kF);
  const auto half_pixel = [&] {
    return r.op("Sub", {r.op("Div", {r.op("Add", {x, half}), a.scale}), half});
  };
  // 1 where the output has more than one element, else 0.
  const auto several = [&] { return r.cast(r.less(r.i64(1), a.out), kF); };
  if (m.transform == "half_pixel") return half_pixel();
  if (m.transform == "asymmetric") return r.op("Div", {x, a.scale});
  if (m.transform == "pytorch_half_pixel") return r.op("Mul", {half_pixel(), several()});
  if (m.transform == "align_corners") {
    // A single output lies at 0: x is 0 there, and the divisor is kept from being 0.
    Value steps = r.cast(clamp(r, r.sub(a.out, r.i64(1)), r.i64(1), nullptr), kF);
    Value span = r.cast(r.sub(a.in, r.i64(1)), kF);
    return r.op("Div", {r.op("Mul", {x, span}), steps});
  }
  throw NotExpressible{"needs opset 11 or later for '" + m.transform + "'"};
}

Value clip(Rewriter& r, Value x, Value last) {
  return r.op("Min", {r.op("Max", {x, r.number(0, kF)}), last});
}

Value nearest(Rewriter& r, Value x, const Mode& m) {
  Value half = r.number(0.5, kF);
  if (m.nearest == "floor") return r.op("Floor", {x});
  if (m.nearest == "ceil") return r.op("Ceil", {x});
  if (m.nearest == "round_prefer_ceil") return r.op("Floor", {r.op("Add", {x, half})});
  return r.op("Ceil", {r.op("Sub", {x, half})});
}

// Weights of the four neighbours at distance s, 1 + s, ... (Keys' cubic convolution).
Values cubic_weights(Rewriter& r, Value s, double a) {
  const auto c = [&](double v) { return r.number(v, kF); };
  const auto mul = [&](Value x, Value y) { return r.op("Mul", {x, y}); };
  const auto add = [&](Value x, Value y) { return r.op("Add", {x, y}); };
  // |d| <= 1: ((a + 2) d - (a + 3)) d d + 1; 1 < |d| < 2: ((a d - 5 a) d + 8 a) d - 4 a
  const auto near = [&](Value d) {
    return add(mul(mul(add(mul(c(a + 2), d), c(-(a + 3))), d), d), c(1));
  };
  const auto far = [&](Value d) {
    return add(mul(add(mul(add(mul(c(a), d), c(-5 * a)), d), c(8 * a)), d), c(-4 * a));
  };
  Value rest = r.op("Sub", {c(1), s});
  return {far(add(s, c(1))), near(s), near(rest), far(add(rest, c(1)))};
}

Value sample(Rewriter& r, Value x, int64_t axis, const Axis& a, const Mode& m) {
  const int64_t rank = r.rank(x);
  Value at = coordinates(r, a, m);
  Value last = r.cast(r.sub(a.in, r.i64(1)), kF);
  const auto pick = [&](Value where) { return r.gather(x, r.cast(where, DType::Int64), axis); };
  if (m.interpolation == "nearest") return pick(clip(r, nearest(r, at, m), last));

  Ints trailing;
  for (int64_t i = axis + 1; i < rank; ++i) trailing.push_back(i - axis);
  const auto weighted = [&](Value where, Value weight) {
    Value w = r.cast(trailing.empty() ? weight : r.unsqueeze(weight, trailing), r.dtype(x));
    return r.op("Mul", {pick(where), w});
  };
  if (m.interpolation == "linear") {
    at = clip(r, at, last);
    Value low = r.op("Floor", {at});
    Value high = r.op("Min", {r.op("Add", {low, r.number(1, kF)}), last});
    Value share = r.op("Sub", {at, low});
    return r.op("Add",
                {weighted(low, r.op("Sub", {r.number(1, kF), share})), weighted(high, share)});
  }
  Value base = r.op("Floor", {at});
  Values weights = cubic_weights(r, r.op("Sub", {at, base}), m.cubic_a), places;
  for (int i = -1; i <= 2; ++i) places.push_back(r.op("Add", {base, r.number(i, kF)}));
  if (m.exclude_outside) {
    Value total = nullptr;
    for (size_t i = 0; i < 4; ++i) {
      Value inside = r.op("Not", {r.op("Or", {r.op("Less", {places[i], r.number(0, kF)}),
                                              r.op("Greater", {places[i], last})})});
      weights[i] = r.op("Mul", {weights[i], r.cast(inside, kF)});
      total = total ? r.op("Add", {total, weights[i]}) : weights[i];
    }
    for (Value& w : weights) w = r.op("Div", {w, total});
  }
  Value y = nullptr;
  for (size_t i = 0; i < 4; ++i) {
    Value part = weighted(clip(r, places[i], last), weights[i]);
    y = y ? r.op("Add", {y, part}) : part;
  }
  return y;
}

// The scales that Resize-10 and Upsample need to say the same, if they can: nothing shrinks, and
// positions are x / scale, rounded down for nearest.
std::optional<std::vector<double>> upsample_scales(Rewriter& r, Value x, Value scales, Value sizes,
                                                   const Mode& m) {
  std::vector<double> s;
  if (sizes) {
    const auto out = r.ints(sizes);
    if (!out) return std::nullopt;
    for (size_t i = 0; i < out->size(); ++i) {
      const auto in = r.dim(x, static_cast<int64_t>(i));
      if (!in || *in == 0 || (*out)[i] % *in != 0) return std::nullopt;
      s.push_back(static_cast<double>((*out)[i] / *in));
    }
  } else {
    const TensorPtr t = r.data(scales);
    if (!t) return std::nullopt;
    s = t->as_double();
  }
  bool whole = true;
  for (double v : s) {
    if (v < 1) return std::nullopt;
    whole = whole && v == std::floor(v);
  }
  if (m.interpolation == "linear")
    return m.transform == "asymmetric" && s.size() <= 4 ? std::optional(s) : std::nullopt;
  if (m.interpolation != "nearest") return std::nullopt;
  if (m.transform == "asymmetric" && m.nearest == "floor") return s;
  // With a whole scale the centre of an output pixel never lies halfway between two inputs.
  const bool centred = m.transform == "half_pixel" || m.transform == "pytorch_half_pixel";
  if (whole && centred && m.nearest.starts_with("round")) return s;
  return std::nullopt;
}

}  // namespace

void resize_by_samples(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), scales = n.input(2), sizes = n.input(3);
  const auto text = [&](std::string_view name, const char* fallback) {
    return n.attributes.get_or<std::string>(name, fallback);
  };
  Mode m{text("coordinate_transformation_mode", "half_pixel"), text("mode", "nearest"),
         text("nearest_mode", "round_prefer_floor"),
         n.attributes.get_or<float>("cubic_coeff_a", -0.75f),
         n.attributes.get_or<int64_t>("exclude_outside", 0) != 0};
  if (sizes) scales = nullptr;
  if (const auto s = upsample_scales(r, x, scales, sizes, m)) {
    n.inputs = {x, r.numbers(*s, {static_cast<int64_t>(s->size())}, kF)};
    n.attributes = {{"mode", m.interpolation}};
    return r.keep();
  }
  if (!is_float(r.dtype(x)) && m.interpolation != "nearest")
    throw NotExpressible{"needs opset 11 or later for element type " +
                         std::string(oe::name(r.dtype(x)))};
  const TensorPtr known_scales = scales ? r.data(scales) : nullptr;
  const auto known_sizes = sizes ? r.ints(sizes) : std::nullopt;
  Value y = x;
  for (int64_t axis = 0; axis < r.rank(x); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const auto dim = r.dim(x, axis);
    Axis a;
    a.in = r.size(x, axis);
    if (known_scales) {
      const auto scale = static_cast<float>(known_scales->as_double()[i]);
      if (scale == 1.0f) continue;
      a.scale = r.number(scale, kF);
      a.out = dim ? r.i64(static_cast<int64_t>(std::floor(static_cast<float>(*dim) * scale)))
                  : r.cast(r.op("Floor", {r.op("Mul", {r.cast(a.in, kF), a.scale})}), DType::Int64);
    } else if (sizes) {
      if (known_sizes && dim && (*known_sizes)[i] == *dim) continue;
      a.out = known_sizes ? r.i64((*known_sizes)[i]) : r.gather(sizes, r.i64(axis), 0);
      a.scale = known_sizes && dim
                    ? r.number(static_cast<float>((*known_sizes)[i]) / static_cast<float>(*dim), kF)
                    : r.op("Div", {r.cast(a.out, kF), r.cast(a.in, kF)});
    } else {
      a.scale = r.gather(scales, r.i64(axis), 0);
      a.out = r.cast(r.op("Floor", {r.op("Mul", {r.cast(a.in, kF), a.scale})}), DType::Int64);
    }
    y = sample(r, y, axis, a, m);
  }
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
