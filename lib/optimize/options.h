// What the optimizer may do.
#pragma once

#include <cstdint>

namespace oe::optimize {

struct Options {
  bool constant_folding = true;
  bool batch_norms = false;      // go into convolutions: weights change
  int64_t fold_limit = 1 << 20;  // bytes of a folded result; larger ones stay computed
};

}  // namespace oe::optimize
