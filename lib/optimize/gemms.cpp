// MatMul by a constant matrix and Add of a bias become Gemm, where the rows are a matrix already or
// a Reshape on each side makes them one.
//
//   m = MatMul (x, w)
//   y = Add (m, b)                    =>  y = Gemm (x, w, b)                       # x is [N,4]
//
//   a = Reshape (x, {-1, 7, 4})           a = Reshape (x, {-1, 4})
//   m = MatMul (a, w), n = Add (m, b)  =>  m = Gemm (a, w, b)
//   y = Reshape (n, {-1, 7, 2, 4})        y = Reshape (m, {-1, 7, 2, 4})
//
// A Reshape on each side goes where the second one restores what the first one made rows of:
//
//   a = Reshape (x, {-1, 4})              # x is [N,7,4]
//   m = MatMul (a, w), n = Add (m, b)
//   y = Reshape (n, {-1, 7, 2})        =>  m = MatMul (x, w), y = Add (m, b)
//
// Exact up to rounding: the bias may be added in another order. Other products of more than two
// dims stay, because fusions of runtimes look for MatMul and Add, and make this Gemm themselves.
#include <algorithm>

#include "lib/optimize/linear_weights.h"
#include "lib/optimize/passes.h"

namespace oe::optimize {

using namespace ir;

namespace {

class Gemms {
 public:
  explicit Gemms(Model& m) : r_(m), uses_(use_counts(m)) {
    for_each_graph(m.graph, [this](const Graph& g) {
      for (const auto& n : g.nodes)
        for (const Value* v : n->inputs) reader_[v] = n.get();
    });
  }

  bool run() {
    return r_.walk([this](Node& n) {
      if (n.is("Add"))
        of_matrix(n);
      else if (n.is("Reshape") && !of_rows(n))
        of_reshaped(n);
    });
  }

 private:
  Rewriter r_;
  std::unordered_map<const Value*, size_t> uses_;
  std::unordered_map<const Value*, const Node*> reader_;  // one of them

  struct Product {
    Value *x, *w, *bias;
  };
  // x w + bias that only `add` computes from.
  std::optional<Product> product(const Node& add) const {
    for (const size_t i : {0, 1}) {
      const Node* n = produced_by(add.inputs[i], "MatMul");
      const TensorPtr bias = r_.constant(add.inputs[1 - i]);
      if (!n || !bias || uses_.at(add.inputs[i]) != 1) continue;
      const TensorPtr w = r_.constant(n->inputs[1]);
      if (w && is_foldable(w->dtype()) && w->numel() > 0 && w->dims().size() == 2 &&
          bias->dims() == std::vector{w->dims()[1]})
        return Product{n->inputs[0], n->inputs[1], add.inputs[1 - i]};
    }
    return std::nullopt;
  }

  void of_matrix(Node& n) {
    const auto p = product(n);
    if (!p || p->x->rank() != 2) return;
    // Between two Reshapes it is for the second one to say.
    const auto reader = reader_.find(n.outputs[0]);
    if (produced_by(p->x, "Reshape") && reader != reader_.end() && reader->second->is("Reshape"))
      return;
    n.op = "Gemm";
    n.inputs = {p->x, p->w, p->bias};
    r_.mark_changed();
  }

  // The MatMul by a constant matrix whose result only `reader` reads.
  Node* own_product(const Value* v) const {
    Node* n = produced_by(v, "MatMul");
    const TensorPtr w = n ? r_.constant(n->inputs[1]) : nullptr;
    return w && w->dims().size() == 2 && uses_.at(v) == 1 ? n : nullptr;
  }

  bool of_rows(Node& n) {
    Node *add = produced_by(n.inputs[0], "Add"), *product = nullptr;
    if (add && uses_.at(n.inputs[0]) == 1) {
      for (const size_t i : {0, 1})
        if (const TensorPtr bias = r_.constant(add->inputs[1 - i]))
          if (bias->dims().size() <= 1) product = own_product(add->inputs[i]);
    } else {
      add = nullptr;
      product = own_product(n.inputs[0]);
    }
    const Node* before = product ? produced_by(product->inputs[0], "Reshape") : nullptr;
    if (!before || !restores(before->inputs[0]->type.shape, n.outputs[0]->type.shape,
                             product->inputs[1]->data->dims()))
      return false;
    product->inputs[0] = before->inputs[0];
    product->outputs[0]->type.shape = n.outputs[0]->type.shape;
    r_.output_from(n, add ? *add : *product);
    return true;
  }
  // Whether rows of x by a matrix [K,N] have the dims of y: those of x but for the last one. One
  // dim that is not known is the same in both, as the others are.
  static bool restores(const Shape& x, const Shape& y, const std::vector<int64_t>& matrix) {
    if (!x || !y || x->size() != y->size() || x->size() < 2 || x->back() != Dim::of(matrix[0]) ||
        y->back() != Dim::of(matrix[1]))
      return false;
    size_t unknown = 0;
    for (size_t i = 0; i + 1 < x->size(); ++i) {
      const Dim &a = (*x)[i], &b = (*y)[i];
      if (a.is_number() && a.number != 0 ? a != b : b.is_number() || ++unknown > 1) return false;
    }
    return true;
  }

  void of_reshaped(Node& n) {
    const Node* add = produced_by(n.inputs[0], "Add");
    const auto shape = r_.ints(n.input(1));
    if (!add || uses_.at(n.inputs[0]) != 1 || !shape || std::ranges::count(*shape, 0) > 0) return;
    const auto p = product(*add);
    const Node* before = p ? produced_by(p->x, "Reshape") : nullptr;
    if (!before) return;
    const DType type = p->w->data->dtype();
    const auto& dims = p->w->data->dims();
    Value* rows =
        r_.insert(n, "Reshape", {before->inputs[0], r_.new_ints(n.name + "_rows", {-1, dims[0]})},
                  Type::tensor(type, std::vector{Dim{}, Dim::of(dims[0])}));
    n.inputs[0] = r_.insert(n, "Gemm", {rows, p->w, p->bias},
                            Type::tensor(type, std::vector{Dim{}, Dim::of(dims[1])}));
  }
};

}  // namespace

bool merge_gemms(Model& m, const Options& o) { return o.change_weights && Gemms(m).run(); }

}  // namespace oe::optimize
