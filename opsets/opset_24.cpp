// Opset 24: Swish, caches in Attention, rounding of casts to 8-bit exponents.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void attention(Rewriter& r, ir::Node& n) {
  if (r.in(6)) {
    expand_body(r, n);
    return;
  }
  n.inputs.resize(std::min<size_t>(n.inputs.size(), 6));
  r.keep();
}

// round_mode speaks about float8e8m0 only.
void cast(Rewriter& r, ir::Node& n) {
  n.attributes.erase("round_mode");
  r.keep();
}

constexpr Row rows[] = {
    rewrite("Attention", attention),
    rewrite("Cast", cast),
    rewrite("CastLike", cast),
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
    same("SplitToSequence"),
    same("Squeeze"),
    rewrite("Swish", swish),
    needs("TensorScatter"),
    same("TopK"),
    same("Transpose"),
    same("Unsqueeze"),
};

}  // namespace

Rung opset_24() { return rows; }

}  // namespace oe::opsets
