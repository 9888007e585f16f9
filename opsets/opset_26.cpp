// Opset 26: running products and reinterpreted bits.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// One multiplication after the other, as the operator is defined.
void cum_prod(Rewriter& r, ir::Node& n) {
  const bool exclusive = n.attributes.get_or<int64_t>("exclusive", 0) != 0;
  const bool from_end = n.attributes.get_or<int64_t>("reverse", 0) != 0;
  r.bind(n.outputs[0], cumulate(r, "Mul", r.in(0), r.in(1), exclusive, from_end));
}

constexpr Row rows[] = {
    needs("BitCast"),
    rewrite("CumProd", cum_prod),
};

}  // namespace

Rung opset_26() { return rows; }

}  // namespace oe::opsets
