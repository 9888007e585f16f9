// Adds nodes to a graph: lowerings and rungs create ONNX only in this way.
//
// A builder writes for one opset: lowerings for the newest, a rung for the one below it.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "lib/build/value.h"

namespace oe::build {

using Nodes = std::vector<std::unique_ptr<ir::Node>>;

// Initializers that all builders of a model share, by type, dims and bytes.
using Constants = std::unordered_map<std::string, ir::Value*>;

class Builder {
 public:
  Builder(ir::Model& model, int64_t opset, Constants& constants, Nodes& out)
      : model_(model), opset_(opset), constants_(constants), out_(&out) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  ir::Model& model() { return model_; }
  int64_t opset() const { return opset_; }
  T at(ir::Value* v) { return {*this, v}; }
  Values at(const std::vector<ir::Value*>& v);

  // --- nodes. The element type of a result follows the operator's schema; its shape follows the
  // operands if the operator keeps or broadcasts shapes. `type` overrides them.
  T op(std::string_view op, const Values& inputs, ir::Attributes attributes = {},
       ir::Type type = {});
  Values ops(std::string_view op, const Values& inputs, ir::Attributes attributes, size_t outputs);
  // A nested graph: `fill` gets its inputs, which have the given types, and returns its outputs.
  // Nodes created during the call go into it.
  std::shared_ptr<ir::Graph> graph(std::string_view name, const std::vector<ir::Type>& inputs,
                                   const std::function<Values(const Values&)>& fill);
  // Loop over i = 0..trips-1 (null: unbounded), while `more` of the carried values is true. `body`
  // gets the 0-d counter and the carried values, tensors or sequences, and returns the next carried
  // values followed by the scan outputs. Returns the same, with the scan outputs stacked on axis 0.
  Values loop(T trips, const Values& carried, const std::function<Values(T, const Values&)>& body,
              const std::function<T(const Values&)>& more = {});
  // Scan over the entries of an axis: `step` gets the state and an entry, and returns the next
  // state, which is also the entry of the result at this position. The 0-d values `start` fill the
  // first state.
  Values scan(T x, int64_t axis, const Values& start,
              const std::function<Values(const Values& state, T entry)>& step);

  // --- constants
  T i64(int64_t v);             // 0-d
  T i64s(const Ints& v);        // 1-d
  T boolean(bool v);            // 0-d
  T number(double v, DType t);  // 0-d of any type but string and complex; integers exact to 2^53
  T integer(int64_t v, DType t);
  T numbers(const std::vector<double>& v, std::vector<int64_t> dims, DType t);
  T filled(DType t, const Ints& shape, double v);
  T filled(DType t, const Dims& shape, double v);
  T tensor(TensorPtr t, std::string_view name = "const");

  // --- integers that may be computed
  T value(const Int& i);    // 0-d int64
  T vector(const Dims& d);  // 1-d int64: a constant, or Concat of pieces
  T iota(const Int& n);     // 1-d int64 [0, n)

 protected:
  // A node with the given outputs, which already have types.
  ir::Node* append(std::string_view op, const Values& inputs, std::vector<ir::Value*> outputs,
                   ir::Attributes attributes);
  // The graph of new nodes, the prefix of their names, and their origin.
  Nodes& out() { return *out_; }
  Nodes* exchange_out(Nodes* out) { return std::exchange(out_, out); }
  std::string prefix_ = "/";
  OriginPtr origin_;

 private:
  ir::Model& model_;
  int64_t opset_;
  Constants& constants_;
  Nodes* out_;
};

// Content of an initializer or of a Constant node; null when the value is computed.
TensorPtr content(const ir::Value* v);
std::optional<Ints> ints(const ir::Value* v);      // of integers and bools
std::optional<double> scalar(const ir::Value* v);  // of one element

}  // namespace oe::build
