// Opset 19: wrap padding, 8-bit floats, dilated AveragePool, DeformConv.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

bool is_float8(DType t) {
  return t == DType::Float8E4M3FN || t == DType::Float8E4M3FNUZ || t == DType::Float8E5M2 ||
         t == DType::Float8E5M2FNUZ;
}

// `saturate` speaks about 8-bit floats only, which the type pass looks at.
void drop_saturate(Rewriter& r, ir::Node& n) {
  n.attributes.erase("saturate");
  r.keep();
}

void quantize(Rewriter& r, ir::Node& n) {
  if (r.in(1).dtype() != DType::Float)
    throw Unsupported("needs opset 19 or later where the scale is not of type float");
  if (r.in(2) && is_float8(r.in(2).dtype())) throw Unsupported("");
  n.attributes.erase("saturate");
  r.keep();
}

void pad(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<std::string>("mode", "constant") != "wrap") return r.keep();
  pad_by_index(r, n);
}

void resize(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<std::string>("coordinate_transformation_mode", "") ==
      "half_pixel_symmetric")
    throw Unsupported("needs opset 19 or later for 'half_pixel_symmetric'");
  r.keep();
}

constexpr Row rows[] = {
    defaults("AveragePool"),
    rewrite("Cast", drop_saturate),
    rewrite("CastLike", drop_saturate),
    same("Constant"),
    needs("DeformConv"),
    rewrite("DequantizeLinear", quantize),
    same("Equal"),
    same("Identity"),
    same("If"),
    same("Loop"),
    rewrite("Pad", pad),
    rewrite("QuantizeLinear", quantize),
    same("Reshape"),
    rewrite("Resize", resize),
    same("Scan"),
    same("Shape"),
    same("Size"),
};

}  // namespace

Rung opset_19() { return rows; }

}  // namespace oe::opsets
