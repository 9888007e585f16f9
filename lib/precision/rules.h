// Which nodes may be computed in 16 bits: the column `half` of lib/ir/traits.h, with the nodes
// whose attributes and inputs matter. docs/precision.md states the same table.
#pragma once

#include <string_view>

#include "lib/ir/traits.h"

namespace oe::precision {

using ir::Half;

struct Rule {
  Half half;
  std::string_view why;  // why it stays float32; empty where it does not
};

Rule rule_of(const ir::Node& n);

}  // namespace oe::precision
