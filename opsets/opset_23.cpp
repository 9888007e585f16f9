// Opset 23: RMSNormalization, Attention, RotaryEmbedding, output types of quantization.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void rms_normalization(Rewriter& r, ir::Node& n) {
  T x = r.in(0), scale = r.in(1);
  const DType t = x.dtype();
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  // The stash type is a lower bound: a double stays one.
  T c = cast(x, t == DType::Double ? t : stash);
  const int64_t rank = x.rank(), axis = wrapped(n.attributes.get_or<int64_t>("axis", -1), rank);
  Ints axes;
  for (int64_t a = axis; a < rank; ++a) axes.push_back(a);
  T mean = reduce("ReduceMean", square(r, c), axes, true);
  T epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), c.dtype());
  T normal = c / sqrt(mean + epsilon);
  T y = cast(normal, scale.dtype());
  r.bind(n.outputs[0], scalar(scale) == 1 ? y : y * scale);
}

void quantize(Rewriter& r, ir::Node& n) {
  if (r.in(0).dtype() != r.in(1).dtype())
    throw Unsupported("needs opset 23 or later where the scale has another type than the input");
  if (n.attributes.get_or<int64_t>("precision", 0) != 0) throw Unsupported("");
  n.attributes.erase("precision");
  r.keep();
}

void dequantize(Rewriter& r, ir::Node& n) {
  const auto to = n.attributes.get_or<int64_t>("output_dtype", 0);
  n.attributes.erase("output_dtype");
  if (to == 0 || to == static_cast<int64_t>(r.in(1).dtype())) return r.keep();
  throw Unsupported("needs opset 23 or later for attribute 'output_dtype'");
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
