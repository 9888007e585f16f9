// What the outputs of a model are computed from, as far as it says how they can be compared.
#pragma once

#include <vector>

#include "lib/ir/ir.h"

namespace oe::verify {

struct Lineage {
  bool drawn = false;                 // from random numbers, which differ from run to run
  DType coarsest = DType::Undefined;  // the least exact type of float on the way; Undefined: none
  // From a truth value, an index or a whole number that was made of floats: where these tie,
  // rounding decides.
  bool decided = false;
  // From numbers that were rounded to integers of 8 bits, in steps of `step`; 0: it is not known.
  bool quantized = false;
  double step = 0;
  bool depends = false;  // on an input of the model
  bool operator==(const Lineage&) const = default;
};

// One entry an output. Follows values through branches and loops one by one; what only the shape
// of a random value determines counts as drawn too.
std::vector<Lineage> lineage(const ir::Model& m);

}  // namespace oe::verify
