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
  Value x = n.input(0);
  const auto starts = r.ints(n.input(1)), ends = r.ints(n.input(2));
  const auto steps = n.input(4) ? r.ints(n.input(4)) : Ints{};
  if (!steps) throw NotExpressible{"needs opset 10 or later where the steps are computed"};
  Ints axes;
  if (n.input(3)) {
    const auto known = r.ints(n.input(3));
    if (!known) throw NotExpressible{"needs opset 10 or later where the axes are computed"};
    axes = *known;
  } else {
    const auto count = r.dim(n.input(1), 0);
    if (!count) throw NotExpressible{};
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
  Value y = x, zero = r.i64(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = steps->empty() ? 1 : (*steps)[i];
    Value size = r.size(x, axes[i]);
    const auto bound = [&](const std::optional<Ints>& known, Value v) {
      Value b = known ? r.i64((*known)[i])
                      : r.cast(r.gather(v, r.i64(static_cast<int64_t>(i)), 0), DType::Int64);
      // Clamped to what a walk in this direction can start and stop at.
      Value low = r.i64(step > 0 ? 0 : -1), high = step > 0 ? size : r.sub(size, r.i64(1));
      b = wrap_indices(r, b, size);
      return clamp(r, b, low, high);
    };
    Value start = bound(starts, n.input(1)), end = bound(ends, n.input(2));
    // count = max(0, ceil((end - start) / step))
    Value away = step > 0 ? r.sub(end, start) : r.sub(start, end);
    Value count = r.div(r.add(away, r.i64(std::abs(step) - 1)), r.i64(std::abs(step)));
    count = clamp(r, count, zero, size);
    Value picks = r.add(r.mul(r.arange(count), r.i64(step)), start);
    y = r.gather(y, picks, r.wrap(axes[i], axes[i] < 0 ? r.rank(x) : 0));
  }
  r.bind(n.outputs[0], y);
}

void top_k(Rewriter& r, ir::Node& n) {
  const auto k = r.ints(n.input(1));
  if (!k) throw NotExpressible{"needs opset 10 or later where k is computed"};
  n.inputs.resize(1);
  n.attributes.set("k", k->at(0));
  r.keep();
}

void dropout(Rewriter& r, ir::Node& n) {
  if (n.outputs.size() < 2 || !n.outputs[1]) return r.keep();
  Value mask = r.detach(1);
  n.outputs[1]->type.dtype = r.dtype(n.input(0));
  Value inner = n.outputs[1];
  r.keep();
  r.bind(mask, r.cast(inner, DType::Bool));
}

void is_inf(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const DType t = r.dtype(x);
  const double largest = t == DType::Double    ? std::numeric_limits<double>::max()
                         : t == DType::Float16 ? 65504.0
                                               : std::numeric_limits<float>::max();
  const bool up = n.attributes.get_or<int64_t>("detect_positive", 1) != 0;
  const bool down = n.attributes.get_or<int64_t>("detect_negative", 1) != 0;
  Value above = r.op("Greater", {x, r.number(largest, t)});
  Value below = r.op("Less", {x, r.number(-largest, t)});
  r.bind(n.outputs[0], up && down ? r.op("Or", {above, below})
                       : up       ? above
                       : down     ? below
                                  : r.op("And", {above, below}));
}

void mod(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), y = n.input(1);
  const DType t = r.dtype(x);
  if (!is_integer(t))
    throw NotExpressible{"needs opset 10 or later for element type " + std::string(oe::name(t))};
  // Division truncates: the rest has x's sign. ONNX Runtime makes (1 / y) * y of integers y / y, so
  // that a constant one is divided with the other sign.
  const TensorPtr known = r.data(x);
  const bool one = known && known->numel() == 1 && known->as_double()[0] == 1;
  Value rest = one && is_signed_integer(t)
                   ? r.op("Add", {x, r.op("Mul", {y, r.op("Div", {r.number(-1, t), y})})})
                   : r.op("Sub", {x, r.op("Mul", {y, r.op("Div", {x, y})})});
  if (n.attributes.get_or<int64_t>("fmod", 0) != 0 || !is_signed_integer(t))
    return r.bind(n.outputs[0], rest);
  Value zero = r.number(0, t);
  Value differ = r.op("Xor", {r.less(rest, zero), r.less(y, zero)});
  Value wrong = r.op("And", {differ, r.op("Not", {r.equal(rest, zero)})});
  r.bind(n.outputs[0], r.op("Add", {rest, r.op("Mul", {r.cast(wrong, t), y})}));
}

// Only what Upsample does: sizes that do not shrink.
void resize(Rewriter& r, ir::Node& n) {
  const auto scales = r.data(n.input(1));
  if (!scales) throw NotExpressible{"needs opset 10 or later where the scales are computed"};
  for (double s : scales->as_double())
    if (s < 1) throw NotExpressible{"needs opset 10 or later for a scale below 1"};
  n.op = "Upsample";
  r.keep();
}

// x where x > alpha, else 0
void thresholded_relu(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const DType t = r.dtype(x);
  Value above = r.op("Greater", {x, r.number(n.attributes.get_or<float>("alpha", 1.0f), t)});
  r.bind(n.outputs[0], r.where(above, x, r.number(0, t)));
}

constexpr Row rows[] = {
    rewrite("AveragePool", ceil_pool),
    needs("ConvInteger"),
    needs("DequantizeLinear"),
    rewrite("Dropout", dropout),
    rewrite("IsInf", is_inf),
    needs("MatMulInteger"),
    rewrite("MaxPool", ceil_pool),
    rewrite("Mod", mod),
    needs("NonMaxSuppression"),
    needs("QLinearConv"),
    needs("QLinearMatMul"),
    needs("QuantizeLinear"),
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
