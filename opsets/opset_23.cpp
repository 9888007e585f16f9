// Opset 23: RMSNormalization, Attention, RotaryEmbedding, output types of quantization.
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void rms_normalization(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), scale = n.input(1);
  const DType t = r.dtype(x);
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  // The stash type is a lower bound: a double stays one.
  Value c = r.cast(x, t == DType::Double ? t : stash);
  const int64_t rank = r.rank(x), axis = r.wrap(n.attributes.get_or<int64_t>("axis", -1), rank);
  Ints axes;
  for (int64_t a = axis; a < rank; ++a) axes.push_back(a);
  Value mean = r.reduce("ReduceMean", r.op("Mul", {c, c}), axes, true);
  Value epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), r.dtype(c));
  Value normal = r.op("Div", {c, r.op("Sqrt", {r.op("Add", {mean, epsilon})})});
  r.bind(n.outputs[0], r.op("Mul", {r.cast(normal, r.dtype(scale)), scale}));
}

void quantize(Rewriter& r, ir::Node& n) {
  if (r.dtype(n.input(0)) != r.dtype(n.input(1)))
    throw NotExpressible{"needs opset 23 or later where the scale has another type than the input"};
  if (n.attributes.get_or<int64_t>("precision", 0) != 0) throw NotExpressible{};
  n.attributes.erase("precision");
  r.keep();
}

void dequantize(Rewriter& r, ir::Node& n) {
  const auto to = n.attributes.get_or<int64_t>("output_dtype", 0);
  n.attributes.erase("output_dtype");
  if (to == 0 || to == static_cast<int64_t>(r.dtype(n.input(1)))) return r.keep();
  throw NotExpressible{"needs opset 23 or later for attribute 'output_dtype'"};
}

constexpr Row rows[] = {
    body("Attention"),
    same("Cast"),
    same("CastLike"),
    same("Constant"),
    same("ConstantOfShape"),
    rewrite("DequantizeLinear", dequantize),
    same("Flatten"),
    same("Identity"),
    same("If"),
    same("Loop"),
    same("Pad"),
    rewrite("QuantizeLinear", quantize),
    rewrite("RMSNormalization", rms_normalization),
    same("Reshape"),
    body("RotaryEmbedding"),
    same("Scan"),
    same("Shape"),
    same("Size"),
    same("Squeeze"),
    same("Transpose"),
    same("Unsqueeze"),
};

}  // namespace

Rung opset_23() { return rows; }

}  // namespace oe::opsets
