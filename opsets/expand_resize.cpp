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
  T in = nullptr, out = nullptr, scale = nullptr;
};

// Positions in the input that the outputs lie at, 1-d float.
T coordinates(Rewriter& r, const Axis& a, const Mode& m) {
  T x = cast(arange(a.out), kF), half = r.number(0.5, kF);
  const auto half_pixel = [&] { return (x + half) / a.scale - half; };
  // 1 where the output has more than one element, else 0.
  const auto several = [&] { return cast(r.i64(1) < a.out, kF); };
  if (m.transform == "half_pixel") return half_pixel();
  if (m.transform == "asymmetric") return x / a.scale;
  if (m.transform == "pytorch_half_pixel") return half_pixel() * several();
  if (m.transform == "align_corners") {
    // A single output lies at 0: x is 0 there, and the divisor is kept from being 0.
    T steps = cast(clamp(r, a.out - 1, r.i64(1), nullptr), kF);
    T span = cast(a.in - 1, kF);
    return x * span / steps;
  }
  throw Unsupported("needs opset 11 or later for '" + m.transform + "'");
}

T clip(T x, T last) { return minimum(maximum(x, 0), last); }

T nearest(Rewriter& r, T x, const Mode& m) {
  T half = r.number(0.5, kF);
  if (m.nearest == "floor") return floor(x);
  if (m.nearest == "ceil") return ceil(x);
  if (m.nearest == "round_prefer_ceil") return floor(x + half);
  return ceil(x - half);
}

T sample(Rewriter& r, T x, int64_t axis, const Axis& a, const Mode& m) {
  const int64_t rank = x.rank();
  T at = coordinates(r, a, m);
  T last = cast(a.in - 1, kF);
  const auto pick = [&](T where) { return gather(x, cast(where, DType::Int64), axis); };
  if (m.interpolation == "nearest") return pick(clip(nearest(r, at, m), last));

  Ints trailing;
  for (int64_t i = axis + 1; i < rank; ++i) trailing.push_back(i - axis);
  const auto weighted = [&](T where, T weight) {
    T w = cast(trailing.empty() ? weight : unsqueeze(weight, trailing), x.dtype());
    return pick(where) * w;
  };
  if (m.interpolation == "linear") {
    at = clip(at, last);
    T low = floor(at);
    T high = minimum(low + 1, last);
    T share = at - low;
    return weighted(low, 1 - share) + weighted(high, share);
  }
  T base = floor(at);
  Values weights = cubic_weights(at - base, m.cubic_a), places;
  for (int i = -1; i <= 2; ++i) places.push_back(base + i);
  if (m.exclude_outside) {
    T total = nullptr;
    for (size_t i = 0; i < 4; ++i) {
      T inside = ~((places[i] < 0) | (places[i] > last));
      weights[i] = weights[i] * cast(inside, kF);
      total = total ? total + weights[i] : weights[i];
    }
    for (T& w : weights) w = w / total;
  }
  T y = nullptr;
  for (size_t i = 0; i < 4; ++i) {
    T part = weighted(clip(places[i], last), weights[i]);
    y = y ? y + part : part;
  }
  return y;
}

// The scales that Resize-10 and Upsample need to say the same, if they can: nothing shrinks, and
// positions are x / scale, rounded down for nearest.
std::optional<std::vector<double>> upsample_scales(T x, T scales, T sizes, const Mode& m) {
  std::vector<double> s;
  if (sizes) {
    const auto out = ints(sizes);
    if (!out) return std::nullopt;
    for (size_t i = 0; i < out->size(); ++i) {
      const auto in = x.dim(static_cast<int64_t>(i));
      if (!in || *in == 0 || (*out)[i] % *in != 0) return std::nullopt;
      s.push_back(static_cast<double>((*out)[i] / *in));
    }
  } else {
    const TensorPtr t = content(scales);
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
  T x = r.in(0), scales = r.in(2), sizes = r.in(3);
  const auto text = [&](std::string_view name, const char* fallback) {
    return n.attributes.get_or<std::string>(name, fallback);
  };
  Mode m{text("coordinate_transformation_mode", "half_pixel"), text("mode", "nearest"),
         text("nearest_mode", "round_prefer_floor"),
         n.attributes.get_or<float>("cubic_coeff_a", -0.75f),
         n.attributes.get_or<int64_t>("exclude_outside", 0) != 0};
  if (sizes) scales = nullptr;
  if (const auto s = upsample_scales(x, scales, sizes, m)) {
    n.inputs = {x, r.numbers(*s, {static_cast<int64_t>(s->size())}, kF)};
    n.attributes = {{"mode", m.interpolation}};
    return r.keep();
  }
  if (!is_float(x.dtype()) && m.interpolation != "nearest")
    throw Unsupported("needs opset 11 or later for element type " +
                      std::string(oe::name(x.dtype())));
  const TensorPtr known_scales = scales ? content(scales) : nullptr;
  const auto known_sizes = sizes ? ints(sizes) : std::nullopt;
  T y = x;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const auto dim = x.dim(axis);
    Axis a;
    a.in = size(x, axis);
    if (known_scales) {
      const auto scale = static_cast<float>(known_scales->as_double()[i]);
      if (scale == 1.0f) continue;
      a.scale = r.number(scale, kF);
      a.out = dim ? r.i64(static_cast<int64_t>(std::floor(static_cast<float>(*dim) * scale)))
                  : cast(floor(cast(a.in, kF) * a.scale), DType::Int64);
    } else if (sizes) {
      if (known_sizes && dim && (*known_sizes)[i] == *dim) continue;
      a.out = known_sizes ? r.i64((*known_sizes)[i]) : gather(sizes, r.i64(axis), 0);
      a.scale = known_sizes && dim
                    ? r.number(static_cast<float>((*known_sizes)[i]) / static_cast<float>(*dim), kF)
                    : cast(a.out, kF) / cast(a.in, kF);
    } else {
      a.scale = gather(scales, r.i64(axis), 0);
      a.out = cast(floor(cast(a.in, kF) * a.scale), DType::Int64);
    }
    y = sample(r, y, axis, a, m);
  }
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
