// Opset 27: Range of half types, and two state-space functions.
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Half types count in the stash type; below 27 they are not listed, so the casts are explicit.
void range(Rewriter& r, ir::Node& n) {
  const DType t = r.in(0).dtype();
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  n.attributes.erase("stash_type");
  if (t != DType::Float16 && t != DType::BFloat16) return r.keep();
  Values in;
  for (T v : r.at(n.inputs)) in.push_back(cast(v, stash));
  r.bind(n.outputs[0], cast(node("Range", in, {}, ranked(stash, 1)), t));
}

constexpr Row rows[] = {
    body("CausalConvWithState"),
    body("LinearAttention"),
    rewrite("Range", range),
};

}  // namespace

Rung opset_27() { return rows; }

}  // namespace oe::opsets
