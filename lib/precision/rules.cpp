#include "lib/precision/rules.h"

namespace oe::precision {

Rule rule_of(const ir::Node& n) {
  // Statistics of the batch; without them it is a product and a sum with known numbers.
  if (n.is("BatchNormalization") && n.attributes.get_or<int64_t>("training_mode", 0))
    return {Half::Float32, "normalization"};
  if (n.is("Mul") && n.inputs[0] == n.inputs[1]) return {Half::Wide, "large range"};
  const ir::Traits& traits = ir::traits_of(n);
  return {traits.half, traits.why};
}

}  // namespace oe::precision
