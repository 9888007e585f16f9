// After a verification failed: the first operator of the program whose result differs.
#pragma once

#include <string>
#include <vector>

#include "lib/lower/user_rules.h"
#include "lib/options.h"
#include "lib/program/program.h"
#include "lib/verify/ort.h"

namespace oe {

// Makes every result of the program an output of a model, runs that, and the program in LibTorch,
// on `inputs` (one a port), and compares them in order. "aten::foo at net.py:12  y = foo(x): at
// [0]: 1, expected 2"; empty where that cannot be done. Not for models that draw random numbers.
std::string first_difference(program::Program& p, const std::vector<TensorPtr>& inputs,
                             const Options& o, const lower::UserRules& rules, verify::Ort& ort);

}  // namespace oe
