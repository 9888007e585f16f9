// What the optimizer may do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/optimize/pass_list.h"

namespace oe::optimize {

struct Options {
  Level level = Level::Full;
  std::vector<std::string> disabled;  // names of kPasses
  bool constant_folding = true;
  bool change_weights = false;   // batch norms go into convolutions, biases of zeros away
  int64_t fold_limit = 1 << 20;  // bytes of a folded result; larger ones stay computed

  bool operator==(const Options&) const = default;
};

}  // namespace oe::optimize
