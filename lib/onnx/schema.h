// The ONNX operator schemas as plain data, the only source of an opset's operators: their types,
// arity and attributes. No onnx or protobuf type appears here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/support/opset_range.h"

namespace oe::onnx {

int64_t newest_opset();  // of ai.onnx, from the ONNX library (28)
int64_t newest_ir_version();
int64_t ir_version_for_opset(int64_t opset);  // the IR version released with that opset

struct Formal {
  std::string name;
  std::string type;  // a type-constraint variable ("T") or a concrete type ("tensor(int64)")
  bool optional = false;
  bool variadic = false;  // the last formal may repeat
  bool heterogeneous = false;
};

struct SchemaAttribute {
  std::string name;
  bool required = false;
  bool has_default = false;
  ir::Attribute default_value;  // set when has_default
};

struct Schema {
  std::string domain, name;
  int64_t since_version = 0;
  bool deprecated = false;
  bool has_function_body = false;
  std::vector<Formal> inputs, outputs;
  int min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  std::map<std::string, std::vector<std::string>> constraints;  // "T" -> {"tensor(float)", ...}
  std::vector<SchemaAttribute> attributes;

  const SchemaAttribute* attribute(std::string_view name) const;
};

// One type variable of a node: what it is bound to, and the inputs and outputs that have it.
struct Binding {
  DType dtype = DType::Undefined;
  std::vector<size_t> inputs, outputs;
};
// By variable; only tensors of known type, and no inputs that may each have another type.
std::map<std::string_view, Binding> bindings(const Schema& s, const ir::Node& n);
// Whether the variable may be bound to the type.
bool lists(const Schema& s, std::string_view variable, DType t);
// The first opset above `opset` at which the operator accepts the type; 0 if there is none.
int64_t first_listing(std::string_view op, std::string_view variable, DType t, int64_t opset);

// The schema in force at `opset`; null when the operator does not exist there. Cached; the pointer
// stays valid.
const Schema* find_schema(std::string_view domain, std::string_view op, int64_t opset);
// Every operator name of ai.onnx that exists at `opset`.
std::vector<std::string> operators(int64_t opset);
// Every version of an operator, oldest first.
std::vector<int64_t> versions(std::string_view domain, std::string_view op);

// Result type of output `index` of a node as far as the schema's type variables say: the element
// type follows the formal's type string ("T" bound by the inputs, concrete types, Cast's `to`,
// Constant's value, ...). Undefined when the schema leaves it open.
DType output_dtype(const Schema& s, const ir::Node& n, size_t index);

}  // namespace oe::onnx
