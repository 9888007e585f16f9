// What a lowering sees: typed arguments in, ONNX nodes at the newest opset out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/build/builder.h"
#include "lib/lower/complex/parts.h"
#include "lib/program/program.h"

namespace oe::lower {

using namespace build;  // lowerings are formulas of its values

struct Lowering;

// A Scalar argument: its number type is what promotion looks at, known or not.
struct Scalar {
  enum class Kind { Bool, Int, Float };
  Kind kind = Kind::Int;
  bool known = true;
  int64_t i = 0;  // when known and Bool or Int
  double d = 0;   // when known: the number as double, for every kind
  T computed;     // when not known: 0-d bool, int64 or double
};

// An argument that has to be known at export is computed by the graph.
struct NotKnown : std::runtime_error {
  NotKnown(std::string argument, std::string producer)
      : std::runtime_error("argument '" + argument + "': must be known at export, but " + producer +
                           " computes it"),
        argument(std::move(argument)) {}
  std::string argument;
};

// A complex value: its real and its imaginary part, null where it is 0.
struct C {
  T re, im = nullptr;
};

// at::ScalarType's numbering -> DType; throws Unsupported for quantized and unknown types.
DType from_scalar_type(int64_t scalar_type);

// The aten call that is being lowered, and the builder of what it becomes.
class Call : public build::Builder {
 public:
  using Builder::Builder;

  // The element types and shapes that capture recorded for the call's outputs.
  DType result_dtype(size_t output = 0) const;
  const Shape& result_shape(size_t output = 0) const;
  T scalar(const Scalar& s, DType t);  // 0-d value of type t with TorchScript's conversion
  Ints known(const Dims& d, std::string_view argument) const;  // throws NotKnown
  const program::Node& call() const { return *call_; }

 private:
  friend class Driver;
  friend class Arguments;

  // The ONNX value of a program value; constants become initializers when first used. Throws
  // Unsupported for a complex one.
  T lookup(const program::Value* v);

  const program::Node* call_ = nullptr;
  const Lowering* row_ = nullptr;  // null inside the driver's own constructs
  // Program value -> ONNX value. Null: poisoned, its producer could not be lowered.
  std::unordered_map<const program::Value*, ir::Value*> values_;
  Parts parts_;
  bool pairs_ = true;  // complex values are their parts; else they stay what they are
};

}  // namespace oe::lower
