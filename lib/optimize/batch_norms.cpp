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
#include <unordered_map>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // of changed weights, in one run of the pass

using Numbers = std::vector<double>;

// y = s x + t for each channel.
struct Affine {
  Numbers s, t;
};

TensorPtr tensor_of(const Numbers& v, std::vector<int64_t> dims, DType t) {
  if (t == DType::Double) return Tensor::of<double>(t, std::move(dims), v);
  return Tensor::of<float>(t, std::move(dims), std::vector<float>(v.begin(), v.end()));
}

bool finite(const Numbers& v) {
  return std::ranges::all_of(v, [](double x) { return std::isfinite(x); });
}

class Folder {
 public:
  explicit Folder(Model& m) : r_(m), uses_(use_counts(m)) {
    for_each_graph(m.graph, [&](Graph& g) {
      for (const auto& n : g.nodes) home_[n.get()] = &g;
    });
  }

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
  static bool is_foldable(DType t) { return t == DType::Float || t == DType::Double; }

  // A weight and a bias (zeros where there is none), as numbers of one type.
  struct Weights {
    TensorPtr w;
    Numbers bias;
  };
  std::optional<Weights> weights(const Node& n, int64_t channels) const {
    const TensorPtr w = r_.constant(n.inputs[1]);
    if (!w || !is_foldable(w->dtype()) || made_ + w->nbytes() > kMostBytes) return std::nullopt;
    Weights out{w, Numbers(static_cast<size_t>(channels), 0)};
    if (n.inputs.size() < 3 || !n.inputs[2]) return out;
    const TensorPtr b = r_.constant(n.inputs[2]);
    if (!b || b->dtype() != w->dtype() || b->numel() != channels) return std::nullopt;
    out.bias = b->as_double();
    return out;
  }

  void set_weights(Node& n, const Numbers& w, const Numbers& bias) {
    const TensorPtr old = n.inputs[1]->data;
    made_ += old->nbytes();
    const std::string name = n.inputs[1]->name;
    std::string bias_name = n.inputs.size() > 2 && n.inputs[2] ? n.inputs[2]->name : name;
    if (bias_name == name) {
      const size_t at = name.rfind("weight");
      bias_name = at == std::string::npos ? name + ".bias" : name.substr(0, at) + "bias";
    }
    n.inputs.resize(3);
    n.inputs[1] = r_.model().new_initializer(name + "_bn", tensor_of(w, old->dims(), old->dtype()));
    n.inputs[2] = r_.model().new_initializer(
        bias_name + "_bn", tensor_of(bias, {static_cast<int64_t>(bias.size())}, old->dtype()));
    r_.mark_changed();
  }

  bool plain_gemm(const Node& n) const {
    return n.is("Gemm") && n.attributes.get_or<float>("alpha", 1) == 1 &&
           n.attributes.get_or<float>("beta", 1) == 1 &&
           n.attributes.get_or<int64_t>("transA", 0) == 0;
  }
  // The weight is [M, C / group, ...] for Conv, [C, M / group, ...] for ConvTranspose, and a matrix
  // for Gemm: its rows are channels of the result or of the input.
  struct Layout {
    size_t rows, columns, kernel, groups;
    bool by_result;

    Layout(const Node& n, const Tensor& w)
        : rows(static_cast<size_t>(w.dims()[0])),
          columns(static_cast<size_t>(w.dims()[1])),
          kernel(static_cast<size_t>(w.numel()) / (rows * columns)),
          groups(static_cast<size_t>(n.attributes.get_or<int64_t>("group", 1))),
          by_result(n.is("Conv") ||
                    (n.is("Gemm") && n.attributes.get_or<int64_t>("transB", 0) != 0)) {}
    size_t outputs() const { return by_result ? rows : columns * groups; }
    size_t inputs() const { return by_result ? columns * groups : rows; }
    // Calls with each element, and its channels in the result and in the input.
    template <class F>
    void for_each(const F& f) const {
      for (size_t row = 0, i = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column) {
          const size_t other = row / (rows / groups) * columns + column;
          const size_t out = by_result ? row : other, in = by_result ? other : row;
          for (size_t k = 0; k < kernel; ++k, ++i) f(i, out, in);
        }
    }
  };

  // Behind the node: its weights take the scale.
  void into_producer(Node& bn) {
    Node* n = bn.inputs[0]->producer;
    if (!n || !home_.contains(n) || home_[n] != home_[&bn] || uses_[bn.inputs[0]] != 1) return;
    if (n->is("Reshape")) return into_matmul(bn, *n);
    if (!n->is("Conv") && !n->is("ConvTranspose") && !plain_gemm(*n)) return;
    const auto a = affine(bn);
    const auto old = a ? weights(*n, static_cast<int64_t>(a->s.size())) : std::nullopt;
    if (!old || old->w->numel() == 0) return;
    const Layout layout(*n, *old->w);
    if (layout.outputs() != a->s.size()) return;
    Numbers w = old->w->as_double(), bias = old->bias;
    layout.for_each([&](size_t i, size_t out, size_t) { w[i] *= a->s[out]; });
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * a->s[c] + a->t[c];
    if (!finite(w) || !finite(bias)) return;
    set_weights(*n, w, bias);
    n->outputs[0] = bn.outputs[0];
    bn.outputs[0]->producer = n;
    r_.drop();
  }

  // Rows of the reshaped product are rows of the product: channels are its columns.
  void into_matmul(Node& bn, Node& reshape) {
    Value* product = reshape.inputs[0];
    Node* n = product->producer;
    if (!n || !n->is("MatMul") || !home_.contains(n) || home_[n] != home_[&bn] ||
        uses_[product] != 1 || !product->type.shape)
      return;
    const TensorPtr w = r_.constant(n->inputs[1]);
    const auto shape = r_.ints(reshape.inputs[1]);
    const auto a = affine(bn);
    if (!w || !a || !shape || !is_foldable(w->dtype()) || made_ + w->nbytes() > kMostBytes ||
        w->numel() == 0 || w->dims().size() != 2)
      return;
    const auto channels = static_cast<int64_t>(a->s.size());
    if (w->dims()[1] != channels || shape->size() != 2 || shape->back() != channels) return;
    Numbers scaled = w->as_double();
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= a->s[i % a->s.size()];
    if (!finite(scaled)) return;
    made_ += w->nbytes();
    const std::string name = n->inputs[1]->name;
    n->inputs[1] =
        r_.model().new_initializer(name + "_bn", tensor_of(scaled, w->dims(), w->dtype()));
    Value* shift =
        r_.model().new_initializer(name + "_bias_bn", tensor_of(a->t, {channels}, w->dtype()));
    Value* moved = r_.insert(bn, "Add", {product, shift}, product->type);
    bn.op = "Reshape";
    bn.inputs = {moved, reshape.inputs[1]};
    bn.attributes = {};
    r_.mark_changed();
  }

  // In front of the node: its weights take the scale, its bias the shift. Padding would not be
  // shifted.
  void take_input(Node& n) {
    Node* bn = n.inputs[0]->producer;
    if (!bn || !bn->is("BatchNormalization") || uses_[n.inputs[0]] != 1) return;
    if (n.is("Gemm") ? !plain_gemm(n) : is_padded(n)) return;
    const auto a = affine(*bn);
    const TensorPtr t = r_.constant(n.inputs[1]);
    if (!a || !t || t->numel() == 0) return;
    const Layout layout(n, *t);
    const auto old = weights(n, static_cast<int64_t>(layout.outputs()));
    if (!old || layout.inputs() != a->s.size()) return;
    Numbers w = old->w->as_double(), bias = old->bias;
    layout.for_each([&](size_t i, size_t out, size_t in) {
      bias[out] += w[i] * a->t[in];
      w[i] *= a->s[in];
    });
    if (!finite(w) || !finite(bias)) return;
    set_weights(n, w, bias);
    n.inputs[0] = bn->inputs[0];
  }

  static bool is_padded(const Node& n) {
    if (n.attributes.get_or<std::string>("auto_pad", "NOTSET") != "NOTSET") return true;
    const auto* pads = n.attributes.get<Ints>("pads");
    return pads && std::ranges::any_of(*pads, [](int64_t p) { return p != 0; });
  }

  Rewriter r_;
  std::unordered_map<const Node*, const Graph*> home_;
  std::unordered_map<const Value*, size_t> uses_;
  size_t made_ = 0;
};

}  // namespace

bool fold_batch_norms(Model& m, const Options& o) { return o.change_weights && Folder(m).run(); }

}  // namespace oe::optimize
