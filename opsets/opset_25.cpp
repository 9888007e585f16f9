// Opset 25: windows in Attention; elsewhere only 2-bit integers were added.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void attention(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<int64_t>("left_window_size", -1) != -1 ||
      n.attributes.get_or<int64_t>("right_window_size", -1) != -1) {
    expand_body(r, n);
    return;
  }
  n.attributes.erase("left_window_size");
  n.attributes.erase("right_window_size");
  r.keep();
}

constexpr Row rows[] = {
    rewrite("Attention", attention),
    same("Cast"),
    same("CastLike"),
    same("Constant"),
    same("ConstantOfShape"),
    same("DequantizeLinear"),
    same("Flatten"),
    same("Identity"),
    same("If"),
    same("Loop"),
    same("Pad"),
    same("QuantizeLinear"),
    same("Reshape"),
    same("Scan"),
    same("Shape"),
    same("Size"),
    same("Squeeze"),
    same("Transpose"),
    same("Unsqueeze"),
};

}  // namespace

Rung opset_25() { return rows; }

}  // namespace oe::opsets
