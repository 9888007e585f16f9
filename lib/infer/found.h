// The inferred inputs, for reports. Standard library only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oe::infer {

struct FoundAxis {
  int64_t size = 0;
  bool free = false;   // LibTorch runs the method at other sizes too
  std::string symbol;  // shared by axes that must be equal; empty if it is not free
  std::string reason;  // "fc1 (linear) takes 1x9216, model.py:20"
};

struct FoundInput {
  std::string name;
  std::string spec;  // as --input takes it: "obs:1x48@f32"
  std::vector<FoundAxis> axes;
  std::string rank, type, value;  // reasons; empty: usual ones
  // Properties that the model does not force: other ranks and element types that run too ("1 and
  // 3", "float64"), and the inferred value of a number or string. Empty: everything is forced.
  std::string other_ranks, other_types, baked;
};

// The grade of a fact. Forced: nothing else runs. Usual: others run, and this is the convention.
inline const char* grade(const std::string& others) { return others.empty() ? "forced" : "usual"; }
// "x: rank 2 (1 and 3 run too), type i64 (i32 runs too)"; empty if everything is forced. Unless
// `all`, float32 is not listed, because it is the common default.
std::string doubts(const FoundInput& in, bool all);

// One line for each fact: sizes, free axes, and the reasons of the others.
std::string text(const FoundInput& in);
// "obs:1x48@f32 (axis 0 free)"
std::string short_text(const FoundInput& in);

}  // namespace oe::infer
