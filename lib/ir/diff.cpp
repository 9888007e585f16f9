// What differs between two models.
#include "lib/ir/diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "lib/support/text.h"

namespace oe::ir {
namespace {

std::string text_of_type(const Type& t) {
  switch (t.kind) {
    case Type::Kind::Tensor:
      return std::string(name(t.dtype)) + to_string(t.shape);
    case Type::Kind::Sequence:
      return "sequence of " + text_of_type(*t.element);
    case Type::Kind::Optional:
      return "optional " + text_of_type(*t.element);
    case Type::Kind::Unknown:
      break;
  }
  return "unknown";
}

std::string tensor_head(const Tensor& t) {
  std::vector<Dim> dims;
  for (const int64_t n : t.dims()) dims.push_back(Dim::of(n));
  return std::string(name(t.dtype())) + to_string(Shape(dims));
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::String) return a.strings() == b.strings();
  return a.nbytes() == 0 || std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
}

// Nothing where the elements have no order (strings, complex numbers).
std::optional<double> largest_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::String || is_complex(a.dtype())) return std::nullopt;
  constexpr int64_t piece = 1 << 16;  // as numbers they take up to eight times their bytes
  double largest = 0;
  for (int64_t at = 0; at < a.numel(); at += piece) {
    const auto numbers = [&](const Tensor& t) {
      const size_t skipped = static_cast<size_t>(at) * byte_size(t.dtype());
      const int64_t count = std::min(piece, t.numel() - at);
      return Tensor(t.dtype(), {count}, static_cast<const char*>(t.data()) + skipped, nullptr)
          .as_double();
    };
    const std::vector<double> left = numbers(a), right = numbers(b);
    for (size_t i = 0; i < left.size(); ++i) {
      const double d = std::abs(left[i] - right[i]);
      // NaN on one side only is as far as it gets.
      if (std::isnan(left[i]) != std::isnan(right[i])) return INFINITY;
      if (d > largest) largest = d;
    }
  }
  return largest;
}

template <class List, class F>
std::string listed(const List& list, const F& f) {
  std::vector<std::string> texts;
  for (const auto& x : list) texts.push_back(f(x));
  return "[" + join(texts, ",") + "]";
}

std::string value_text(const Attribute& a) {
  if (const auto* v = std::get_if<int64_t>(&a)) return std::to_string(*v);
  if (const auto* v = std::get_if<float>(&a)) return float_text(*v);
  if (const auto* v = std::get_if<std::string>(&a)) return "\"" + *v + "\"";
  if (const auto* v = std::get_if<Ints>(&a))
    return listed(*v, [](int64_t n) { return std::to_string(n); });
  if (const auto* v = std::get_if<Floats>(&a))
    return listed(*v, [](float n) { return float_text(n); });
  if (const auto* v = std::get_if<Strings>(&a))
    return listed(*v, [](const std::string& s) { return "\"" + s + "\""; });
  if (const auto* v = std::get_if<TensorPtr>(&a)) {
    constexpr int64_t shown = 8;
    return tensor_head(**v) + ((*v)->numel() <= shown ? " " + json_text(**v) : "");
  }
  if (const auto* v = std::get_if<Type>(&a)) return text_of_type(*v);
  return "graph";
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  const auto *left = std::get_if<TensorPtr>(&a), *right = std::get_if<TensorPtr>(&b);
  if (left && right) return same_bytes(**left, **right);
  return value_text(a) == value_text(b);  // graphs: their nodes are compared themselves
}

// One model, with what a comparison asks of it.
struct Side {
  explicit Side(Model& m) : model(m) {
    for_each_graph(m.graph, [&](Graph& g) {
      for (const auto& n : g.nodes) {
        nodes.push_back(n.get());
        by_name.emplace(n->name, n.get());
        ++operators[operator_of(*n)];
      }
    });
    for (const Value* v : m.graph.initializers) weights.emplace(v->name, v);
  }
  static std::string operator_of(const Node& n) {
    return (n.domain.empty() ? "" : n.domain + "::") + n.op;
  }

  Model& model;
  std::vector<const Node*> nodes;
  std::map<std::string, const Node*> by_name;
  std::map<std::string, size_t> operators;
  std::map<std::string, const Value*> weights;
};

class Comparison {
 public:
  Comparison(Model& left, Model& right) : left_(left), right_(right) {}

  std::vector<Difference> run() {
    compare_maps("opset", left_.model.opsets, right_.model.opsets,
                 [](int64_t v) { return std::to_string(v); });
    ports("input", left_.model.graph.inputs, right_.model.graph.inputs);
    ports("output", left_.model.graph.outputs, right_.model.graph.outputs);
    compare_maps("operators", left_.operators, right_.operators,
                 [](size_t n) { return std::to_string(n); });
    match();
    for (const Node* n : left_.nodes)
      if (!partner_.contains(n)) add("node", n->name, Side::operator_of(*n), "");
    for (const auto& [n, other] : pairs_) node(*n, *other);
    for (const Node* n : right_.nodes)
      if (!matched_.contains(n)) add("node", n->name, "", Side::operator_of(*n));
    weights();
    return std::move(found_);
  }

 private:
  void add(const std::string& kind, const std::string& name, const std::string& left,
           const std::string& right, std::optional<double> largest = {}) {
    found_.push_back({kind, name, left, right, largest});
  }

  template <class Map, class F>
  void compare_maps(const std::string& kind, const Map& left, const Map& right, const F& text) {
    std::map<std::string, std::pair<std::string, std::string>> both;
    for (const auto& [key, v] : left) both[key].first = text(v);
    for (const auto& [key, v] : right) both[key].second = text(v);
    for (const auto& [key, texts] : both)
      if (texts.first != texts.second)
        add(kind, key.empty() ? "ai.onnx" : key, texts.first, texts.second);
  }

  void ports(const std::string& kind, const std::vector<Value*>& left,
             const std::vector<Value*>& right) {
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      const auto text = [&](const std::vector<Value*>& list) {
        return i < list.size() ? list[i]->name + " " + text_of_type(list[i]->type) : "";
      };
      if (text(left) != text(right)) add(kind, std::to_string(i), text(left), text(right));
    }
  }

  void match() {
    const auto pair = [&](const Node* a, const Node* b) {
      pairs_.emplace_back(a, b);
      partner_[a] = b;
      matched_[b] = a;
    };
    for (const Node* n : left_.nodes)
      if (const auto it = right_.by_name.find(n->name);
          it != right_.by_name.end() && it->second->op == n->op)
        pair(n, it->second);
    std::map<std::string, std::vector<const Node*>> rest;  // in reverse order
    for (auto it = right_.nodes.rbegin(); it != right_.nodes.rend(); ++it)
      if (!matched_.contains(*it)) rest[Side::operator_of(**it)].push_back(*it);
    for (const Node* n : left_.nodes) {
      auto& same = rest[Side::operator_of(*n)];
      if (partner_.contains(n) || same.empty()) continue;
      pair(n, same.back());
      same.pop_back();
    }
  }

  // What a value is, apart from the name that its model gave it.
  std::string source(const Value* v) const {
    if (!v) return "none";
    if (!v->producer) return v->name;
    const auto& outputs = v->producer->outputs;
    const auto at = std::ranges::find(outputs, v) - outputs.begin();
    const auto it = matched_.find(v->producer);
    return (it == matched_.end() ? v->producer : it->second)->name + " output " +
           std::to_string(at);
  }

  void node(const Node& a, const Node& b) {
    std::vector<std::string> left, right;
    const auto say = [&](const std::string& what, const std::string& l, const std::string& r) {
      left.push_back(what + "=" + l);
      right.push_back(what + "=" + r);
    };
    std::map<std::string, std::pair<const Attribute*, const Attribute*>> attributes;
    for (const auto& [name, value] : a.attributes) attributes[name].first = &value;
    for (const auto& [name, value] : b.attributes) attributes[name].second = &value;
    for (const auto& [name, both] : attributes)
      if (!both.first || !both.second || !same_attribute(*both.first, *both.second))
        say(name, both.first ? value_text(*both.first) : "none",
            both.second ? value_text(*both.second) : "none");
    for (size_t i = 0; i < std::max(a.inputs.size(), b.inputs.size()); ++i)
      if (const std::string l = source(a.input(i)), r = source(b.input(i)); l != r)
        say("input " + std::to_string(i), l, r);
    if (a.outputs.size() != b.outputs.size())
      say("outputs", std::to_string(a.outputs.size()), std::to_string(b.outputs.size()));
    if (!left.empty())
      add("node", a.name + " (" + Side::operator_of(a) + ")", join(left, ", "), join(right, ", "));
  }

  void weights() {
    for (const auto& [name, v] : left_.weights) {
      const auto it = right_.weights.find(name);
      if (it == right_.weights.end()) {
        add("weight", name, tensor_head(*v->data), "");
        continue;
      }
      const Tensor &a = *v->data, &b = *it->second->data;
      if (same_bytes(a, b)) continue;
      const bool alike = a.dtype() == b.dtype() && a.dims() == b.dims();
      add("weight", name, tensor_head(a), tensor_head(b),
          alike ? largest_difference(a, b) : std::nullopt);
    }
    for (const auto& [name, v] : right_.weights)
      if (!left_.weights.contains(name)) add("weight", name, "", tensor_head(*v->data));
  }

  Side left_, right_;
  std::vector<std::pair<const Node*, const Node*>> pairs_;
  std::map<const Node*, const Node*> partner_, matched_;  // left to right, right to left
  std::vector<Difference> found_;
};

}  // namespace

std::vector<Difference> diff(Model& left, Model& right) { return Comparison(left, right).run(); }

}  // namespace oe::ir
