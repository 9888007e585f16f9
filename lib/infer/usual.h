// What is taken where the program leaves a choice.
#pragma once

#include <string>

#include "lib/infer/trials.h"

namespace oe::infer {

// Changes a guess that runs (`r`: its run) to what is usual, as far as it still runs: indices from
// all of their table, bytes for an image that is divided by 255, a second of sound where the model
// names its sampling rate, smaller images where a tensor gets very large, numbers from 0 to 1 where
// others give NaN.
void choose(Trials& trials, Guess& g, Run r);

// For operators that take one example where a batch of them is usual: the rank with a batch; 0 for
// others.
int64_t usual_rank(const std::string& op);

}  // namespace oe::infer
