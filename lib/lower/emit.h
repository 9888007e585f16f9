// What a lowering sees: typed arguments in, ONNX nodes at the newest opset out.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/program/program.h"

namespace oe::lower {

using Value = ir::Value*;  // its dtype is always known; its shape is where capture knew it
using Values = std::vector<Value>;
using Ints = std::vector<int64_t>;

// An integer argument that may be computed in the graph (a 0-d int64 value).
struct Int {
  std::optional<int64_t> known;
  Value computed = nullptr;
};
using Dims = std::vector<Int>;

// A Scalar argument: its number type is what promotion looks at, known or not.
struct Scalar {
  enum class Kind { Bool, Int, Float };
  Kind kind = Kind::Int;
  bool known = true;
  int64_t i = 0;             // when known and Bool or Int
  double d = 0;              // when known: the number as double, for every kind
  Value computed = nullptr;  // when not known: 0-d bool, int64 or double
};

// An argument that has to be known at export is computed by the graph.
struct NotKnown : std::runtime_error {
  NotKnown(std::string argument, std::string producer)
      : std::runtime_error("argument '" + argument + "': must be known at export, but " + producer +
                           " computes it"),
        argument(std::move(argument)) {}
  std::string argument;
};
// This use of the operator cannot be said in ONNX at any opset; the text says what and why.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// at::ScalarType's numbering -> DType; throws Unsupported for quantized and unknown types.
DType from_scalar_type(int64_t scalar_type);

class Emit {
 public:
  // --- nodes. Element types of the results follow the ONNX schema; shapes are not tracked for
  // intermediate results (the recorded outputs of the aten call get capture's types).
  Value node(std::string_view op, const Values& inputs, ir::Attributes attributes = {});
  Values nodes(std::string_view op, const Values& inputs, ir::Attributes attributes,
               size_t outputs);

  // --- constants (shared within the model)
  Value i64(int64_t v);             // 0-d
  Value i64s(const Ints& v);        // 1-d
  Value boolean(bool v);            // 0-d
  Value number(double v, DType t);  // 0-d of any numeric type; integers exact to 2^53
  Value integer(int64_t v, DType t);
  Value tensor(TensorPtr t, std::string_view name = "const");
  Value none() const { return nullptr; }

  // --- types
  DType dtype(Value v) const { return v->type.dtype; }
  int64_t rank(Value v) const;  // throws Unsupported when the rank is not known
  // Number of the axis if it is static, nullopt when it is dynamic. Negative axes count from the
  // end.
  std::optional<int64_t> dim(Value v, int64_t axis) const;
  // The axis's size as a 0-d int64: a constant where static, Shape + Gather otherwise.
  Value size(Value v, int64_t axis);
  Value shape(Value v);                      // 1-d int64
  int64_t axis(Value v, int64_t dim) const;  // wrapped into [0, rank); 0-d counts as rank 1

  // --- casts and promotion
  Value cast(Value v, DType t);            // no node when the type is the same already
  Value scalar(const Scalar& s, DType t);  // 0-d value of type t with TorchScript's conversion
  // The element types capture recorded for this call's outputs.
  DType result_dtype(size_t output = 0) const;
  const Shape& result_shape(size_t output = 0) const;

  // --- integers that may be computed
  Value to_value(const Int& i);    // 0-d int64
  Value to_vector(const Dims& d);  // 1-d int64: constant, or Concat of pieces
  static bool all_known(const Dims& d);
  Ints known(const Dims& d, std::string_view argument) const;  // throws NotKnown

  // A nested graph (a body of Loop or Scan): `fill` gets its inputs, which have the given types,
  // and returns its outputs. Nodes made meanwhile go into it.
  std::shared_ptr<ir::Graph> graph(std::string_view name, const std::vector<ir::Type>& inputs,
                                   const std::function<Values(const Values&)>& fill);

  // --- context
  ir::Model& model();
  const program::Node& call() const;  // the aten call that is being lowered

 private:
  friend class Driver;
  friend class Arguments;
  struct State;  // lib/lower/state.h
  explicit Emit(State& s) : s_(s) {}
  State& s_;
};

}  // namespace oe::lower
