// A Transpose goes where elementwise operators, reductions, Softmax and Concat lead from it back to
// Transposes that undo it.
//
//   a = Transpose <perm = [0, 2, 1]> (x), b = Transpose <perm = [0, 2, 1]> (z)
//   c = Relu (a), d = Concat <axis = 1> (c, b)
//   y = Transpose <perm = [0, 2, 1]> (d)        =>  c = Relu (x), y = Concat <axis = 2> (c, z)
//
// Constants between them are transposed. Every node on the way has no other reader.
#include <algorithm>

#include "lib/ir/traits.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

constexpr size_t kMostNodes = 16;  // on the way, so that the pass stays linear

bool is_reduction(const Node& n) {
  return n.domain.empty() && n.op.starts_with("Reduce") &&
         n.attributes.get_or<int64_t>("keepdims", 1) &&
         !n.attributes.get_or<int64_t>("noop_with_empty_axes", 0);
}

class Transposes {
 public:
  explicit Transposes(Model& m) : r_(m), owners_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (!n.is("Transpose") || r_.constant(n.inputs[0])) return;
      const auto* perm = n.attributes.get<Ints>("perm");
      if (!perm || produced_by(n.inputs[0], "Transpose")) return;
      perm_ = *perm;
      way_.clear();
      constants_.clear();
      ends_ = 0;
      if (!leads_back(n.inputs[0], n) || ends_ == 0) return;
      for (Node* e : way_) move(*e);
      r_.output_from(n, *way_.front());
    });
  }

 private:
  Rewriter r_;
  Owners owners_;
  Ints perm_;
  std::vector<Node*> way_;
  std::vector<std::pair<Node*, size_t>> constants_;
  size_t ends_ = 0;  // Transposes that undo it

  // Whether what `reader` reads can be had transposed without a Transpose; collects the nodes.
  bool leads_back(Value* v, const Node& reader) {
    if (v->producer && undoes(*v->producer)) return ++ends_ > 0;
    Node* n = owners_.producer(v, reader);
    if (!n || way_.size() == kMostNodes || v->rank() != rank() || !moves(*n)) return false;
    way_.push_back(n);
    for (size_t i = 0; i < n->inputs.size(); ++i)
      if (reads_elements(*n, i) && !stays(n->inputs[i]) && !turns(*n, i) &&
          !leads_back(n->inputs[i], *n))
        return false;
    return true;
  }

  int64_t rank() const { return static_cast<int64_t>(perm_.size()); }
  bool undoes(const Node& n) const {
    const auto* first = n.is("Transpose") ? n.attributes.get<Ints>("perm") : nullptr;
    if (!first || first->size() != perm_.size()) return false;
    for (size_t i = 0; i < perm_.size(); ++i)
      if ((*first)[static_cast<size_t>(perm_[i])] != static_cast<int64_t>(i)) return false;
    return true;
  }
  bool moves(const Node& n) const {
    if (n.outputs.size() != 1) return false;
    if (n.is("Softmax") || n.is("LogSoftmax") || n.is("Concat")) return true;
    if (is_reduction(n)) return r_.ints(n.input(1)).has_value();
    return traits_of(n).has(kElementwise) || traits_of(n).dims == DimRule::Broadcast;
  }
  static bool reads_elements(const Node& n, size_t i) {
    return n.inputs[i] && (i == 0 || (!traits_of(n).has(kElementwise) && !is_reduction(n)));
  }
  static bool stays(const Value* v) { return v->rank() == 0; }
  // A constant is transposed instead; one that broadcasts gets axes of 1 before.
  bool turns(Node& n, size_t i) {
    const TensorPtr t = r_.constant(n.inputs[i]);
    if (!t || t->dtype() == DType::String || static_cast<int64_t>(t->dims().size()) > rank())
      return false;
    constants_.emplace_back(&n, i);
    return true;
  }

  int64_t moved(int64_t axis) const {
    return std::ranges::find(perm_, axis < 0 ? axis + rank() : axis) - perm_.begin();
  }

  void move(Node& n) {
    if (n.attributes.find("axis") || n.is("Softmax") || n.is("LogSoftmax"))
      n.attributes.set("axis", moved(n.attributes.get_or<int64_t>("axis", -1)));
    if (is_reduction(n)) {
      Ints axes = *r_.ints(n.inputs[1]);
      for (int64_t& a : axes) a = moved(a);
      n.inputs[1] = r_.new_ints(n.name + "_axes", axes);
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!reads_elements(n, i)) continue;
      if (std::ranges::find(constants_, std::pair(&n, i)) != constants_.end()) {
        n.inputs[i] = turned(n.inputs[i]);
      } else if (Node* p = n.inputs[i]->producer; p && undoes(*p)) {
        n.inputs[i] = p->inputs[0];
        owners_.add_use(n.inputs[i]);
      }
    }
    auto& shape = n.outputs[0]->type.shape;
    const std::vector<Dim> old = *shape;
    for (size_t i = 0; i < perm_.size(); ++i) (*shape)[i] = old[static_cast<size_t>(perm_[i])];
  }

  Value* turned(Value* v) {
    const TensorPtr t = v->data;
    if (t->numel() == 1 && t->dims().empty()) return v;
    Dims dims(perm_.size() - t->dims().size(), 1), order(perm_.size()), strides(perm_.size());
    dims.insert(dims.end(), t->dims().begin(), t->dims().end());
    const Dims given = contiguous_strides(dims);
    for (size_t i = 0; i < perm_.size(); ++i) {
      order[i] = dims[static_cast<size_t>(perm_[i])];
      strides[i] = given[static_cast<size_t>(perm_[i])];
    }
    return r_.model().new_initializer(v->name + "_transposed",
                                      strided_copy(*with_dims(t, dims), order, 0, strides));
  }
};

}  // namespace

bool move_transposes(Model& m, const Options&) { return Transposes(m).run(); }

}  // namespace oe::optimize
