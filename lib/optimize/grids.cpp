// Positions along axes: GatherND at a grid of them takes a block, and no position is negative.
//
//   i = Unsqueeze (Range (0, n, 1), {1})              # [n,1], n and k are dims
//   j = Range (0, k, 1)                               # [k]
//   y = GatherND (x, Concat <axis = -1> (Unsqueeze (Expand (i, Shape (j)), {2}),
//                                        Unsqueeze (Expand (j, Shape (i)), {2})))
//                                                 =>  y = Slice (x, {0, 0}, {n, k}, {0, 1})
//
//   z = And (GreaterOrEqual (i, 0), m)            =>  z = Expand (m, Shape (i))
//
// transformers builds the mask of an attention in this way. The Slice is the same where the grid
// lies inside of x; LibTorch and GatherND refuse another one.
#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

// An int64 tensor whose elements are their own positions along one axis: 0, 1, ... size - 1.
struct Positions {
  Value* size = nullptr;  // a scalar
  size_t from_right = 0;  // the axis, counted from the last one
};

bool is_dim(const Value* v) {
  const Node* n = produced_by(v, "Gather");
  if (!n) n = produced_by(v, "Squeeze");
  return n && produced_by(n->inputs[0], "Shape") && v->rank() == 0;
}

bool is_one(const Value* v, size_t from_right) {
  if (!has_rank(v)) return false;
  const auto& shape = *v->type.shape;
  return from_right >= shape.size() || shape[shape.size() - 1 - from_right] == Dim::of(1);
}

class Grids {
 public:
  explicit Grids(Model& m) : r_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (n.is("GatherND")) gather(n);
      if (n.is("And")) conjunction(n);
    });
  }

 private:
  Rewriter r_;

  bool is_number(const Value* v, int64_t number) const {
    const auto list = r_.ints(v);
    return list && *list == Ints{number} && v->rank() == 0;
  }

  std::optional<Positions> positions(const Value* v) const {
    if (!has_rank(v) || v->type.dtype != DType::Int64) return std::nullopt;
    if (const Node* range = produced_by(v, "Range")) {
      if (!is_number(range->inputs[0], 0) || !is_number(range->inputs[2], 1)) return std::nullopt;
      return is_dim(range->inputs[1]) ? std::optional(Positions{range->inputs[1], 0})
                                      : std::nullopt;
    }
    if (const Node* n = produced_by(v, "Unsqueeze")) return unsqueezed(*n, *v->rank());
    const Node* expand = produced_by(v, "Expand");
    auto p = expand ? positions(expand->inputs[0]) : std::nullopt;
    // A single position that is copied is no longer its own.
    if (!p || !stays(expand->inputs[1], p->from_right)) return std::nullopt;
    return p;
  }

  std::optional<Positions> unsqueezed(const Node& n, int64_t rank) const {
    auto p = positions(n.inputs[0]);
    const auto added = r_.ints(n.input(1));
    if (!p || !added) return std::nullopt;
    std::vector<bool> is_new(static_cast<size_t>(rank), false);
    for (const int64_t a : *added) {
      const auto axis = normalized(a, rank);
      if (!axis) return std::nullopt;
      is_new[static_cast<size_t>(*axis)] = true;
    }
    size_t old = 0;  // axes of the input that were passed, from the last one
    for (size_t i = 0; i < is_new.size(); ++i) {
      if (is_new[is_new.size() - 1 - i]) continue;
      if (old++ != p->from_right) continue;
      p->from_right = i;
      return p;
    }
    return std::nullopt;
  }

  // Whether Expand to `shape` leaves this axis as it is.
  bool stays(const Value* shape, size_t from_right) const {
    if (const auto list = r_.ints(shape))
      return from_right >= list->size() || (*list)[list->size() - 1 - from_right] == 1;
    const Node* taken = produced_by(shape, "Shape");
    return taken && taken->attributes.size() == 0 && is_one(taken->inputs[0], from_right);
  }

  void gather(Node& n) {
    if (n.attributes.get_or<int64_t>("batch_dims", 0) != 0) return;
    Value *x = n.inputs[0], *y = n.outputs[0];
    const Node* index = produced_by(n.inputs[1], "Concat");
    const std::vector<Value*> parts = index ? index->inputs : std::vector{n.inputs[1]};
    if (!has_rank(x) || !has_rank(n.inputs[1]) || !has_rank(y)) return;
    const auto rank = static_cast<size_t>(*n.inputs[1]->rank());  // of the grid, and one
    const auto last = static_cast<int64_t>(rank) - 1;
    if (parts.size() > x->type.shape->size() ||
        (index && normalized(index->attributes.get_or<int64_t>("axis", 0), last + 1) != last))
      return;
    Ints along;  // axes of the grid that run over the first axes of x
    std::vector<Value*> sizes;
    for (const Value* part : parts) {
      const auto p = positions(part);
      if (!p || p->from_right == 0 || !is_one(part, 0)) return;
      along.push_back(static_cast<int64_t>(rank - 1 - p->from_right));
      sizes.push_back(p->size);
    }
    if (!std::ranges::is_sorted(along, std::less_equal<>())) return;
    Ints ones;
    for (size_t i = 0; i + 1 < rank; ++i) {
      if (std::ranges::find(along, static_cast<int64_t>(i)) != along.end()) continue;
      if ((*y->type.shape)[i] != Dim::of(1)) return;
      ones.push_back(static_cast<int64_t>(i));
    }
    replace(n, x, sizes, ones);
  }

  void replace(Node& n, Value* x, const std::vector<Value*>& sizes, const Ints& ones) {
    const auto depth = static_cast<int64_t>(sizes.size());
    const Type one = Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(1)});
    const Type list = Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(depth)});
    std::vector<Value*> ends;
    for (Value* size : sizes)
      ends.push_back(r_.insert(n, "Unsqueeze", {size, r_.new_ints(n.name + "_axis", {0})}, one));
    Value* end = ends[0];
    if (depth > 1) {
      Attributes along;
      along.set("axis", int64_t{0});
      end = r_.insert(n, "Concat", ends, list, along);
    }
    Ints axes(sizes.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::vector<Value*> inputs = {x, r_.new_ints(n.name + "_starts", Ints(sizes.size(), 0)), end,
                                  r_.new_ints(n.name + "_axes", axes)};
    n.attributes = {};
    n.op = "Slice";
    if (!ones.empty()) {
      std::vector<Dim> dims = *n.outputs[0]->type.shape;
      for (const int64_t a : ones | std::views::reverse) dims.erase(dims.begin() + a);
      Value* block = r_.insert(n, "Slice", inputs, Type::tensor(x->type.dtype, dims));
      n.op = "Unsqueeze";
      inputs = {block, r_.new_ints(n.name + "_ones", ones)};
    }
    n.inputs = std::move(inputs);
    r_.mark_changed();
  }

  void conjunction(Node& n) {
    for (size_t i = 0; i < 2; ++i) {
      const Node* compare = produced_by(n.inputs[i], "GreaterOrEqual");
      Value* other = n.inputs[1 - i];
      if (!compare || !is_number(compare->inputs[1], 0) || !positions(compare->inputs[0])) continue;
      const int64_t rank = *compare->inputs[0]->rank();
      Value* shape = r_.insert(n, "Shape", {compare->inputs[0]},
                               Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(rank)}));
      n.op = "Expand";
      n.inputs = {other, shape};
      r_.mark_changed();
      return;
    }
  }
};

}  // namespace

bool slice_grids(Model& m, const Options&) { return Grids(m).run(); }

}  // namespace oe::optimize
