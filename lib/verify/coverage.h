// Turns a model into one that says which branches and trip counts its inputs drive.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/verify/covered.h"

namespace oe::verify {

// An If or Loop that the author's source has (one that a lowering made is not counted).
struct Construct {
  bool loop = false;
  OriginPtr origin;
  size_t first = 0;  // its first flag: an If has {then, else}, a Loop {0, 1, 2, more trips}
  std::vector<bool> possible;  // false: cannot happen whatever the inputs (a constant trip count)
};

// A model whose outputs are a vector of flags (flag 0 says that a loop was cut short, the others
// belong to the constructs) and how many iterations all loops together ran. It has the original's
// inputs and one more, a float scalar: how many they may run.
struct Probe {
  std::vector<Construct> constructs;
  size_t flags = 1;
  std::string limit_input;
  std::vector<int64_t> landmarks;  // whole numbers that the model compares with or divides by
  std::string bytes;               // the serialized model; filled in by whoever instruments
};

// Instruments `m` in place, with operators that mean the same at every opset from 7 on, so that it
// may have been legalized already. What the flags do not depend on is left dead. False, and `m` as
// it was, when there is nothing to count.
bool instrument(ir::Model& m, Probe& probe);

// One entry a construct and source line, in the model's order. `refused`: flags that inputs drive
// which LibTorch does not take.
std::vector<Covered> covered(const Probe& probe, const std::vector<bool>& seen,
                             const std::vector<bool>& refused);

}  // namespace oe::verify
