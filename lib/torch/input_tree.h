// The tree of a method's arguments: the SPEC, saved value or default of each place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// One place in the tree of the method's arguments.
struct Slot {
  enum class Kind { Leaf, Tuple, List, Dict };
  Kind kind = Kind::Leaf;
  std::string path;
  c10::TypePtr type;                 // as declared, Optional included
  std::optional<c10::IValue> known;  // from --inputs, from the trace, or the schema's default
  bool is_default = false;
  const InputSpec* spec = nullptr;  // in the options' list
  std::vector<Slot> children;
  std::vector<c10::IValue> keys;  // of a Dict
  bool open = false;              // a List or Dict of unknown length
};

// Finds the SPEC, saved value or default of each place, or none. `specs` gets the options' SPECs,
// with sizes that were specified only once filled in; the slots point to them. Throws
// Failure(Usage) for names and numbers of inputs that do not match.
std::vector<Slot> argument_slots(const InputOptions& o, const Loaded& m, ExampleFiles& files,
                                 std::vector<InputSpec>& specs);

struct BuiltArguments {
  ExampleInputs inputs;               // not yet the names of axes
  std::vector<InputSpec> leaf_specs;  // that made each leaf; empty ones where there was none
  std::vector<InputSpec> specs;       // all of the options, each with the name of its place
};
// Arguments and leaves with their values. Throws as make_inputs() does.
BuiltArguments build_arguments(const InputOptions& o, const Loaded& m, ExampleFiles& files);

}  // namespace oe::torch_io
