// Which sizes and numbers of the inputs make a quantity inside the program what it should be.
#pragma once

#include <string>
#include <vector>

#include "lib/infer/knobs.h"
#include "lib/infer/trials.h"

namespace oe::infer {

// What is asked of the inputs.
struct Demand {
  Quantity quantity;
  int64_t want = 0;
  Mask mask = 0;           // inputs that it may depend on
  std::vector<int> kinds;  // of knobs; empty: every number
  std::string why;         // for the reasons of what changes
};

// Moves each knob to see what the quantity depends on, sets those so that it is as wanted, and
// gives every such guess to `attempt` until one is the answer: squares first, then one knob alone,
// then those of equal size together. `stop`: where the run of `g` stopped.
bool solve(Trials& trials, const Guess& g, const Stop& stop, const Demand& demand,
           c10::ScalarType weights, const Try& attempt);

}  // namespace oe::infer
