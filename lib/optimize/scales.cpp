// Mul, Div, Add and Sub by constants of each channel go into the Conv, ConvTranspose, Gemm or
// MatMul that makes their input, or into the Conv that reads their result.
//
//   m = MatMul (x, w), a = Add (m, b)
//   y = Mul (a, s)                     =>  m = MatMul (x, w_scaled), y = Add (m, b_scaled)
//
// A Transpose may stand between them, and for a single number a Reshape. Two scales become one:
//
//   a = Mul (x, {0.5}), y = Div (a, {4})  =>  y = Mul (x, {0.125})
//
// Exact up to rounding: weights are computed in float64 and rounded once. A changed weight keeps
// its name with the suffix _scaled. These stay:
// - a weight that other nodes read,
// - a single number behind a MatMul, where fusions of runtimes look for the scale of attention, and
//   0.5 behind a Mul of two values, where they look for GELU,
// - scale and bias of a norm of several groups of images, which fusions of runtimes look for,
// - a shift of 2^15 and more, which may be there to round.
#include <algorithm>
#include <cmath>

#include "lib/optimize/linear_weights.h"
#include "lib/optimize/passes.h"

namespace oe::optimize {

using namespace ir;

namespace {

// The channels of a tensor: `count` of them along the axis that `trailing` others follow.
struct ChannelAxis {
  size_t count, rank, trailing;
};

// One number for each channel, from a constant that broadcasts to nothing larger.
std::optional<Numbers> of_channels(const Tensor& t, const ChannelAxis& axis) {
  const auto& dims = t.dims();
  if (dims.size() > axis.rank || !is_foldable(t.dtype())) return std::nullopt;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool channel = dims.size() - 1 - i == axis.trailing;
    if (dims[i] != 1 && !(channel && dims[i] == static_cast<int64_t>(axis.count)))
      return std::nullopt;
  }
  Numbers numbers = t.as_double();
  if (numbers.size() == 1) numbers.resize(axis.count, numbers[0]);
  return numbers.size() == axis.count ? std::optional(numbers) : std::nullopt;
}

constexpr double kMostShift = 1 << 15;

class Scales {
 public:
  explicit Scales(Model& m) : r_(m), weights_(r_, "_scaled"), owners_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (const auto s = step(n))
        into_producer(n, *s);
      else if (n.is("Conv"))
        take_input(n);
    });
  }

 private:
  // x + k, x - k, k - x, x k or x / k.
  struct Step {
    Value *x, *constant;
    bool reversed;
  };
  std::optional<Step> step(const Node& n) const {
    if (!n.is("Mul") && !n.is("Div") && !n.is("Add") && !n.is("Sub")) return std::nullopt;
    for (const size_t k : {1, 0}) {
      if (k == 0 && n.is("Div")) break;
      if (r_.constant(n.inputs[k]) && !r_.constant(n.inputs[1 - k]))
        return Step{n.inputs[1 - k], n.inputs[k], k == 0};
    }
    return std::nullopt;
  }

  std::optional<Affine> affine(const Node& n, const Step& s, const ChannelAxis& axis) const {
    auto k = of_channels(*s.constant->data, axis);
    if (!k) return std::nullopt;
    Affine a{Numbers(axis.count, 1), Numbers(axis.count, 0)};
    for (size_t c = 0; c < axis.count; ++c) {
      const double v = (*k)[c];
      if (n.is("Mul")) a.s[c] = v;
      if (n.is("Div")) a.s[c] = 1 / v;
      if (n.is("Add") || n.is("Sub")) a.t[c] = n.is("Sub") && !s.reversed ? -v : v;
      if (n.is("Sub") && s.reversed) a.s[c] = -1;
      if (!(std::abs(a.t[c]) < kMostShift)) return std::nullopt;
    }
    return finite(a.s) ? std::optional(a) : std::nullopt;
  }

  bool is_read_once(const Value* weight) const { return owners_.uses(weight) <= 1; }

  // Of what `n` returns, or of its Transpose.
  std::optional<ChannelAxis> axis_of_result(const Node& n, const Ints* perm) const {
    const auto c = weights_.channels(n);
    if (!c || !is_read_once(n.inputs[1])) return std::nullopt;
    auto rank = static_cast<int64_t>(n.inputs[1]->data->dims().size());
    int64_t axis = 1;
    if (n.is("MatMul")) {
      if (n.inputs[0]->rank().value_or(0) < 1) return std::nullopt;
      rank = *n.inputs[0]->rank();
      axis = rank - 1;
    }
    if (perm) axis = std::ranges::find(*perm, axis) - perm->begin();
    if (axis >= rank) return std::nullopt;
    return ChannelAxis{c->results, static_cast<size_t>(rank), static_cast<size_t>(rank - 1 - axis)};
  }

  void into_producer(Node& n, const Step& s) {
    Node *last = owners_.producer(s.x, n), *p = last;
    if (p && into_scale(n, s, *p)) return r_.output_from(n, *p);
    const Ints* perm = nullptr;
    const bool single = s.constant->data->numel() == 1 && s.constant->data->dims().empty();
    while (single && p && keeps_elements(*p)) p = owners_.producer(p->inputs[0], *p);
    if (p && p->is("Transpose")) {
      perm = p->attributes.get<Ints>("perm");
      p = perm ? owners_.producer(p->inputs[0], *p) : nullptr;
    }
    if (p && (p->is("Add") ? into_biased(n, s, *p, perm) : into_linear(n, s, *p, perm)))
      r_.output_from(n, *last);
  }

  // Of a product of two values, as in GELU.
  bool is_half_of_product(const Step& s) const {
    const Tensor& k = *s.constant->data;
    const Node* product = produced_by(s.x, "Mul");
    return k.numel() == 1 && k.as_double()[0] == 0.5 && product && !step(*product);
  }
  static bool scales(const Node& n) { return n.is("Mul") || n.is("Div"); }
  bool into_scale(const Node& n, const Step& s, Node& p) {
    const auto first = scales(n) && scales(p) ? step(p) : std::nullopt;
    const TensorPtr a = first ? first->constant->data : nullptr, b = s.constant->data;
    if (!a || a->dtype() != b->dtype() || !is_foldable(a->dtype())) return false;
    if (is_half_of_product(s) || is_half_of_product(*first)) return false;
    // One of them is a single number that makes nothing larger.
    if (a->numel() != 1 && b->numel() != 1) return false;
    const Tensor& wide = a->numel() == 1 ? *b : *a;
    if ((a->numel() == 1 ? *a : *b).dims().size() > wide.dims().size()) return false;
    Numbers v = wide.as_double();
    const double x = a->as_double()[0], y = b->as_double()[0];
    for (size_t i = 0; i < v.size(); ++i) {
      const double one = a->numel() == 1 ? x : v[i], other = b->numel() == 1 ? y : v[i];
      v[i] = (p.is("Mul") ? one : 1 / one) * (n.is("Mul") ? other : 1 / other);
      const float single = static_cast<float>(v[i]);
      if (!std::isnormal(single)) return false;  // a factor of zero, or one that is lost
    }
    p.op = "Mul";
    p.inputs = {first->x, r_.model().new_initializer(first->constant->name + "_scaled",
                                                     tensor_of(v, wide.dims(), a->dtype()))};
    return true;
  }

  // A single number scales what is moved, whatever its shape.
  static bool keeps_elements(const Node& n) {
    return n.is("Reshape") || n.is("Flatten") || n.is("Squeeze") || n.is("Unsqueeze");
  }

  bool into_linear(Node& n, const Step& s, Node& p, const Ints* perm) {
    const auto axis = axis_of_result(p, perm);
    if (!axis || s.constant->data->dtype() != p.inputs[1]->data->dtype()) return false;
    if (p.is("MatMul") && s.constant->data->numel() == 1) return false;
    const auto a = affine(n, s, *axis);
    return a && weights_.map_result(p, *a);
  }

  // Behind the bias of a MatMul.
  bool into_biased(Node& n, const Step& s, Node& add, const Ints* perm) {
    const auto bias = step(add);
    Node* product = bias ? owners_.producer(bias->x, add) : nullptr;
    if (!product || !product->is("MatMul") || s.constant->data->numel() == 1) return false;
    const auto axis = axis_of_result(*product, nullptr), moved = axis_of_result(*product, perm);
    const DType type = bias->constant->data->dtype();
    if (!axis || !moved || s.constant->data->dtype() != type) return false;
    auto b = of_channels(*bias->constant->data, *axis);
    const auto a = affine(n, s, *moved);
    if (!a || !b || bias->constant->data->dims().size() != 1) return false;
    for (size_t c = 0; c < b->size(); ++c) (*b)[c] = (*b)[c] * a->s[c] + a->t[c];
    if (!finite(*b)) return false;
    const bool scales = std::ranges::any_of(a->s, [](double v) { return v != 1; });
    if (scales && !weights_.map_result(*product, {a->s, Numbers(axis->count, 0)})) return false;
    add.inputs[bias->reversed ? 0 : 1] = r_.model().new_initializer(
        bias->constant->name + "_scaled", tensor_of(*b, {static_cast<int64_t>(axis->count)}, type));
    return true;
  }

  // Whether it scales or shifts a group norm of images, behind the Reshape that takes the groups
  // apart.
  bool is_of_grouped_images(const Step& s) const {
    const Node* mul = produced_by(s.x, "Mul");
    const auto scale = mul ? step(*mul) : std::nullopt;
    const Node* ungrouped = produced_by(scale ? scale->x : s.x, "Reshape");
    const Node* norm =
        ungrouped ? produced_by(ungrouped->inputs[0], "InstanceNormalization") : nullptr;
    const TensorPtr groups = norm ? r_.constant(norm->inputs[1]) : nullptr;
    return groups && groups->numel() > 1 && s.x->rank() == 4;
  }

  // Padding is scaled like any other zero, but it would not be shifted.
  void take_input(Node& n) {
    Node* p = n.inputs[0]->producer;
    const auto s = p ? step(*p) : std::nullopt;
    const auto c = s && owners_.uses(n.inputs[0]) == 1 ? weights_.channels(n) : std::nullopt;
    if (!c || !is_read_once(n.inputs[1]) || s->x->rank() != n.inputs[0]->rank()) return;
    const Tensor& w = *n.inputs[1]->data;
    if (s->constant->data->dtype() != w.dtype()) return;
    if (is_half_of_product(*s) || is_of_grouped_images(*s)) return;
    const auto a = affine(*p, *s, {c->inputs, w.dims().size(), w.dims().size() - 2});
    if (!a) return;
    const bool shifts = std::ranges::any_of(a->t, [](double v) { return v != 0; });
    if (!(shifts && is_padded(n)) && weights_.map_input(n, *a)) n.inputs[0] = s->x;
  }

  Rewriter r_;
  LinearWeights weights_;
  Owners owners_;
};

}  // namespace

bool fold_scales(Model& m, const Options& o) { return o.change_weights && Scales(m).run(); }

}  // namespace oe::optimize
