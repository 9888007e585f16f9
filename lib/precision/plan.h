// Which nodes compute in 16 bits and which values are stored so: decided on the float32 graph,
// which stays as it is.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/precision/request.h"

namespace oe::precision {

// What is known of a value that was float32 before. It becomes 16 bits where it is Half.
enum class Kind {
  Constant,  // of either type: weights are rounded in the file
  Settled,   // float32, and may be rounded at once
  Half,
  Position,  // float32, made of integers alone
  Wide,      // float32, and may be beyond the range of 16 bits
};

struct Decision {
  bool half = false;
  std::string why;                      // where it is not
  std::vector<size_t> inputs, outputs;  // where it is: those of the element type that changes
};

struct Plan {
  std::unordered_map<const ir::Value*, Kind> kinds;          // of all values that are float32
  std::unordered_map<const ir::Node*, Decision> nodes;       // that compute in float32
  std::unordered_map<const ir::Value*, bool> representable;  // constants that were asked about

  Kind kind(const ir::Value& v) const;
};

bool is_single(const ir::Value* v);  // a tensor of float32

// `lacks(operator, type variable)`: the runtime has no kernel of it for the 16-bit type.
using Lacks = std::function<bool(std::string_view op, std::string_view variable)>;

Plan decide(const ir::Model& m, const Request& r, const Lacks& lacks);

}  // namespace oe::precision
