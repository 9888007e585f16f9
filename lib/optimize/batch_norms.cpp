// BatchNormalization with known statistics goes into the Conv, ConvTranspose or Gemm that makes its
// input, or into the unpadded Conv or the Gemm that reads its output.
//
//   c = Conv (x, w, b)
//   y = BatchNormalization (c, scale, shift, mean, var)  =>  y = Conv (x, w_bn, b_bn)
//
// with s = scale / sqrt(var + epsilon), w_bn = s w and b_bn = s (b - mean) + shift per channel of
// the result. A BatchNormalization of the rows of a reshaped MatMul goes into its matrix:
//
//   m = MatMul (x, w), r = Reshape (m, {-1, C})
//   y = BatchNormalization (r, ...)  =>  m = MatMul (x, w_bn), a = Add (m, b_bn), y = Reshape (a,
//   ...)
//
// Exact up to rounding: weights are computed in float64 and rounded once. A changed
// weight keeps its name with the suffix _bn.
#include <cmath>

#include "lib/optimize/linear_weights.h"
#include "lib/optimize/passes.h"

namespace oe::optimize {

using namespace ir;

namespace {

class Folder {
 public:
  explicit Folder(Model& m) : r_(m), weights_(r_, "_bn"), owners_(m) {}

  bool run() {
    return r_.walk([&](Node& n) {
      if (n.is("BatchNormalization"))
        into_producer(n);
      else if (n.is("Conv") || n.is("Gemm"))
        take_input(n);
    });
  }

 private:
  std::optional<Affine> affine(const Node& n) const {
    if (n.attributes.get_or<int64_t>("training_mode", 0) != 0 || n.outputs.size() > 1)
      return std::nullopt;
    Numbers p[4];
    for (size_t i = 0; i < 4; ++i) {
      const TensorPtr t = r_.constant(n.inputs[i + 1]);
      if (!t || !is_foldable(t->dtype())) return std::nullopt;
      p[i] = t->as_double();
    }
    Affine a;
    const double eps = n.attributes.get_or<float>("epsilon", 1e-5F);
    for (size_t c = 0; c < p[0].size(); ++c) {
      a.s.push_back(p[0][c] / std::sqrt(p[3][c] + eps));
      a.t.push_back(p[1][c] - p[2][c] * a.s[c]);
    }
    return finite(a.s) && finite(a.t) ? std::optional(a) : std::nullopt;
  }

  // Behind the node: its weights take the scale.
  void into_producer(Node& bn) {
    Node* n = owners_.producer(bn.inputs[0], bn);
    if (!n) return;
    if (n->is("Reshape")) return into_matmul(bn, *n);
    if (n->is("MatMul")) return into_rows(bn, *n);
    const auto a = affine(bn);
    if (!a || !weights_.map_result(*n, *a)) return;
    r_.output_from(bn, *n);
  }

  // Channels are the columns of the product of two matrices.
  void into_rows(Node& bn, Node& n) {
    const auto a = affine(bn);
    const auto found = weights_.channels(n);
    if (!a || !found || found->results != a->s.size() || n.inputs[0]->rank() != 2) return;
    Value* shift = scaled(n, *a);
    if (!shift) return;
    bn.inputs = {n.outputs[0], shift};
    bn.op = "Add";
    bn.attributes = {};
  }
  // The shift that is to be added behind the product once its matrix is scaled; null, and nothing
  // changed, where it cannot be.
  Value* scaled(Node& n, const Affine& a) {
    const std::string name = n.inputs[1]->name;
    const DType type = n.inputs[1]->data->dtype();
    if (!weights_.map_result(n, {a.s, Numbers(a.s.size(), 0)})) return nullptr;
    return r_.model().new_initializer(name + "_bias_bn",
                                      tensor_of(a.t, {static_cast<int64_t>(a.t.size())}, type));
  }

  // Rows of the reshaped product are rows of the product: channels are its columns.
  void into_matmul(Node& bn, Node& reshape) {
    Value* product = reshape.inputs[0];
    Node* n = owners_.producer(product, reshape);
    if (!n || !n->is("MatMul") || !product->type.shape) return;
    const auto shape = r_.ints(reshape.inputs[1]);
    const auto a = affine(bn);
    const auto found = weights_.channels(*n);
    if (!a || !shape || shape->size() != 2 || !found || found->results != a->s.size() ||
        shape->back() != static_cast<int64_t>(a->s.size()))
      return;
    Value* shift = scaled(*n, *a);
    if (!shift) return;
    Value* moved = r_.insert(bn, "Add", {product, shift}, product->type);
    bn.op = "Reshape";
    bn.inputs = {moved, reshape.inputs[1]};
    bn.attributes = {};
  }

  // In front of the node: its weights take the scale, its bias the shift. Padding would not be
  // shifted.
  void take_input(Node& n) {
    Node* bn = n.inputs[0]->producer;
    if (!bn || !bn->is("BatchNormalization") || owners_.uses(n.inputs[0]) != 1) return;
    if (n.is("Conv") && is_padded(n)) return;
    const auto a = affine(*bn);
    if (a && weights_.map_input(n, *a)) n.inputs[0] = bn->inputs[0];
  }

  Rewriter r_;
  LinearWeights weights_;
  Owners owners_;
};

}  // namespace

bool fold_batch_norms(Model& m, const Options& o) { return o.change_weights && Folder(m).run(); }

}  // namespace oe::optimize
