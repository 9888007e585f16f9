// The request of --to, and its result. Standard library only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/support/dtype.h"

namespace oe::precision {

struct Request {
  DType half = DType::Float16;    // or BFloat16
  std::vector<std::string> keep;  // operators ("Softmax") and modules ("encoder.norm")
  bool half_io = false;           // inputs and outputs too
};

// Nodes of one operator that stayed float32 for one reason.
struct Kept {
  std::string op;
  std::string why;  // "sums", "asked for", "opset 22 is the first with bfloat16", ...
  size_t nodes = 0;
};

struct Summary {
  DType half = DType::Undefined;
  size_t nodes = 0, of = 0;  // that compute in `half`; that computed in float32
  std::vector<Kept> kept;    // most nodes first
};

}  // namespace oe::precision
