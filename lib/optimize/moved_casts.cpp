// Products of a Cast that follows a Transpose, as ONNX Runtime can read them.
//
//   a = Transpose <perm = [1, 0, 2]> (x)      a = Cast <to = float> (x)
//   b = Cast <to = float> (a)             =>  b = Transpose <perm = [1, 0, 2]> (a)
//   y = MatMul (b, w)                         y = MatMul (b, w)
//
// ONNX Runtime exchanges Transpose and Cast to put the Transpose into the MatMul. Where it then
// does not, since the operands have different ranks, it crashes (1.31, MatmulTransposeFusion). That
// can happen where the Transpose moves the batch axes up. Where other nodes stand between Transpose
// and Cast, ONNX Runtime may move the Transpose behind them. There the operands get the same rank:
//
//   a = Transpose <perm = [1, 0, 2]> (x)
//   b = Neg (a), c = Cast <to = float> (b)
//   y = MatMul (c, w)                     =>  y = MatMul (c, Reshape (w, {1, 4, 2}))
#include <algorithm>

#include "lib/ir/traits.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using namespace ir;

namespace {

constexpr size_t kMostBetween = 16;  // nodes, so that the pass stays linear

bool moves_batch_axes(const Node& transpose) {
  const auto* perm = transpose.attributes.get<Ints>("perm");
  if (!perm || perm->size() < 3) return false;
  for (size_t i = 0; i + 2 < perm->size(); ++i)
    if ((*perm)[i] != static_cast<int64_t>(i) + 1) return false;
  return true;
}

class Casts {
 public:
  explicit Casts(Model& m) : r_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (!n.is("MatMul")) return;
      for (size_t i = 0; i < 2; ++i) {
        const Node* cast = produced_by(n.inputs[i], "Cast");
        if (!cast) continue;
        const Node* transpose = produced_by(cast->inputs[0], "Transpose");
        size_t left = kMostBetween;
        if (transpose && moves_batch_axes(*transpose))
          exchange(n, i, *cast, *transpose);
        else if (follows_transpose(cast->inputs[0], left))
          equal_ranks(n);
      }
    });
  }

 private:
  Rewriter r_;

  void exchange(Node& n, size_t i, const Node& cast, const Node& transpose) {
    const Type result = n.inputs[i]->type;
    Type type = transpose.inputs[0]->type;
    type.dtype = result.dtype;
    Value* x = r_.insert(n, "Cast", {transpose.inputs[0]}, std::move(type), cast.attributes);
    n.inputs[i] = r_.insert(n, "Transpose", {x}, result, transpose.attributes);
  }

  // Whether nodes that keep the axes lead from a Transpose to `v`. `left`: how many more it visits.
  static bool follows_transpose(const Value* v, size_t& left) {
    const Node* n = v ? v->producer : nullptr;
    if (!n || left == 0) return false;
    --left;
    if (n->is("Transpose")) return moves_batch_axes(*n);
    const Traits& traits = traits_of(*n);
    if (traits.dims == DimRule::Broadcast || n->is("Concat"))
      return std::ranges::any_of(n->inputs,
                                 [&](const Value* x) { return follows_transpose(x, left); });
    const bool keeps_axes = traits.has(kElementwise) || traits.dims == DimRule::AlongAxis ||
                            traits.dims == DimRule::Slice || traits.dims == DimRule::Reduce ||
                            n->is("Softmax") || n->is("LogSoftmax") || n->is("Pad");
    return keeps_axes && !n->inputs.empty() && follows_transpose(n->inputs[0], left);
  }

  void equal_ranks(Node& n) {
    const auto a = n.inputs[0]->rank(), b = n.inputs[1]->rank();
    if (!a || !b || *a == *b || *a < 2 || *b < 2) return;
    Value*& narrow = n.inputs[*a < *b ? 0 : 1];
    Type type = narrow->type;
    type.shape->insert(type.shape->begin(), static_cast<size_t>(std::abs(*a - *b)), Dim::of(1));
    Ints shape;
    for (const Dim& d : *type.shape) shape.push_back(d.is_number() ? d.number : -1);
    if (std::ranges::count(shape, -1) > 1 || std::ranges::count(shape, 0) > 0) return;
    narrow =
        r_.insert(n, "Reshape", {narrow, r_.new_ints(n.name + "_shape", shape)}, std::move(type));
  }
};

}  // namespace

bool move_casts(Model& m, const Options&) { return Casts(m).run(); }

}  // namespace oe::optimize
