// What is known of each element of a small int64 tensor: numbers, dims of tensors, other elements.
#include "lib/optimize/elements.h"

#include <algorithm>

#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

constexpr size_t kMostElements = 64;  // longer tensors are no shapes

bool may_be_sizes(const Value& v) {
  return v.type.kind == Type::Kind::Tensor && v.type.dtype == DType::Int64 && v.type.shape &&
         v.type.shape->size() <= 1;
}

}  // namespace

std::optional<Elements> KnownElements::of(Value* v) const {
  if (!v || !may_be_sizes(*v)) return std::nullopt;
  if (auto it = known_.find(v); it != known_.end()) return it->second;
  Elements out;
  if (const auto list = rewriter_.ints(v)) {
    if (list->size() > kMostElements) return std::nullopt;
    for (int64_t i : *list) out.push_back({Element::Kind::Number, i, nullptr, 0});
    return out;
  }
  const auto& shape = *v->type.shape;
  if (!shape.empty() && !shape[0].is_number()) return std::nullopt;
  const int64_t length = shape.empty() ? 1 : shape[0].number;
  if (length > static_cast<int64_t>(kMostElements)) return std::nullopt;
  for (int64_t i = 0; i < length; ++i) out.push_back({Element::Kind::Item, 0, v, i});
  return out;
}

std::optional<Elements> KnownElements::transfer(const Node& n) const {
  if (n.op == "Shape") return of_shape(n);
  if (n.op == "Gather") return of_gather(n);
  if (n.op == "Slice") return of_slice(n);
  if (n.op == "Concat") return of_concat(n);
  if (n.op == "Where") return of_where(n);
  if (n.op == "Squeeze" || n.op == "Unsqueeze" || n.op == "Reshape" || n.op == "Identity")
    return of(n.input(0));
  return std::nullopt;
}

std::optional<Elements> KnownElements::of_shape(const Node& n) const {
  Value* x = n.input(0);
  if (!x || x->type.kind != Type::Kind::Tensor || !x->rank()) return std::nullopt;
  const int64_t rank = *x->rank();
  auto bound = [&](std::string_view name, int64_t fallback) {
    const int64_t v = n.attributes.get_or<int64_t>(name, fallback);
    return slice_bound(v, rank);
  };
  Elements out;
  for (int64_t i = bound("start", 0), end = bound("end", rank); i < end; ++i) {
    if (const auto number = dims_.number(x, i)) {
      out.push_back({Element::Kind::Number, *number, nullptr, 0});
    } else {
      const DimSource s = dims_.of(x, i);
      out.push_back({Element::Kind::Dim, 0, s.value, s.axis});
    }
  }
  return out;
}

std::optional<Elements> KnownElements::of_gather(const Node& n) const {
  const auto data = of(n.input(0));
  const auto index = rewriter_.ints(n.input(1));
  if (!data || !index || n.inputs[0]->rank() != 1) return std::nullopt;
  Elements out;
  for (int64_t i : *index) {
    const auto at = normalized(i, static_cast<int64_t>(data->size()));
    if (!at) return std::nullopt;
    out.push_back((*data)[*at]);
  }
  return out;
}

std::optional<Elements> KnownElements::of_slice(const Node& n) const {
  const auto data = of(n.input(0));
  const auto start = rewriter_.ints(n.input(1)), end = rewriter_.ints(n.input(2));
  const auto step = n.input(4) ? rewriter_.ints(n.input(4)) : Ints{1};
  if (!data || !start || !end || !step || start->size() != 1 || end->size() != 1 ||
      step->size() != 1 || (*step)[0] != 1)
    return std::nullopt;
  const auto length = static_cast<int64_t>(data->size());
  Elements out;
  for (int64_t i = slice_bound((*start)[0], length); i < slice_bound((*end)[0], length); ++i)
    out.push_back((*data)[i]);
  return out;
}

std::optional<Elements> KnownElements::of_concat(const Node& n) const {
  Elements out;
  for (Value* v : n.inputs) {
    const auto part = of(v);
    if (!part || out.size() + part->size() > kMostElements) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
  }
  return out;
}

// One of two that are equal.
std::optional<Elements> KnownElements::of_where(const Node& n) const {
  auto a = of(n.input(1));
  const auto b = of(n.input(2));
  const bool same_rank = a && b && n.inputs[1]->rank() == n.inputs[2]->rank() &&
                         n.inputs[0]->rank() && *n.inputs[0]->rank() <= *n.inputs[1]->rank();
  return same_rank && *a == *b && (a->size() == 1 || n.inputs[0]->rank() == 0) ? a : std::nullopt;
}

// Rank of the output of a node that moves elements, from the ranks of its inputs.
std::optional<int64_t> KnownElements::rank_of_result(const Node& n) const {
  if (n.op == "Shape" || n.op == "Concat") return 1;
  if (n.op == "Where") return n.inputs[1]->rank();
  const Value* x = n.input(0);
  const auto rank = x ? x->rank() : std::nullopt;
  if (!rank) return std::nullopt;
  if (n.op == "Slice" || n.op == "Identity") return rank;
  const Value* second = n.input(1);
  if (n.op == "Gather")
    return second && second->rank() ? std::optional(*rank - 1 + *second->rank()) : std::nullopt;
  const auto list = rewriter_.ints(second);  // axes or shape
  if (!list) return std::nullopt;
  const auto length = static_cast<int64_t>(list->size());
  if (n.op == "Unsqueeze") return *rank + length;
  if (n.op == "Squeeze") return *rank - length;
  return n.op == "Reshape" ? std::optional(length) : std::nullopt;
}

std::optional<Elements> KnownElements::result_of(const Node& n) const {
  Value* out = n.outputs[0];
  const bool open = out->type.kind == Type::Kind::Unknown ||
                    (out->type.kind == Type::Kind::Tensor && !out->type.shape);
  if (!open && !may_be_sizes(*out)) return std::nullopt;
  auto e = transfer(n);
  if (!e) return std::nullopt;
  if (open) {
    const auto rank = rank_of_result(n);
    if (!rank || *rank < 0 || *rank > 1) return std::nullopt;
    out->type = Type::tensor(DType::Int64, std::vector<Dim>(static_cast<size_t>(*rank)));
  }
  if (out->type.shape->size() == 1 && !(*out->type.shape)[0].is_number())
    (*out->type.shape)[0] = Dim::of(static_cast<int64_t>(e->size()));
  return e;
}

}  // namespace oe::optimize
