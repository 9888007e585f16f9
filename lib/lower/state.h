// What Emit, Arguments and the driver share while one program is lowered.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lib/lower/lowering.h"

namespace oe::lower {

struct Emit::State {
  ir::Model& model;
  std::vector<ir::Graph*> graphs;       // being filled, innermost last
  const program::Node* call = nullptr;  // being lowered
  const Lowering* row = nullptr;        // its row; null inside the driver's own constructs
  std::string prefix = "/";             // of node names: "/layer1/conv1/"
  std::unordered_map<std::string, Value> constants{};  // by type, dims and bytes
  // Program value -> ONNX value. Null: poisoned, its producer could not be lowered.
  std::unordered_map<const program::Value*, Value> values{};

  // The ONNX value of a program value; constants become initializers when first used.
  Value lookup(const program::Value* v);
  // Creates a node in the innermost graph, whose outputs are typed by the ONNX schema.
  ir::Node* append(std::string_view op, Values inputs, Values outputs, ir::Attributes attributes);
};

ir::Type to_onnx_type(const program::Type& t);
// "layer1.0.conv1" -> "/layer1/layer1.0/conv1/": a number alone is joined to its container's name.
std::string name_prefix(std::string_view module_path);

// The argument texts of a schema: "Tensor self", "Scalar alpha=1" (without the "*").
std::vector<std::string_view> schema_arguments(std::string_view schema);
// "aten::add.Tensor" of "aten::add.Tensor(...) -> Tensor".
std::string_view schema_name(std::string_view schema);
// The name of one argument: "alpha" of "Scalar alpha=1".
std::string_view argument_name(std::string_view argument);
// Whether the argument has the value that the schema gives it by default.
bool at_default(const program::Arg& value, std::string_view argument);

}  // namespace oe::lower
