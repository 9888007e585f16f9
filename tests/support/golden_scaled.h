// A golden case at four times its sizes: as many nodes as at its own.
#pragma once

#include <string>
#include <vector>

#include "lib/torch/load.h"
#include "tests/support/golden_file.h"

namespace oe::golden {

struct Scaled {
  // Same: every size that LibTorch takes gives as many nodes. Unscaled: it takes no other size.
  // Refused: nothing converts at the example's own size.
  enum class Kind { Same, Grows, Unscaled, Refused };
  Kind kind = Kind::Same;
  std::string message;  // of Grows: sizes, opset and both numbers
};

Scaled run_scaled(const Case& c, const torch_io::Loaded& module,
                  const std::vector<int64_t>& opsets);

}  // namespace oe::golden
