// Example inputs from SPECs, files and traced files; the tree of the method's inputs.
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

// The role of an input of the exported model in the original.
enum class Role {
  Own,        // an argument of the method, or a part of one
  State,      // an attribute (--state=io)
  Parameter,  // a parameter or buffer (--no-export-params; during capture also in train mode)
};

// One tensor (or number) leaf of the method's arguments, in flattening order. Numbers with the
// default of the method's signature are not leaves: they become constants.
struct InputLeaf {
  std::string name;  // "x", "boxes.0", "cfg.mask"; or its name in --input-names
  std::string path;  // its own name, without --input-names
  c10::IValue value;
  std::vector<std::string> axis_names;  // per axis: "" static, else the dynamic axis's name
  std::vector<std::pair<int64_t, int64_t>> bounds;  // per axis: inclusive; {0, -1}: none given
  size_t argument = 0;                              // index into ExampleInputs::arguments
  size_t place = 0;     // position among the argument's tensors and numbers, constants included
  bool normal = false;  // the value was drawn from N(0, 1)
  std::optional<std::pair<double, double>> range;  // range of the drawn values, inclusive
  std::vector<bool> differs;  // per axis: an alternative has another size there
  bool fixed = false;         // resized_inputs() keeps the value (a constant of the export)
  // The element type of the file's input for a number whose SPEC asks for a type other than float64
  // or int64. The value is representable in it. Undefined: the number's own type.
  DType number_type = DType::Undefined;
  Role role = Role::Own;
  std::string attribute;  // the model's attribute or parameter: "rnn.hidden"; empty for Role::Own
};

// An attribute or parameter of the model that is an argument too.
struct AttributeArgument {
  std::string path;     // "rnn.hidden"
  size_t argument = 0;  // index into ExampleInputs::arguments
};

struct ExampleInputs {
  // The method's arguments without self, complete; then the values of `state`.
  std::vector<c10::IValue> arguments;
  // Further examples: values of all leaves but state, possibly with other sizes.
  std::vector<std::vector<c10::IValue>> alternatives;
  std::vector<InputLeaf> leaves;  // tensors and numbers inside `arguments`, in order
  // Keys of --dynamic-axes that are not inputs: outputs, or wrong (the pipeline checks later).
  std::vector<std::string> output_axes_unresolved;
  std::vector<AttributeArgument> state;  // in the order of their arguments (lib/torch/state.h)
  // Attributes that are the same tensor as one of `state`: the attribute, and an index into it.
  std::vector<std::pair<std::string, size_t>> tied;
  InputOptions options;  // of this example: seed, names and dynamic axes, also of state

  // The number of arguments of the method itself; those of `state` follow.
  size_t own_arguments() const { return state.empty() ? arguments.size() : state.front().argument; }
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
  std::string number;  // a number as its default, in SPEC syntax; empty: none
};
std::vector<Argument> arguments_of(const Loaded& m);

// The same arguments with other sizes and values: `sizes[i]` is the full shape of leaf i (numbers
// keep their value unless `seed` != the example's). Used by capture's worlds and by verification.
// Random values stay in the example's range. Every tensor is a copy.
std::vector<c10::IValue> resized_inputs(const ExampleInputs& e,
                                        const std::vector<std::vector<int64_t>>& sizes,
                                        uint64_t seed);

// The same with the draw's variations. Fixed leaves keep their values.
std::vector<c10::IValue> drawn_arguments(const ExampleInputs& e, const Draw& draw);

// Maps the tensors and numbers of the arguments, in order, to leaves.
class LeafOrder {
 public:
  explicit LeafOrder(const ExampleInputs& e) : e_(e) {}
  // Continues with argument `i`; returns whether it contains a leaf.
  bool enter(size_t i) {
    argument_ = i;
    place_ = 0;
    return next_ < e_.leaves.size() && e_.leaves[next_].argument == i;
  }
  // The leaf of the argument's next tensor or number; nothing: it is a constant.
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

// A value of the leaf for the file: a number with a narrower type is a 0-d tensor of that type.
c10::IValue as_input(const InputLeaf& leaf, const c10::IValue& v);

// The tensors and numbers inside `arguments`, in the order of `e.leaves`.
std::vector<c10::IValue> leaf_values(const ExampleInputs& e,
                                     const std::vector<c10::IValue>& arguments);

}  // namespace oe::torch_io
