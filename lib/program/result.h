// How the value that a method returns maps to outputs of the program.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace oe::program {

struct Result {
  enum class Kind {
    Absent,    // always None: no output
    Value,     // one output: a tensor or a number
    Vector,    // one output: a list of numbers, as a tensor of rank 1
    Sequence,  // one output: a list of tensors of any length
    Items,     // a tuple, list or dict: the outputs of its items, in order
  };
  Kind kind = Kind::Value;
  bool optional = false;           // it may be None; then each of its outputs is None
  std::vector<Result> items = {};  // of Items

  size_t outputs() const {
    size_t n = kind == Kind::Absent ? 0 : 1;
    if (kind == Kind::Items) n = 0;
    for (const Result& item : items) n += item.outputs();
    return n;
  }
};

// An attribute of the module that is also an output: its value after the call.
struct StateResult {
  std::string attribute;  // "bn.running_mean"
  Result result;
};

struct Results {
  Result method;                   // of the method's value: the first outputs
  std::vector<StateResult> state;  // the outputs after them
};

}  // namespace oe::program
