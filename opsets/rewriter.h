// What a rewrite sees: the node, and helpers that add nodes in the form the lower opset has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::opsets {

using Value = ir::Value*;
using Values = std::vector<Value>;
using Ints = ir::Ints;
using Nodes = std::vector<std::unique_ptr<ir::Node>>;

// This use cannot be said below `opset` (0: the opset of the rung).
struct NotExpressible {
  std::string why;  // "" when the operator as such does not exist below
  int opset = 0;
};

// What all rewrites of one legalize() share.
struct Context {
  explicit Context(ir::Model& m) : model(m) {}
  // Takes the operators of a node and of its nested graphs into `present`.
  void note(const ir::Node& n);
  ir::Model& model;
  std::unordered_set<std::string> present;  // operators that may occur in the model
  bool untyped = false;                     // nodes were added whose types inference has to find
  std::unordered_map<std::string, Value> constants;  // type, dims and bytes -> shared initializer
  int64_t target = 0;                                // where the descent ends
};

// Numpy broadcast of the shapes; absent when a rank is not known.
Shape broadcast_shape(const Values& inputs);

class Rewriter {
 public:
  // Nodes are appended to `out`, written for opset `below`, named and placed after `node`.
  Rewriter(Context& c, int below, std::unique_ptr<ir::Node>& node, Nodes& out)
      : context_(c), below_(below), owned_(node), node_(*node), out_(&out), start_(out.size()) {}

  int below() const { return below_; }
  ir::Model& model() { return context_.model; }
  Context& context() { return context_; }

  // --- nodes
  // Element type and rank of the result follow from the operator where they simply do; `type`
  // states them where they do not.
  Value op(std::string_view op, Values inputs, ir::Attributes attributes = {}, ir::Type type = {});
  Values ops(std::string_view op, Values inputs, ir::Attributes attributes, size_t outputs);
  // `v` becomes the value `out` that the rest of the model already uses.
  void bind(Value out, Value v);
  // The node's output i and a fresh value in its place.
  Value detach(size_t i);
  // Adds a node made elsewhere.
  void add(std::unique_ptr<ir::Node> n);
  // Adds the node itself, as it has been changed.
  void keep();
  // Marks everything added since the start as written for the rung's own opset: it passes through
  // the rung again.
  void again() { again_ = true; }
  bool wants_again() const { return again_; }

  // --- constants
  Value i64(int64_t v);             // 0-d
  Value i64s(const Ints& v);        // 1-d
  Value number(double v, DType t);  // 0-d of any type but string and complex
  Value numbers(const std::vector<double>& v, std::vector<int64_t> dims, DType t);
  Value constant(TensorPtr t);
  // Data of an initializer or of a Constant node; null when the value is computed.
  TensorPtr data(Value v) const;
  std::optional<Ints> ints(Value v) const;
  std::optional<double> scalar(Value v) const;  // of a one-element constant

  // --- types. Those that throw do so when the type is not known well enough.
  static DType dtype(Value v) { return v->type.dtype; }
  int64_t rank(Value v) const;
  std::optional<int64_t> dim(Value v, int64_t axis) const;
  int64_t wrap(int64_t axis, int64_t rank) const;  // into [0, rank)
  static ir::Type ranked(DType t, int64_t rank);
  static ir::Type like(Value v, DType t);

  // --- the operators whose form depends on the opset, and exact stand-ins where there is none
  Value cast(Value v, DType t);
  Value reshape(Value v, const Ints& shape);
  Value reshape(Value v, Value shape, std::optional<int64_t> rank = {});
  Value vector(Value scalar);  // 0-d int64 -> 1-d of one element
  Value transpose(Value v, const Ints& perm);
  Value unsqueeze(Value v, const Ints& axes);
  Value squeeze(Value v, const Ints& axes);
  Value concat(const Values& v, int64_t axis);
  Value gather(Value v, Value indices, int64_t axis);
  Value slice(Value v, int64_t axis, int64_t start, int64_t end);
  // start and end are 0-d int64 in [0, size], start <= end.
  Value slice(Value v, int64_t axis, Value start, Value end);
  Value reverse(Value v, int64_t axis);
  Value reduce(std::string_view op, Value v, const Ints& axes, bool keepdims);
  Value shape(Value v);               // 1-d int64
  Value size(Value v, int64_t axis);  // 0-d int64, a constant where the dim is a number
  // Numpy broadcasting of `v` to `shape` (1-d int64 of known length).
  Value expand(Value v, Value shape);
  Value full(Value shape, Value scalar);  // `shape` filled with the 0-d value
  Value arange(Value n);                  // [0, ..., n-1] int64 of a 0-d int64
  Value where(Value condition, Value a, Value b);
  Value less(Value a, Value b);  // exact for every numeric type
  Value greater(Value a, Value b) { return less(b, a); }
  Value equal(Value a, Value b);  // exact for every type, NaN is unequal to itself
  Value is_nan(Value v);
  Value maximum(Value a, Value b);  // exact for integers too
  Value minimum(Value a, Value b);
  // Integer arithmetic on 0-d or 1-d int64, folded when both are constants.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);  // truncating

  // Loop over i = 0..trips-1. `body` gets the 0-d counter and the carried values, adds nodes, and
  // returns the next carried values followed by the scan outputs. Returns the same, stacked on
  // axis 0 for the scan outputs.
  Values loop(Value trips, const Values& carried,
              const std::function<Values(Value, const Values&)>& body);

 private:
  Value fresh(std::string_view op);
  std::optional<int64_t> fold_operand(Value v) const;
  Value fold(std::string_view op, Value a, Value b, int64_t (*f)(int64_t, int64_t));
  Value split_compare(Value a, Value b);

  Context& context_;
  int below_;
  std::unique_ptr<ir::Node>& owned_;
  ir::Node& node_;
  Nodes* out_;
  size_t start_;
  bool again_ = false;
};

}  // namespace oe::opsets
