// Layer norms and RMS norms over the last axis that a model spells out become one operator.
//
//   p = Pow (x, {2}), m = ReduceMean <last axis> (p)
//   a = Add (m, {eps}), s = Sqrt (a), r = Reciprocal (s)
//   n = Mul (x, r), y = Mul (n, w)        =>  y = RMSNormalization (x, w)
//
//   u = ReduceMean <last axis> (x), c = Sub (x, u)
//   p = Mul (c, c), m = ReduceMean <last axis> (p)
//   a = Add (m, {eps}), s = Sqrt (a)
//   n = Div (c, s), k = Mul (n, w), y = Add (k, b)
//                                         =>  y = LayerNormalization (x, w, b)
//
// Below opsets 17 and 23 the ladder spells them out in the form that runtimes fuse. Exact up to
// rounding. Only of float32: the operators keep epsilon as float32, and a model that normalizes in
// 16 bits rounds each step.
#include <algorithm>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using namespace ir;

namespace {

class Norms {
 public:
  explicit Norms(Model& m) : r_(m), owners_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      if (!n.is("Mul") && !n.is("Div") && !n.is("Add")) return;
      if (const auto found = norm(n))
        become(n, *found);
      else
        take(n);
    });
  }

 private:
  Rewriter r_;
  Owners owners_;

  // x / sqrt(mean(x^2) + epsilon), of x or of x minus its mean.
  struct Norm {
    Value* x;
    bool centered;
    float epsilon;
    int64_t size;  // of the last axis
  };

  // The producer of `v` if it is this operator and only `reader` reads `v`.
  const Node* own(const Value* v, const Node& reader, std::string_view op) const {
    const Node* n = v ? owners_.producer(v, reader) : nullptr;
    return n && n->is(op) ? n : nullptr;
  }

  bool is_mean_of_last_axis(const Node& mean) const {
    const auto rank = mean.inputs[0]->rank();
    const auto axes = r_.ints(mean.input(1));
    return rank && axes && axes->size() == 1 &&
           (axes->front() == -1 || axes->front() + 1 == *rank) &&
           mean.attributes.get_or<int64_t>("keepdims", 1) == 1;
  }

  std::optional<double> number(const Value* v) const {
    const TensorPtr t = r_.constant(v);
    if (!t || t->numel() != 1 || t->dims().size() > 1) return std::nullopt;
    return t->as_double()[0];
  }

  // What `n` divides, and the square root that it divides by.
  std::pair<Value*, const Node*> quotient(const Node& n) const {
    if (n.is("Div")) return {n.inputs[0], own(n.inputs[1], n, "Sqrt")};
    for (const size_t i : {1, 0}) {
      const Node* inverse = n.is("Mul") ? own(n.inputs[i], n, "Reciprocal") : nullptr;
      if (const Node* root = inverse ? own(inverse->inputs[0], *inverse, "Sqrt") : nullptr)
        return {n.inputs[1 - i], root};
    }
    return {nullptr, nullptr};
  }

  // How often the node reads x to square it; 0: it computes something else.
  size_t reads_to_square(const Node* n, const Value* x) const {
    if (!n || n->inputs.empty() || n->inputs[0] != x) return 0;
    if (n->is("Mul") && n->inputs[1] == x) return 2;
    return n->is("Pow") && number(n->inputs[1]) == 2.0 ? 1 : 0;
  }

  std::optional<Norm> norm(const Node& n) const {
    const auto [x, root] = quotient(n);
    const Node* sum = root ? own(root->inputs[0], *root, "Add") : nullptr;
    if (!sum || x->type.dtype != DType::Float || !x->type.shape || x->type.shape->empty() ||
        !x->type.shape->back().is_number())
      return std::nullopt;
    for (const size_t i : {1, 0}) {
      const auto epsilon = number(sum->inputs[i]);
      const Node* mean = own(sum->inputs[1 - i], *sum, "ReduceMean");
      if (!epsilon || !mean || !is_mean_of_last_axis(*mean)) continue;
      const size_t reads = reads_to_square(owners_.producer(mean->inputs[0], *mean), x);
      if (reads == 0) continue;
      Norm found{x, false, static_cast<float>(*epsilon), x->type.shape->back().number};
      const Node* centered = produced_by(x, "Sub");
      const Node* of = centered ? own(centered->inputs[1], *centered, "ReduceMean") : nullptr;
      if (of && of->inputs[0] == centered->inputs[0] && is_mean_of_last_axis(*of) &&
          owners_.uses(x) == reads + 1) {
        found.x = centered->inputs[0];
        found.centered = true;
      }
      return found;
    }
    return std::nullopt;
  }

  void become(Node& n, const Norm& norm) {
    // RMSNormalization takes one number as the scale of all.
    const Ints dims = norm.centered ? Ints{norm.size} : Ints{};
    const auto count = static_cast<size_t>(norm.centered ? norm.size : 1);
    Value* ones = r_.model().new_initializer(
        n.name + "_ones", Tensor::of<float>(DType::Float, dims, std::vector<float>(count, 1)));
    n.op = norm.centered ? "LayerNormalization" : "RMSNormalization";
    n.inputs = {norm.x, ones};
    n.attributes = {{"axis", int64_t{-1}}, {"epsilon", norm.epsilon}};
    r_.mark_changed();
  }

  // A Mul or an Add goes into the norm that it alone reads, where it has one number for each
  // element of the last axis.
  void take(Node& n) {
    if (n.is("Div")) return;
    for (const size_t i : {0, 1}) {
      const Node* p = owners_.producer(n.inputs[i], n);
      const bool layer = p && p->is("LayerNormalization");
      if (!p || (!layer && !p->is("RMSNormalization")) || p->outputs.size() != 1 ||
          !is_each(n.inputs[1 - i], *n.inputs[i]) || !is_of_last_axis(*p))
        continue;
      std::vector<Value*> inputs = p->inputs;
      if (n.is("Mul") && inputs.size() == 2 && is_ones(inputs[1]))
        inputs[1] = n.inputs[1 - i];
      else if (n.is("Add") && layer && inputs.size() == 2)
        inputs.push_back(n.inputs[1 - i]);
      else
        continue;
      n.op = p->op;
      n.inputs = std::move(inputs);
      n.attributes = p->attributes;
      r_.mark_changed();
      return;
    }
  }

  static bool is_of_last_axis(const Node& norm) {
    const auto axis = norm.attributes.get_or<int64_t>("axis", -1);
    return axis == -1 || axis + 1 == norm.outputs[0]->rank();
  }

  static bool is_each(const Value* v, const Value& of) {
    const auto& shape = of.type.shape;
    return v->type.dtype == DType::Float && of.type.dtype == DType::Float && shape &&
           !shape->empty() && shape->back().is_number() && v->type.shape &&
           *v->type.shape == std::vector{shape->back()};
  }

  bool is_ones(const Value* v) const {
    const TensorPtr t = r_.constant(v);
    return t && std::ranges::all_of(t->as_double(), [](double e) { return e == 1; });
  }
};

}  // namespace

bool merge_norms(Model& m, const Options&) { return Norms(m).run(); }

}  // namespace oe::optimize
