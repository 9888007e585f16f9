// The tree of a method's arguments: which SPEC, saved value or default fills which place.
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
  bool open = false;              // a List or Dict that nothing says the length of
};

// Which SPEC, saved value or default fills which place, and where there is none. `specs` is given
// the options' SPECs, to which the slots point, with sizes that are said once filled in. Throws
// Failure(Usage) for names and numbers of inputs that do not fit.
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
