// Opset 10: Slice and TopK with inputs, ceil mode of pooling, Mod, Resize, NonMaxSuppression.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Inputs become attributes where they are constant; the rest is picked by computed positions.
void slice(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const auto starts = ints(r.in(1)), ends = ints(r.in(2));
  const auto steps = r.in(4) ? ints(r.in(4)) : Ints{};
  if (!steps) throw Unsupported("needs opset 10 or later where the steps are computed");
  Ints axes;
  if (r.in(3)) {
    const auto known = ints(r.in(3));
    if (!known) throw Unsupported("needs opset 10 or later where the axes are computed");
    axes = *known;
  } else {
    const auto count = r.in(1).dim(0);
    if (!count) throw Unsupported("");
    for (int64_t a = 0; a < *count; ++a) axes.push_back(a);
  }
  const bool forward = std::all_of(steps->begin(), steps->end(), [](int64_t s) { return s == 1; });
  if (starts && ends && forward) {
    n.inputs.resize(1);
    n.attributes.set("starts", *starts);
    n.attributes.set("ends", *ends);
    n.attributes.set("axes", axes);
    return r.keep();
  }
  T y = x, zero = r.i64(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = steps->empty() ? 1 : (*steps)[i];
    T length = size(x, axes[i]);
    const auto bound = [&](const std::optional<Ints>& known, T v) {
      T b = known ? r.i64((*known)[i])
                  : cast(gather(v, r.i64(static_cast<int64_t>(i)), 0), DType::Int64);
      // Clamped to what a walk in this direction can start and stop at.
      T low = r.i64(step > 0 ? 0 : -1), high = step > 0 ? length : length - 1;
      b = wrap_indices(r, b, length);
      return clamp(r, b, low, high);
    };
    T start = bound(starts, r.in(1)), end = bound(ends, r.in(2));
    // count = max(0, ceil((end - start) / step))
    T away = step > 0 ? end - start : start - end;
    T count = (away + (std::abs(step) - 1)) / std::abs(step);
    count = clamp(r, count, zero, length);
    T picks = arange(count) * step + start;
    y = gather(y, picks, wrapped(axes[i], axes[i] < 0 ? x.rank() : 0));
  }
  r.bind(n.outputs[0], y);
}

void top_k(Rewriter& r, ir::Node& n) {
  const auto k = ints(r.in(1));
  if (!k) throw Unsupported("needs opset 10 or later where k is computed");
  if (k->at(0) == 0) throw Unsupported("needs opset 10 or later where nothing is chosen (k is 0)");
  n.inputs.resize(1);
  n.attributes.set("k", k->at(0));
  r.keep();
}

void dropout(Rewriter& r, ir::Node& n) {
  if (n.outputs.size() < 2 || !n.outputs[1]) return r.keep();
  T mask = r.detach(1);
  n.outputs[1]->type.dtype = r.in(0).dtype();
  T inner = r.at(n.outputs[1]);
  r.keep();
  r.bind(mask, cast(inner, DType::Bool));
}

void is_inf(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const DType t = x.dtype();
  const double largest = t == DType::Double    ? std::numeric_limits<double>::max()
                         : t == DType::Float16 ? 65504.0
                                               : std::numeric_limits<float>::max();
  const bool up = n.attributes.get_or<int64_t>("detect_positive", 1) != 0;
  const bool down = n.attributes.get_or<int64_t>("detect_negative", 1) != 0;
  T above = x > largest;
  T below = x < -largest;
  r.bind(n.outputs[0], up && down ? above | below : up ? above : down ? below : above & below);
}

void mod(Rewriter& r, ir::Node& n) {
  T x = r.in(0), y = r.in(1);
  const DType t = x.dtype();
  if (!is_integer(t))
    throw Unsupported("needs opset 10 or later for element type " + std::string(oe::name(t)));
  // Division truncates: the rest has x's sign. ONNX Runtime makes (1 / y) * y of integers y / y, so
  // that a constant one is divided with the other sign.
  const TensorPtr known = content(x);
  const bool one = known && known->numel() == 1 && known->as_double()[0] == 1;
  T rest = one && is_signed_integer(t) ? x + y * (-1 / y) : x - y * (x / y);
  if (n.attributes.get_or<int64_t>("fmod", 0) != 0 || !is_signed_integer(t))
    return r.bind(n.outputs[0], rest);
  T zero = r.number(0, t);
  T differ = (rest < zero) ^ (y < zero);
  T wrong = differ & ~equal(rest, zero);
  r.bind(n.outputs[0], rest + cast(wrong, t) * y);
}

// Only what Upsample does: sizes that do not shrink.
void resize(Rewriter& r, ir::Node& n) {
  const auto scales = content(r.in(1));
  if (!scales) throw Unsupported("needs opset 10 or later where the scales are computed");
  for (double s : scales->as_double())
    if (s < 1) throw Unsupported("needs opset 10 or later for a scale below 1");
  n.op = "Upsample";
  r.keep();
}

// x where x > alpha, else 0
void thresholded_relu(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  T above = x > n.attributes.get_or<float>("alpha", 1.0f);
  r.bind(n.outputs[0], where(above, x, 0));
}

constexpr Row rows[] = {
    rewrite("AveragePool", ceil_pool),
    needs("ConvInteger"),
    rewrite("DequantizeLinear", dequantize_linear),
    rewrite("Dropout", dropout),
    rewrite("IsInf", is_inf),
    rewrite("MatMulInteger", matmul_integer),
    rewrite("MaxPool", ceil_pool),
    rewrite("Mod", mod),
    needs("NonMaxSuppression"),
    needs("QLinearConv"),
    needs("QLinearMatMul"),
    rewrite("QuantizeLinear", quantize_linear),
    rewrite("Resize", resize),
    rewrite("ReverseSequence", reverse_sequence),
    needs("RoiAlign"),
    rewrite("Slice", slice),
    needs("StringNormalizer"),
    rewrite("ThresholdedRelu", thresholded_relu),
    rewrite("TopK", top_k),
};

}  // namespace

Rung opset_10() { return rows; }

}  // namespace oe::opsets
