// The ONNX graph in memory: model, graph, node, value, attribute. Standard library only.
//
// Passes walk `Graph::nodes` (topological order) and build a new vector; a rewritten node's output
// `Value`s are handed to the replacing node, so no use lists are kept and every pass is linear.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "lib/support/dtype.h"
#include "lib/support/origin.h"
#include "lib/support/tensor.h"

namespace oe::ir {

struct Node;
struct Graph;
struct Model;

struct Type {
  enum class Kind { Unknown, Tensor, Sequence, Optional };
  Kind kind = Kind::Unknown;
  DType dtype = DType::Undefined;       // of a Tensor
  Shape shape;                          // of a Tensor
  std::shared_ptr<const Type> element;  // of Sequence and Optional

  static Type tensor(DType d, Shape s = {}) { return {Kind::Tensor, d, std::move(s), nullptr}; }
  static Type sequence(Type e) {
    return {Kind::Sequence, DType::Undefined, {}, std::make_shared<const Type>(std::move(e))};
  }
  static Type optional(Type e) {
    return {Kind::Optional, DType::Undefined, {}, std::make_shared<const Type>(std::move(e))};
  }
  bool operator==(const Type& other) const {
    return kind == other.kind && dtype == other.dtype && shape == other.shape &&
           (element && other.element ? *element == *other.element : element == other.element);
  }
};

struct Value {
  std::string name;  // unique over the whole model with its nested graphs; never empty
  Type type;
  Node* producer = nullptr;  // null for graph inputs and initializers
  TensorPtr data;            // set for initializers
  bool state = false;        // a parameter or buffer: it keeps its state_dict name
  std::optional<int64_t> rank() const {
    if (!type.shape) return std::nullopt;
    return static_cast<int64_t>(type.shape->size());
  }
};

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
// In a function's body: the value of the attribute `name` in a call of the function.
struct Reference {
  std::string name;
  int type = 0;  // AttributeProto.AttributeType
  bool operator==(const Reference&) const = default;
};
using Attribute = std::variant<int64_t, float, std::string, Ints, Floats, Strings, TensorPtr,
                               std::shared_ptr<Graph>, Reference, Type>;

// Ordered by name, so that writing is deterministic. Few entries: linear search.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, Attribute>> list) {
    for (const auto& [k, v] : list) set(k, v);
  }
  void set(std::string_view name, Attribute value);
  bool erase(std::string_view name);
  const Attribute* find(std::string_view name) const;
  Attribute* find(std::string_view name);
  template <class T>
  const T* get(std::string_view name) const {
    const Attribute* a = find(name);
    return a ? std::get_if<T>(a) : nullptr;
  }
  template <class T>
  T get_or(std::string_view name, T fallback) const {
    const T* p = get<T>(name);
    return p ? *p : fallback;
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  size_t size() const { return list_.size(); }

 private:
  std::vector<std::pair<std::string, Attribute>> list_;
};

struct Node {
  std::string name;             // unique over the model
  std::string domain;           // "" is ai.onnx
  std::string op;               // "Conv"
  std::vector<Value*> inputs;   // null: omitted optional input
  std::vector<Value*> outputs;  // null: unused optional output
  Attributes attributes;
  OriginPtr origin;

  Value* input(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  bool is(std::string_view o) const { return domain.empty() && op == o; }
};

struct Graph {
  std::string name;
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<Value*> initializers;  // values with data; kept in the outermost graph
  std::vector<std::unique_ptr<Node>> nodes;
};

// The function that a node of its domain and name calls. Its values belong to the model; its
// constants are nodes of the body, which has no initializers.
struct Function {
  std::string domain, name;
  std::vector<std::string> attributes;    // without defaults: a call may omit them
  std::map<std::string, int64_t> opsets;  // of the operators in the body
  Graph body;
};

// Creates names that no other node or value of the model has.
class NameAuthority {
 public:
  // `wanted` itself if it is free, else wanted_1, wanted_2, ... Amortised constant time.
  std::string unique(std::string_view wanted);
  bool taken(std::string_view name) const;

 private:
  std::unordered_map<std::string, int> next_;
};

struct Model {
  int64_t ir_version = 0;                 // 0: the newest the opset allows, chosen when written
  std::map<std::string, int64_t> opsets;  // domain ("" is ai.onnx) -> version
  std::string producer_name = "onnx-export";
  std::string producer_version;
  std::string doc;
  std::vector<std::pair<std::string, std::string>> metadata;
  Graph graph;
  std::vector<Function> functions;
  std::deque<Value> values;  // owns every value of every graph; addresses are stable
  NameAuthority names;

  int64_t opset() const {
    auto it = opsets.find("");
    return it == opsets.end() ? 0 : it->second;
  }
  // A fresh value with a unique name made from `wanted`.
  Value* new_value(std::string_view wanted, Type type = {});
  // A fresh initializer in the outermost graph.
  Value* new_initializer(std::string_view wanted, TensorPtr data);
};

// A fresh node (not yet in a graph) whose outputs are set as produced by it.
std::unique_ptr<Node> make_node(Model& m, std::string_view wanted_name, std::string_view op,
                                std::vector<Value*> inputs, std::vector<Value*> outputs,
                                Attributes attributes = {}, OriginPtr origin = nullptr);

// A copy with its own nodes and values, at the same positions of `values`; the bytes of tensors are
// shared.
Model copy(const Model& m);

// Calls f(Graph&), or f(const Graph&), for the graph and every nested graph, outermost first.
template <class F>
void for_each_graph(Graph& g, const F& f) {
  f(g);
  for (auto& n : g.nodes)
    for (auto& [k, a] : n->attributes)
      if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a)) for_each_graph(**sub, f);
}

template <class F>
void for_each_graph(const Graph& g, const F& f) {
  f(g);
  for (const auto& n : g.nodes)
    for (const auto& [k, a] : n->attributes)
      if (const auto* sub = std::get_if<std::shared_ptr<Graph>>(&a))
        for_each_graph(std::as_const(**sub), f);
}

// Readable text in the syntax of the ONNX parser (large initializers abbreviated).
std::string print(const Model& m);
// "float[batch,3]"
std::string type_text(const Type& t);
// Problems of a malformed model (use before definition, duplicate names, producer links, ...);
// empty when it is well formed. Linear.
std::vector<std::string> verify(const Model& m);

}  // namespace oe::ir
