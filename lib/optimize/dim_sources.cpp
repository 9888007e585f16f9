// Where a dim comes from: what the definitions of operators say about the dims of their results.
#include "lib/optimize/dim_sources.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "lib/ir/traits.h"
#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

size_t rank_of(const Value* v) { return v->type.shape->size(); }

}  // namespace

void DimSources::inputs(const Graph& main) {
  std::map<std::string, DimSource> first;
  for (Value* v : main.inputs) {
    if (!has_rank(v)) continue;
    for (size_t i = 0; i < rank_of(v); ++i) {
      const Dim& d = (*v->type.shape)[i];
      if (d.symbol.empty()) continue;
      const auto [it, fresh] = first.try_emplace(d.symbol, DimSource{v, static_cast<int64_t>(i)});
      if (!fresh) equate(v, static_cast<int64_t>(i), it->second);
    }
  }
}

void DimSources::equate(Value* v, int64_t axis, const DimSource& s) {
  const auto [it, fresh] = known_.try_emplace(v, List{});
  if (fresh) it->second = own(v);
  it->second[static_cast<size_t>(axis)] = s;
}

DimSource DimSources::of(Value* v, int64_t axis) const {
  auto it = known_.find(v);
  return it == known_.end() ? DimSource{v, axis} : it->second[static_cast<size_t>(axis)];
}

std::optional<int64_t> DimSources::number(Value* v, int64_t axis) const {
  const Dim& own = (*v->type.shape)[static_cast<size_t>(axis)];
  if (own.is_number()) return own.number;
  const DimSource s = of(v, axis);
  const Dim& source = (*s.value->type.shape)[static_cast<size_t>(s.axis)];
  if (source.is_number()) return source.number;
  return std::nullopt;
}

DimSources::List DimSources::own(Value* v) const {
  List list;
  for (size_t i = 0; i < rank_of(v); ++i) list.push_back({v, static_cast<int64_t>(i)});
  return list;
}

void DimSources::set(Value* out, List list) { known_[out] = std::move(list); }

void DimSources::visit(const Node& n) {
  if (!n.domain.empty() || n.inputs.empty() || n.outputs.empty() || !has_rank(n.inputs[0])) return;
  for (const Value* v : n.outputs)
    if (v && !has_rank(v)) return;
  const DimRule dims = traits_of(n).dims;
  if (!n.outputs[0] && dims != DimRule::AlongAxis) return;
  switch (dims) {
    case DimRule::Unknown:
      return;
    case DimRule::Same:
      return keep(n, 0, rank_of(n.inputs[0]));
    case DimRule::First:
      return keep(n, 0, 1);
    case DimRule::FirstTwo:
      return keep(n, 0, 2);
    case DimRule::Broadcast:
      return elementwise(n);
    case DimRule::MatMul:
      return matmul(n);
    case DimRule::Gemm:
      return gemm(n);
    case DimRule::Transpose:
      return transpose(n);
    case DimRule::Squeeze:
      return squeeze(n);
    case DimRule::AlongAxis:
      return along_axis(n);
    case DimRule::Gather:
      return gather(n);
    case DimRule::Slice:
      return slice(n);
    case DimRule::Reshape:
      return reshape(n);
    case DimRule::Reduce:
      return reduce(n);
  }
}

// Dims first .. first+count-1 of the result are those of the first input.
void DimSources::keep(const Node& n, size_t first, size_t count) {
  if (rank_of(n.inputs[0]) != rank_of(n.outputs[0])) return;
  List list = own(n.outputs[0]);
  for (size_t i = first; i < std::min(first + count, list.size()); ++i)
    list[i] = of(n.inputs[0], static_cast<int64_t>(i));
  set(n.outputs[0], std::move(list));
}

// The one source that the inputs' dims can have once those that are 1 are left out.
DimSource DimSources::broadcast(const std::vector<Value*>& inputs, size_t from_right,
                                DimSource fallback) const {
  std::optional<DimSource> only;
  for (Value* v : inputs) {
    if (!has_rank(v)) return fallback;
    if (from_right >= rank_of(v)) continue;
    const auto axis = static_cast<int64_t>(rank_of(v) - 1 - from_right);
    if (number(v, axis) == 1) continue;
    const DimSource s = of(v, axis);
    if (only && *only != s) return fallback;
    only = s;
  }
  return only.value_or(fallback);
}

void DimSources::elementwise(const Node& n) {
  List list = own(n.outputs[0]);
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = broadcast(n.inputs, list.size() - 1 - i, list[i]);
  set(n.outputs[0], std::move(list));
}

void DimSources::matmul(const Node& n) {
  if (n.inputs.size() < 2 || !has_rank(n.inputs[1])) return;
  Value *a = n.inputs[0], *b = n.inputs[1];
  List list = own(n.outputs[0]);
  if (rank_of(a) < 2 || rank_of(b) < 2 || list.size() != std::max(rank_of(a), rank_of(b))) return;
  const size_t rows = list.size() - 2;
  for (size_t i = 0; i < rows; ++i) list[i] = broadcast({a, b}, list.size() - 1 - i, list[i]);
  list[rows] = of(a, static_cast<int64_t>(rank_of(a)) - 2);
  list[rows + 1] = of(b, static_cast<int64_t>(rank_of(b)) - 1);
  set(n.outputs[0], std::move(list));
}

void DimSources::gemm(const Node& n) {
  if (n.inputs.size() < 2 || !has_rank(n.inputs[1]) || rank_of(n.inputs[0]) != 2 ||
      rank_of(n.inputs[1]) != 2 || rank_of(n.outputs[0]) != 2)
    return;
  set(n.outputs[0], {of(n.inputs[0], n.attributes.get_or<int64_t>("transA", 0) ? 1 : 0),
                     of(n.inputs[1], n.attributes.get_or<int64_t>("transB", 0) ? 0 : 1)});
}

void DimSources::transpose(const Node& n) {
  const size_t rank = rank_of(n.inputs[0]);
  if (rank_of(n.outputs[0]) != rank) return;
  const auto* perm = n.attributes.get<Ints>("perm");
  if (perm && perm->size() != rank) return;
  List list;
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = normalized(perm ? (*perm)[i] : static_cast<int64_t>(rank - 1 - i),
                                 static_cast<int64_t>(rank));
    if (!axis) return;
    list.push_back(of(n.inputs[0], *axis));
  }
  set(n.outputs[0], std::move(list));
}

void DimSources::squeeze(const Node& n) {
  const Value* wide = n.op == "Squeeze" ? n.inputs[0] : n.outputs[0];
  const TensorPtr t = rewriter_.constant(n.input(1));
  const auto axes = t ? axes_of(t, static_cast<int64_t>(rank_of(wide))) : std::optional<Ints>();
  if (!axes || rank_of(n.inputs[0]) + rank_of(n.outputs[0]) + axes->size() != 2 * rank_of(wide))
    return;
  List list = own(n.outputs[0]);
  int64_t narrow = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(rank_of(wide)); ++i) {
    if (std::binary_search(axes->begin(), axes->end(), i)) continue;
    if (n.op == "Squeeze")
      list[narrow] = of(n.inputs[0], i);
    else
      list[i] = of(n.inputs[0], narrow);
    ++narrow;
  }
  set(n.outputs[0], std::move(list));
}

void DimSources::along_axis(const Node& n) {
  const auto rank = static_cast<int64_t>(rank_of(n.inputs[0]));
  const auto axis = normalized(n.attributes.get_or<int64_t>("axis", n.op == "TopK" ? -1 : 0), rank);
  for (Value* out : n.outputs) {
    if (!out) continue;
    if (!axis || static_cast<int64_t>(rank_of(out)) != rank) return;
    List list = own(out);
    for (int64_t i = 0; i < rank; ++i)
      if (i != *axis) list[i] = of(n.inputs[0], i);
    set(out, std::move(list));
  }
}

void DimSources::gather(const Node& n) {
  Value* index = n.input(1);
  if (!has_rank(index)) return;
  const size_t rank = rank_of(n.inputs[0]), picked = rank_of(index);
  const auto axis = normalized(n.attributes.get_or<int64_t>("axis", 0), static_cast<int64_t>(rank));
  if (!axis || rank_of(n.outputs[0]) != rank - 1 + picked) return;
  List list;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (i != *axis)
      list.push_back(of(n.inputs[0], i));
    else
      for (size_t k = 0; k < picked; ++k) list.push_back(of(index, static_cast<int64_t>(k)));
  }
  set(n.outputs[0], std::move(list));
}

void DimSources::slice(const Node& n) {
  const auto rank = static_cast<int64_t>(rank_of(n.inputs[0]));
  const auto axes = n.input(3) ? rewriter_.ints(n.input(3)) : std::nullopt;
  if (!axes || static_cast<int64_t>(rank_of(n.outputs[0])) != rank) return;
  List list;
  for (int64_t i = 0; i < rank; ++i) list.push_back(of(n.inputs[0], i));
  for (int64_t a : *axes) {
    const auto axis = normalized(a, rank);
    if (!axis) return;
    list[*axis] = {n.outputs[0], *axis};
  }
  set(n.outputs[0], std::move(list));
}

// A 0 in a constant shape copies a dim.
void DimSources::reshape(const Node& n) {
  const auto shape = rewriter_.ints(n.input(1));
  if (!shape || n.attributes.get_or<int64_t>("allowzero", 0) ||
      shape->size() != rank_of(n.outputs[0]))
    return;
  List list = own(n.outputs[0]);
  for (size_t i = 0; i < std::min(shape->size(), rank_of(n.inputs[0])); ++i)
    if ((*shape)[i] == 0) list[i] = of(n.inputs[0], static_cast<int64_t>(i));
  set(n.outputs[0], std::move(list));
}

void DimSources::reduce(const Node& n) {
  const auto rank = static_cast<int64_t>(rank_of(n.inputs[0]));
  const TensorPtr t = rewriter_.constant(n.input(1));
  const auto axes = t ? axes_of(t, rank) : std::optional<Ints>();
  if (!axes || axes->empty()) return;
  const bool keep_dims = n.attributes.get_or<int64_t>("keepdims", 1);
  List list;
  for (int64_t i = 0; i < rank; ++i) {
    if (!std::binary_search(axes->begin(), axes->end(), i))
      list.push_back(of(n.inputs[0], i));
    else if (keep_dims)
      list.push_back({n.outputs[0], i});
  }
  if (list.size() == rank_of(n.outputs[0])) set(n.outputs[0], std::move(list));
}

}  // namespace oe::optimize
