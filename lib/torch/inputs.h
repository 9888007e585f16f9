// Example inputs from SPECs, files and what a traced file knows; the method's input tree.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/draw.h"
#include "lib/torch/example_files.h"
#include "lib/torch/input_options.h"
#include "lib/torch/load.h"

namespace oe::torch_io {

// One tensor (or number) leaf of the method's arguments, in flattening order. Numbers that keep the
// default of the method's own signature are no leaves: they are constants of the export.
struct InputLeaf {
  std::string name;  // "x", "boxes.0", "cfg.mask"; or what --input-names calls it
  std::string path;  // its own name, whatever it is called
  c10::IValue value;
  std::vector<std::string> axis_names;  // per axis: "" static, else the dynamic axis's name
  std::vector<std::pair<int64_t, int64_t>> bounds;  // per axis: inclusive; {0, -1}: none given
  size_t argument = 0;                              // index into ExampleInputs::arguments
  size_t place = 0;     // among its tensors and numbers, of which some may be constants
  bool normal = false;  // the value was drawn from N(0, 1)
  std::optional<std::pair<double, double>> range;  // it was drawn from: both ends are in it
  std::vector<bool> differs;  // per axis: an alternative has another size there
  bool fixed = false;         // resized_inputs() keeps the value (a number that the export froze)
  // The element type that the file takes a number in, where its SPEC asks for another one than
  // float64 or int64. The value is one that the type holds. Undefined: its own type.
  DType number_type = DType::Undefined;
  std::string attribute;  // of the model that it is (--state=io): "rnn.hidden"; empty: an argument
};

struct ExampleInputs {
  // The method's arguments without self, complete; then the values of `state`.
  std::vector<c10::IValue> arguments;
  // Further examples: values for the leaves that are no state, at sizes that may be others.
  std::vector<std::vector<c10::IValue>> alternatives;
  std::vector<InputLeaf> leaves;  // tensors and numbers inside `arguments`, in order
  // Keys of --dynamic-axes that are no input: outputs, or wrong (the pipeline finds out which).
  std::vector<std::string> output_axes_unresolved;
  std::vector<std::string> state;  // attributes that are inputs too (lib/torch/state.h)
  // Attributes that are one tensor with one of `state`: it, and which.
  std::vector<std::pair<std::string, size_t>> tied;
  InputOptions options;  // that describe it: the seed, names and dynamic axes, also of state
};

// Builds the example arguments. Unknown names and axes, a wrong number of inputs, a missing input
// with no known shape: Failure(Usage or Refused) with the nearest match and what the model expects.
ExampleInputs make_inputs(const InputOptions& o, const Loaded& m, ExampleFiles& files);
inline ExampleInputs make_inputs(const InputOptions& o, const Loaded& m) {
  ExampleFiles files;
  return make_inputs(o, m, files);
}

// An argument of the method, without self.
struct Argument {
  std::string name;
  std::string number;  // its default where that is a number, as a SPEC has it; empty: none
};
std::vector<Argument> arguments_of(const Loaded& m);

// The same arguments with leaf i's tensor axes at other sizes and other values: `sizes[i]` is the
// full shape of leaf i (numbers keep their value unless `seed` != the example's). Used by capture's
// worlds and by verification. Random values keep to the example's range. Every tensor is a copy.
std::vector<c10::IValue> resized_inputs(const ExampleInputs& e,
                                        const std::vector<std::vector<int64_t>>& sizes,
                                        uint64_t seed);

// The same with the draw's variations. What is fixed stays.
std::vector<c10::IValue> drawn_arguments(const ExampleInputs& e, const Draw& draw);

// Which of the leaves the tensors and numbers of the arguments are, one after the other.
class LeafOrder {
 public:
  explicit LeafOrder(const ExampleInputs& e) : e_(e) {}
  // Goes on to argument `i`; whether a leaf is in it.
  bool enter(size_t i) {
    argument_ = i;
    place_ = 0;
    return next_ < e_.leaves.size() && e_.leaves[next_].argument == i;
  }
  // Of the argument's next tensor or number; nothing: it is a constant.
  std::optional<size_t> next() {
    const size_t place = place_++;
    if (next_ == e_.leaves.size() || e_.leaves[next_].argument != argument_ ||
        e_.leaves[next_].place != place)
      return std::nullopt;
    return next_++;
  }

 private:
  const ExampleInputs& e_;
  size_t next_ = 0, argument_ = 0, place_ = 0;
};

// A value of the leaf as the file takes it: a number of a narrower type is a 0-d tensor of that.
c10::IValue as_input(const InputLeaf& leaf, const c10::IValue& v);

// The tensors and numbers inside `arguments`, in the order of `e.leaves`.
std::vector<c10::IValue> leaf_values(const ExampleInputs& e,
                                     const std::vector<c10::IValue>& arguments);

}  // namespace oe::torch_io
