// Nodes that return their input are removed.
//
//   a = Identity (x)
//   b = Cast <to = float> (a)               # a is float
//   c = Reshape (b, {2, 3})                 # b is [2,3]
//   y = Relu (c)                        =>  y = Relu (x)
//
// So is a Where of two equal values. Only what is exact for every input: x + 0.0 turns -0.0 into
// 0.0 and stays, x - 0.0 goes. A scale of ones stays: fusions of ONNX Runtime look for it. Level
// full also takes away
// - a bias of zeros behind MatMul, whose result is -0.0 only where all that it sums is; the bias
//   stays before a GELU and before the heads of an attention, for the fusions,
// - x + 0 where x is never -0.0 or all that reads the result adds or multiplies,
// - the zeros for rows of an attention without a key, where a constant mask has a key for each row:
//
//   s = Add (x, mask), w = Softmax (s)
//   y = Where (Equal (s, -inf), 0, w)  =>  y = w
//
// A graph's output keeps its name: the Identity before it goes when the node it copies can write
// the output itself.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();  // "to the end" of a Slice

bool static_shape(const Type& t) {
  if (t.kind != Type::Kind::Tensor || !t.shape) return false;
  for (const Dim& d : *t.shape)
    if (!d.is_number()) return false;
  return true;
}

// Whether every element of `t` is `v`. Floats compare by their bits, so that -0.0 is not 0.0.
bool all_equal(const Tensor& t, double v) {
  if (t.numel() == 0 || t.numel() > 4096) return false;
  if (is_integer(t.dtype())) {
    for (int64_t e : t.as_int64())
      if (e != static_cast<int64_t>(v)) return false;
    return true;
  }
  if (!is_float(t.dtype()) || byte_size(t.dtype()) < 2) return false;
  for (double e : t.as_double())
    if (std::bit_cast<uint64_t>(e) != std::bit_cast<uint64_t>(v)) return false;
  return true;
}

// Whether broadcasting a tensor of these dims against `x` leaves the shape of `x`.
bool keeps_shape(const std::vector<Dim>& dims, const Value& x) {
  if (dims.empty()) return true;
  if (!x.type.shape || dims.size() > x.type.shape->size()) return false;
  const size_t lead = x.type.shape->size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != Dim::of(1) &&
        (dims[i] == Dim::unknown() || (*x.type.shape)[lead + i] != dims[i]))
      return false;
  return true;
}
bool keeps_shape(const Tensor& c, const Value& x) {
  std::vector<Dim> dims;
  for (int64_t d : c.dims()) dims.push_back(Dim::of(d));
  return keeps_shape(dims, x);
}

class Noops {
 public:
  Noops(Model& m, const Options& o)
      : rewriter_(m), biases_(o.level == Level::Full && o.change_weights) {
    if (!biases_) return;
    for_each_graph(m.graph, [this](Graph& g) { keep_fused(g); });
    for_each_graph(m.graph, [this](Graph& g) { find_signs(g); });
  }

  bool run() {
    return rewriter_.walk([this](Node& n) {
      // One result that is used, and one input that it may be.
      if (!n.domain.empty() || n.inputs.empty() || n.outputs.empty() || !n.outputs[0]) return;
      for (size_t i = 1; i < n.outputs.size(); ++i)
        if (n.outputs[i]) return;
      if (Value* x = same_as(n)) rewriter_.forward(n, x);
    });
  }

 private:
  Rewriter rewriter_;
  bool biases_;                             // of zeros go
  std::unordered_set<const Value*> fused_;  // with a bias
  std::unordered_set<const Value*> signs_;  // -0.0 and 0.0 may make a difference

  void keep_fused(const Graph& g) {
    for (const auto& n : g.nodes) {
      if (n->is("Gelu") || n->is("Pow") || n->is("Reshape")) fused_.insert(n->input(0));
      if (!n->is("Erf")) continue;
      for (const char* scaled : {"Div", "Mul"})
        if (const Node* s = produced_by(n->input(0), scaled))
          for (const Value* v : s->inputs) fused_.insert(v);
    }
  }

  void find_signs(const Graph& g) {
    static constexpr std::array<std::string_view, 10> kSums = {
        "Add",        "Sub",      "Mul",           "MatMul",
        "Gemm",       "Conv",     "ConvTranspose", "BatchNormalization",
        "ReduceMean", "ReduceSum"};
    signs_.insert(g.outputs.begin(), g.outputs.end());
    for (const auto& n : g.nodes)
      if (!n->domain.empty() || std::ranges::find(kSums, n->op) == kSums.end())
        signs_.insert(n->inputs.begin(), n->inputs.end());
  }

  // The input that the node returns unchanged, or null.
  Value* same_as(const Node& n) const {
    using Rule = Value* (Noops::*)(const Node&) const;
    static constexpr std::array<std::pair<std::string_view, Rule>, 26> kRules = {{
        {"Identity", &Noops::identity},
        {"Cast", &Noops::cast},
        {"Transpose", &Noops::transpose},
        {"Reshape", &Noops::reshape},
        {"Flatten", &Noops::flatten},
        {"Unsqueeze", &Noops::unsqueeze},
        {"Slice", &Noops::slice},
        {"Expand", &Noops::expand},
        {"Tile", &Noops::tile},
        {"Pad", &Noops::pad},
        {"Dropout", &Noops::dropout},
        {"Split", &Noops::first},  // of one output
        {"Concat", &Noops::only},
        {"Sum", &Noops::only},
        {"Max", &Noops::only},
        {"Min", &Noops::only},
        {"Mean", &Noops::only},
        {"Add", &Noops::add},
        {"Sub", &Noops::subtract},
        {"Mul", &Noops::multiply},
        {"Div", &Noops::divide},
        {"And", &Noops::conjunction},
        {"Or", &Noops::disjunction},
        {"Not", &Noops::negation},
        {"Neg", &Noops::negation},
        {"Where", &Noops::where},
    }};
    for (const auto& [op, rule] : kRules)
      if (n.op == op) return n.inputs[0] ? (this->*rule)(n) : nullptr;
    return nullptr;
  }

  Value* first(const Node& n) const { return n.outputs.size() == 1 ? n.inputs[0] : nullptr; }
  // One that states the rank of a value without one stays: that holds in its branch alone.
  Value* identity(const Node& n) const {
    const bool states = !n.inputs[0]->type.shape && n.outputs[0]->type.shape;
    return states && n.inputs[0]->type.kind == Type::Kind::Tensor ? nullptr : n.inputs[0];
  }
  Value* only(const Node& n) const { return n.inputs.size() == 1 ? n.inputs[0] : nullptr; }

  Value* cast(const Node& n) const {
    const auto to = static_cast<DType>(n.attributes.get_or<int64_t>("to", 0));
    return n.inputs[0]->type.kind == Type::Kind::Tensor && n.inputs[0]->type.dtype == to
               ? n.inputs[0]
               : nullptr;
  }

  Value* transpose(const Node& n) const {
    const auto* perm = n.attributes.get<Ints>("perm");
    if (!perm) return n.inputs[0]->rank() <= 1 && n.inputs[0]->rank() ? n.inputs[0] : nullptr;
    for (size_t i = 0; i < perm->size(); ++i)
      if ((*perm)[i] != static_cast<int64_t>(i)) return nullptr;
    return n.inputs[0];
  }

  // Same number, copied, or the one dim that is computed from the others.
  Value* reshape(const Node& n) const {
    Value* x = n.inputs[0];
    if (static_shape(x->type) && static_shape(n.outputs[0]->type) &&
        *x->type.shape == *n.outputs[0]->type.shape)
      return x;
    const auto shape = rewriter_.ints(n.input(1));
    if (!shape || x->rank() != static_cast<int64_t>(shape->size())) return nullptr;
    const bool allow_zero = n.attributes.get_or<int64_t>("allowzero", 0);
    bool computed = false;
    for (size_t i = 0; i < shape->size(); ++i) {
      const int64_t s = (*shape)[i];
      if (s == 0 && !allow_zero) continue;
      if (s == -1 && !computed)
        computed = true;
      else if (s < 0 || (*x->type.shape)[i] != Dim::of(s))
        return nullptr;
    }
    return x;
  }

  Value* flatten(const Node& n) const {
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
    return n.inputs[0]->rank() == 2 && (axis == 1 || axis == -1) ? n.inputs[0] : nullptr;
  }

  Value* unsqueeze(const Node& n) const {
    const auto axes = rewriter_.ints(n.input(1));
    return axes && axes->empty() ? n.inputs[0] : nullptr;
  }

  Value* slice(const Node& n) const {
    const Value* x = n.inputs[0];
    const auto starts = rewriter_.ints(n.input(1)), ends = rewriter_.ints(n.input(2));
    if (!starts || !ends || starts->size() != ends->size()) return nullptr;
    auto axes = rewriter_.ints(n.input(3)), steps = rewriter_.ints(n.input(4));
    if ((n.input(3) && !axes) || (n.input(4) && !steps)) return nullptr;
    for (size_t i = 0; i < starts->size(); ++i) {
      if ((*starts)[i] != 0 || (steps && (*steps)[i] != 1)) return nullptr;
      if ((*ends)[i] == kEnd) continue;
      const auto axis = x->rank()
                            ? normalized(axes ? (*axes)[i] : static_cast<int64_t>(i), *x->rank())
                            : std::nullopt;
      if (!axis) return nullptr;
      const Dim& d = (*x->type.shape)[*axis];
      if (!d.is_number() || (*ends)[i] < d.number) return nullptr;
    }
    return n.inputs[0];
  }

  Value* expand(const Node& n) const {
    const auto shape = rewriter_.ints(n.input(1));
    if (!shape) return nullptr;
    const Value* x = n.inputs[0];
    if (!x->rank() || static_cast<int64_t>(shape->size()) > *x->rank()) return nullptr;
    const size_t lead = x->type.shape->size() - shape->size();
    for (size_t i = 0; i < shape->size(); ++i)
      if ((*shape)[i] != 1 && (*x->type.shape)[lead + i] != Dim::of((*shape)[i])) return nullptr;
    return n.inputs[0];
  }

  Value* tile(const Node& n) const { return list_of(n, 1, 1) ? n.inputs[0] : nullptr; }
  Value* pad(const Node& n) const { return list_of(n, 1, 0) ? n.inputs[0] : nullptr; }
  bool list_of(const Node& n, size_t input, int64_t value) const {
    const auto list = rewriter_.ints(n.input(input));
    if (!list) return false;
    for (int64_t v : *list)
      if (v != value) return false;
    return true;
  }

  // Without a training_mode input, or with a false one, Dropout is for inference at every opset.
  Value* dropout(const Node& n) const {
    if (!n.input(2)) return n.inputs[0];
    const TensorPtr training = rewriter_.constant(n.input(2));
    const bool off = training && training->dtype() == DType::Bool && training->numel() == 1 &&
                     !training->values<uint8_t>()[0];
    return off ? n.inputs[0] : nullptr;
  }

  // Input `other` when input `c` is a constant of `v` alone that broadcasts to nothing larger.
  Value* neutral(const Node& n, size_t other, size_t c, double v) const {
    if (n.inputs.size() != 2 || !n.inputs[other]) return nullptr;
    const TensorPtr t = rewriter_.constant(n.inputs[c]);
    return t && all_equal(*t, v) && keeps_shape(*t, *n.inputs[other]) ? n.inputs[other] : nullptr;
  }
  Value* either(const Node& n, double v) const {
    Value* x = neutral(n, 0, 1, v);
    return x ? x : neutral(n, 1, 0, v);
  }
  Value* add(const Node& n) const {
    if (is_integer(n.inputs[0]->type.dtype)) return either(n, 0.0);
    if (Value* x = either(n, -0.0)) return x;
    if (!biases_) return nullptr;
    Value* x = either(n, 0.0);
    if (!x) return nullptr;
    const Value* zeros = x == n.inputs[0] ? n.inputs[1] : n.inputs[0];
    const bool bias = zeros->data->dims().size() == 1 && zeros->data->numel() > 1;
    if (!bias && (!signs_.contains(n.outputs[0]) || has_no_negative_zero(x))) return x;
    return !fused_.contains(n.outputs[0]) && produced_by(x, "MatMul") ? x : nullptr;
  }
  static bool has_no_negative_zero(const Value* v) {
    for (const char* op : {"Exp", "Sigmoid", "Softmax", "Abs"})
      if (produced_by(v, op)) return true;
    return false;
  }
  Value* subtract(const Node& n) const { return neutral(n, 0, 1, 0.0); }
  Value* multiply(const Node& n) const {
    for (const Value* v : n.inputs)
      if (const TensorPtr t = rewriter_.constant(v); t && t->numel() > 1) return nullptr;
    return either(n, 1.0);
  }
  Value* divide(const Node& n) const { return neutral(n, 0, 1, 1.0); }

  Value* bool_neutral(const Node& n, uint8_t v) const {
    for (size_t c = 0; n.inputs.size() == 2 && c < 2; ++c) {
      const TensorPtr t = rewriter_.constant(n.inputs[c]);
      Value* x = n.inputs[1 - c];
      if (!t || t->dtype() != DType::Bool || t->numel() != 1 || !x) continue;
      if (t->values<uint8_t>()[0] == v && keeps_shape(*t, *x)) return x;
    }
    return nullptr;
  }
  Value* conjunction(const Node& n) const { return bool_neutral(n, 1); }
  Value* disjunction(const Node& n) const { return bool_neutral(n, 0); }

  Value* negation(const Node& n) const {
    const Node* inner = produced_by(n.inputs[0], n.op);
    return inner ? inner->inputs[0] : nullptr;
  }

  Value* where(const Node& n) const {
    Value* x = n.inputs[1];
    if (x != n.inputs[2]) return attention_rows(n);
    return x && has_rank(n.inputs[0]) && keeps_shape(*n.inputs[0]->type.shape, *x) ? x : nullptr;
  }
  Value* attention_rows(const Node& n) const {
    const Node* weights = produced_by(n.input(2), "Softmax");
    const Node* equal = produced_by(n.input(0), "Equal");
    const TensorPtr zero = rewriter_.constant(n.input(1));
    const TensorPtr lowest = equal ? rewriter_.constant(equal->input(1)) : nullptr;
    if (!biases_ || !weights || !zero || !lowest || !all_equal(*zero, 0.0) ||
        !all_equal(*lowest, -std::numeric_limits<double>::infinity()) ||
        equal->inputs[0] != weights->inputs[0] || !is_along_last_axis(*weights) ||
        !keeps_shape(*zero, *n.inputs[2]))
      return nullptr;
    const Node* sum = produced_by(weights->inputs[0], "Add");
    for (size_t i = 0; sum && i < 2; ++i)
      if (const TensorPtr mask = rewriter_.constant(sum->inputs[i]); mask && has_key(*mask))
        return n.inputs[2];
    return nullptr;
  }
  static bool is_along_last_axis(const Node& softmax) {
    const auto axis = softmax.attributes.get_or<int64_t>("axis", -1);
    const auto rank = softmax.inputs[0]->rank();
    return axis == -1 || (rank && axis == *rank - 1);
  }
  // Whether each row has an element that is finite.
  static bool has_key(const Tensor& mask) {
    if (mask.dims().empty() || mask.numel() == 0 || mask.dtype() != DType::Float) return false;
    const auto length = static_cast<size_t>(mask.dims().back());
    const auto values = mask.values<float>();
    for (size_t row = 0; row < values.size(); row += length)
      if (std::ranges::none_of(values.subspan(row, length),
                               [](float v) { return std::isfinite(v); }))
        return false;
    return true;
  }
};

// y = Identity (t), where y is the graph's output and t is computed in that graph: the producer of
// t writes y, and the other uses of t read y.
class Outputs {
 public:
  explicit Outputs(Model& m) : model_(m), rewriter_(m) {}

  bool run() {
    for_each_graph(model_.graph, [this](Graph& g) { graph(g); });
    if (taken_.empty()) return false;
    for_each_graph(model_.graph, [this](Graph& g) {
      for (auto& n : g.nodes)
        for (Value*& v : n->inputs)
          if (auto it = taken_.find(v); it != taken_.end()) v = it->second;
    });
    return true;
  }

 private:
  Model& model_;
  const Rewriter rewriter_;
  std::unordered_map<Value*, Value*> taken_;  // t -> y

  void graph(Graph& g) {
    std::unordered_map<Value*, Value*> wanted;
    for (const Value* y : g.outputs)
      if (const Node* n = produced_by(y, "Identity")) {
        Value* t = n->inputs[0];
        if (t->producer && !rewriter_.is_output(t)) wanted.try_emplace(t, n->outputs[0]);
      }
    if (wanted.empty()) return;
    std::vector<std::unique_ptr<Node>> fresh;
    fresh.reserve(g.nodes.size());
    for (auto& n : g.nodes) {
      if (n->is("Identity")) {
        auto it = taken_.find(n->inputs[0]);
        if (it != taken_.end() && it->second == n->outputs[0]) continue;  // written already
      }
      for (Value*& v : n->outputs) {
        auto it = wanted.find(v);
        if (it == wanted.end()) continue;
        taken_.insert(*it);
        refine(it->second->type, v->type);
        v->producer = nullptr;
        v = it->second;
        v->producer = n.get();
      }
      fresh.push_back(std::move(n));
    }
    g.nodes = std::move(fresh);
  }
};

}  // namespace

void remove_rank_statements(Model& m) {
  Rewriter r(m);
  r.walk([&](Node& n) {
    if (!n.is("Identity") || r.is_output(n.outputs[0]) || !n.inputs[0]) return;
    n.outputs[0]->type = {};  // it does not hold where the input is read otherwise
    r.forward(n, n.inputs[0]);
  });
}

bool remove_noops(Model& m, const Options& o) {
  const bool removed = Noops(m, o).run();
  return Outputs(m).run() || removed;
}

}  // namespace oe::optimize
