// Chains of Reshape, Squeeze, Unsqueeze and Flatten become one, or none.
//
//   a = Unsqueeze (x, {0})
//   y = Reshape (a, {-1, 8})       =>  y = Reshape (x, {-1, 8})
//
//   a = Unsqueeze (x, {1})
//   y = Squeeze (a, {1})           =>  x
//
// A 0 in a shape copies the dim of the tensor that is reshaped, so it moves only where the two
// tensors have the same dim there.
#include <algorithm>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

bool contains(const Ints& list, int64_t v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

class MergingReshapes {
 public:
  explicit MergingReshapes(Model& m) : rewriter_(m) {}

  bool run() {
    return rewriter_.walk([this](Node& n) {
      if (!n.domain.empty() || n.inputs.empty() || !n.inputs[0]) return;
      const Node* inner = n.inputs[0]->producer;
      if (!inner || !inner->domain.empty() || inner->inputs.empty() || !inner->inputs[0]) return;
      if (n.op == "Reshape")
        reshape(n, *inner);
      else if (n.op == "Squeeze" || n.op == "Unsqueeze")
        axes(n, *inner);
      else if (n.op == "Flatten")
        flatten(n, *inner);
    });
  }

 private:
  Rewriter rewriter_;

  // A constant shape, with its zeros; nothing when it is computed.
  std::optional<Ints> shape_of(const Node& n) const {
    return n.op == "Reshape" ? rewriter_.ints(n.input(1)) : std::nullopt;
  }
  static bool allows_zero(const Node& n) { return n.attributes.get_or<int64_t>("allowzero", 0); }

  // The axes of a Squeeze or Unsqueeze in the numbering of the tensor that has them; nothing when
  // they or that tensor's rank are not known.
  std::optional<Ints> axes_of_node(const Node& n) const {
    const Value* wide = n.op == "Squeeze" ? n.inputs[0] : n.outputs[0];
    const Value* narrow = n.op == "Squeeze" ? n.outputs[0] : n.inputs[0];
    const TensorPtr t = rewriter_.constant(n.input(1));
    if (!t) return std::nullopt;
    if (wide->rank()) return axes_of(t, *wide->rank());
    if (narrow->rank()) return axes_of(t, *narrow->rank() + t->numel());
    return std::nullopt;
  }

  // Whether dim `i` of the inner node's result is dim `i` of its input.
  bool copies_dim(const Node& inner, int64_t i) const {
    if (inner.op == "Reshape") {
      const auto s = shape_of(inner);
      return s && !allows_zero(inner) && i < static_cast<int64_t>(s->size()) && (*s)[i] == 0;
    }
    if (inner.op == "Flatten") return i == 0 && inner.attributes.get_or<int64_t>("axis", 1) == 1;
    const auto a = axes_of_node(inner);
    return a && !a->empty() && i < a->front();
  }

  void set_shape(Node& n, Value* x, Ints shape) {
    n.inputs = {x, rewriter_.new_ints(n.name + "_shape", shape)};
    rewriter_.mark_changed();
  }

  void reshape(Node& n, const Node& inner) {
    if (!moves_nothing(inner)) return;
    Value* x = inner.inputs[0];
    auto shape = shape_of(n);
    if (allows_zero(n) || (shape && !contains(*shape, 0))) {
      n.inputs[0] = x;
      rewriter_.mark_changed();
      return;
    }
    if (!shape) return;
    const Shape& middle = n.inputs[0]->type.shape;
    for (size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] != 0 || copies_dim(inner, static_cast<int64_t>(i))) continue;
      if (!middle || i >= middle->size() || !(*middle)[i].is_number() || (*middle)[i].number == 0)
        return;
      (*shape)[i] = (*middle)[i].number;
    }
    set_shape(n, x, std::move(*shape));
  }

  static bool moves_nothing(const Node& n) {
    return n.op == "Reshape" || n.op == "Flatten" || n.op == "Squeeze" || n.op == "Unsqueeze";
  }

  // Becomes a Reshape where at most one dim is not known.
  void flatten(Node& n, const Node& inner) {
    const Shape& out = n.outputs[0]->type.shape;
    if (!moves_nothing(inner) || !out) return;
    Ints shape;
    for (const Dim& d : *out) shape.push_back(d.is_number() ? d.number : -1);
    if (contains(shape, 0) || std::ranges::count(shape, -1) > 1) return;
    n.op = "Reshape";
    n.attributes = {};
    set_shape(n, inner.inputs[0], std::move(shape));
  }

  void axes(Node& n, const Node& inner) {
    const auto own = axes_of_node(n);
    if (!own) return;
    if (inner.op == "Reshape") {
      axes_of_reshape(n, inner, *own);
      return;
    }
    if (inner.op != "Squeeze" && inner.op != "Unsqueeze") return;
    const auto other = axes_of_node(inner);
    if (!other) return;
    if (n.op != inner.op) {
      if (*own == *other)
        rewriter_.forward(n, inner.inputs[0]);
      else if (n.op == "Squeeze")
        squeeze_some(n, inner, *own, *other);
      return;
    }
    // Two of a kind: number the axes of both in the widest tensor. For Squeeze that is the inner
    // node's input, for Unsqueeze the outer node's output.
    Ints all = n.op == "Squeeze" ? *other : *own;
    const Ints& shifted = n.op == "Squeeze" ? *own : *other;
    const Ints fixed = all;
    int64_t position = 0, passed = 0;
    for (int64_t a : shifted) {  // a: the a-th position that is not in `fixed`
      for (;; ++position)
        if (!contains(fixed, position) && passed++ == a) break;
      all.push_back(position++);
    }
    std::sort(all.begin(), all.end());
    set_axes(n, inner.inputs[0], std::move(all));
  }

  // Squeeze of some of the axes that Unsqueeze made, in the numbering of the wide tensor.
  void squeeze_some(Node& n, const Node& inner, const Ints& gone, const Ints& made) {
    Ints left;
    int64_t shift = 0;
    for (int64_t a : made) {
      const bool goes = contains(gone, a);
      shift += goes;
      if (!goes) left.push_back(a - shift);
    }
    if (left.size() + gone.size() != made.size()) return;
    n.op = "Unsqueeze";
    set_axes(n, inner.inputs[0], std::move(left));
  }

  void set_axes(Node& n, Value* x, Ints list) {
    n.inputs = {x, rewriter_.new_ints(n.name + "_axes", list)};
    rewriter_.mark_changed();
  }

  // Ones put into, or taken out of, a constant shape; a 0 behind them would move.
  void axes_of_reshape(Node& n, const Node& inner, const Ints& list) {
    auto shape = shape_of(inner);
    if (!shape) return;
    const Shape& middle = inner.outputs[0]->type.shape;
    for (size_t i = 0; middle && i < std::min(shape->size(), middle->size()); ++i)
      if ((*shape)[i] == 0 && (*middle)[i].is_number()) (*shape)[i] = (*middle)[i].number;
    Ints out;
    if (n.op == "Unsqueeze") {
      size_t next = 0;
      const size_t rank = shape->size() + list.size();
      for (size_t i = 0; i < rank; ++i) {
        const bool one = std::binary_search(list.begin(), list.end(), static_cast<int64_t>(i));
        out.push_back(one ? 1 : (*shape)[next++]);
      }
    } else {
      for (size_t i = 0; i < shape->size(); ++i) {
        const bool gone = std::binary_search(list.begin(), list.end(), static_cast<int64_t>(i));
        if (gone && (*shape)[i] != 1) return;
        if (!gone) out.push_back((*shape)[i]);
      }
    }
    const bool zero = allows_zero(inner);
    for (size_t i = 0; !zero && i < shape->size(); ++i)
      if ((*shape)[i] == 0 && !list.empty() && static_cast<int64_t>(i) >= list.front()) return;
    n.op = "Reshape";
    n.attributes = {};
    if (zero) n.attributes.set("allowzero", int64_t{1});
    set_shape(n, inner.inputs[0], std::move(out));
  }
};

}  // namespace

bool merge_reshapes(Model& m, const Options&) { return MergingReshapes(m).run(); }

}  // namespace oe::optimize
