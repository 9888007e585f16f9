// What the optimizer may do.
#pragma once

#include <cstdint>

namespace oe::optimize {

struct Options {
  bool constant_folding = true;
  int64_t fold_limit = 1 << 20;  // bytes of a folded result; larger ones stay computed
};

}  // namespace oe::optimize
