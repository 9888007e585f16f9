// What was found of inputs that nobody described, as reports tell it. Standard library only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oe::infer {

struct FoundAxis {
  int64_t size = 0;
  bool free = false;   // LibTorch runs the method at other sizes too
  std::string symbol;  // axes that have to be equal share one; empty where it is not free
  std::string reason;  // "fc1 (linear) takes 1x9216, model.py:20"
};

struct FoundInput {
  std::string name;
  std::string spec;  // as --input takes it: "obs:1x48@f32"
  std::vector<FoundAxis> axes;
  std::string rank, type, value;  // reasons; empty: usual ones
  // What nothing in the model forces: other ranks and element types that run too ("1 and 3",
  // "float64"), and the value of what is no tensor and was not said. Empty: it is forced.
  std::string other_ranks, other_types, baked;
};

// How sure a fact is: nothing else runs; others run, and this is the convention.
inline const char* grade(const std::string& others) { return others.empty() ? "forced" : "usual"; }
// "x: rank 2 (1 and 3 run too), type i64 (i32 runs too)"; empty where all is forced. Unless `all`,
// float32 is no doubt: it is what every tool takes.
std::string doubts(const FoundInput& in, bool all);

// One line a fact: sizes, which are free, and where the others come from.
std::string text(const FoundInput& in);
// "obs:1x48@f32 (axis 0 free)"
std::string short_text(const FoundInput& in);

}  // namespace oe::infer
