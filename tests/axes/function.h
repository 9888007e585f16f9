// A TorchScript function of one operator, captured, and held against what LibTorch gives.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

#include <string>
#include <vector>

#include "lib/program/program.h"
#include "tests/axes/values.h"

namespace oe::axes {

// What of a sample is constant.
struct Variant {
  std::string name;
  std::vector<Role> roles;  // of each leaf
};
std::vector<Variant> variants(const Sample& sample);

struct Capture {
  enum class Kind { Program, Refused, Wrong, OtherOverload };
  Kind kind = Kind::Wrong;
  program::Program program;
  std::string detail;  // of what is no program
};
// `one_world`: capture runs at the example's sizes alone, so that rules say all of what is static.
Capture captured(const torch::jit::Operator& op, const Sample& sample, const Variant& v,
                 bool one_world);

// How the real results of the operator at these sizes differ from what the program declares; empty:
// not at all. `numbers_only`: names of axes are not looked at.
std::string difference(const program::Program& p, const std::vector<c10::IValue>& results,
                       const Sample& sample, const Variant& v, const Base& base, bool numbers_only);

// Sizes to compare at: of letters that the variant's inputs have.
std::vector<Base> other_bases(const Sample& sample, const Variant& v);

}  // namespace oe::axes
