// Nodes whose inputs are all constants become initializers, when the result is small enough.
//
//   <int64 a = {2}, int64 b = {3}>                       <int64 c = {6}>
//   c = Mul (a, b)                                   =>  y = Add (x, c)
//   y = Add (x, c)
//
// A transposed, reshaped or cast weight keeps its name: `fc.weight` becomes `fc.weight_t`. Where a
// weight over the limit is only turned (Transpose) or viewed (Reshape), and used nowhere else, the
// result takes the place of the original, so the limit does not apply.
//
// The same holds for Concat of weights.
//
// A tensor without elements is a constant whatever it is computed from; ONNX Runtime takes an
// Expand to size 0 for one that changes nothing.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

bool is_view(const Node& n) {
  return n.op == "Reshape" || n.op == "Flatten" || n.op == "Squeeze" || n.op == "Unsqueeze";
}

std::string lowered(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

// The name of a weight that was changed by `n`; empty when the result is no form of a weight.
std::string weight_name(const Node& n, const Tensor& weight) {
  static constexpr std::array kKeeps = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                        "Slice",   "Gather",  "Cast",    "Expand"};
  if (!is_float(weight.dtype())) return {};
  const std::string& base = n.inputs[0]->name;
  if (n.op == "Transpose") return base + "_t";
  const bool keeps = std::find(kKeeps.begin(), kKeeps.end(), n.op) != kKeeps.end();
  return keeps ? base + "_" + lowered(n.op) : std::string();
}

class Folding {
 public:
  Folding(Model& m, const Options& o)
      : limit_(o.fold_limit), left_(std::max(int64_t{1} << 30, limit_)), rewriter_(m) {
    auto use = [&](const Value* v) {
      if (v && v->data && static_cast<int64_t>(v->data->nbytes()) > limit_ / 64) ++uses_[v];
    };
    for_each_graph(m.graph, [&](Graph& g) {
      for (const Value* v : g.outputs) use(v);
      for (const auto& n : g.nodes)
        for (const Value* v : n->inputs) use(v);
    });
  }

  bool run() {
    return rewriter_.walk([this](Node& n) { fold(n); });
  }

 private:
  const int64_t limit_;
  // Bytes by which results may still exceed their operands, all together: a small graph can hold
  // many constants of any size. When they are used up, only small results are folded.
  int64_t left_;
  Rewriter rewriter_;
  std::unordered_map<const Value*, int> uses_;  // of constants that are not small

  bool is_large(const Tensor& t) const { return static_cast<int64_t>(t.nbytes()) > limit_; }

  bool replaces_original(const Value* v) const {
    auto it = uses_.find(v);
    return it != uses_.end() && it->second == 1;
  }

  // The type of a node's only result when it says that there are no elements.
  static const Type* empty_result(const Node& n) {
    if (n.outputs.size() != 1 || !n.outputs[0]) return nullptr;
    const Type& t = n.outputs[0]->type;
    if (t.kind != Type::Kind::Tensor || t.dtype == DType::Undefined || t.dtype == DType::String ||
        !t.shape)
      return nullptr;
    const auto number = [](const Dim& d) { return d.is_number(); };
    const auto zero = [](const Dim& d) { return d.is_number() && d.number == 0; };
    return std::ranges::all_of(*t.shape, number) && std::ranges::any_of(*t.shape, zero) ? &t
                                                                                        : nullptr;
  }

  void fold(Node& n) {
    if (n.inputs.empty() || n.is("Identity") || is_random(n) || !n.domain.empty()) return;
    if (const Type* t = empty_result(n)) {
      std::vector<int64_t> dims;
      for (const Dim& d : *t->shape) dims.push_back(d.number);
      rewriter_.become_constant(n, Tensor::from_bytes(t->dtype, std::move(dims), nullptr, 0), {});
      return;
    }
    Inputs in;
    for (const Value* v : n.inputs) {
      in.push_back(rewriter_.constant(v));
      if (v && !in.back()) return;
    }
    if (!in[0]) return;
    int64_t limit = std::min(limit_, std::max(left_, limit_ / 64));
    if (is_large(*in[0]) && (is_view(n) || n.op == "Transpose")) {
      if (!replaces_original(n.inputs[0])) return;
      limit = static_cast<int64_t>(in[0]->nbytes());
    }
    if (n.is("Concat"))
      for (size_t i = 0; i < in.size(); ++i)
        if (replaces_original(n.inputs[i])) limit += static_cast<int64_t>(in[i]->nbytes());
    const std::vector<TensorPtr> out = evaluate(n, in, limit);
    if (out.empty()) return;
    int64_t more = 0;
    for (const TensorPtr& t : in) more -= t ? static_cast<int64_t>(t->nbytes()) : 0;
    for (const TensorPtr& t : out) more += static_cast<int64_t>(t->nbytes());
    left_ -= std::max<int64_t>(more, 0);
    if (out.size() == 1)
      rewriter_.become_constant(n, out[0], weight_name(n, *in[0]));
    else
      several(n, out);
  }

  void several(Node& n, const std::vector<TensorPtr>& out) {
    for (const Value* v : n.outputs)
      if (v && rewriter_.is_output(v)) return;
    for (size_t i = 0; i < out.size(); ++i)
      if (Value* v = n.outputs[i])
        rewriter_.replace_output(n, i, rewriter_.model().new_initializer(v->name, out[i]));
    rewriter_.drop();
  }
};

}  // namespace

bool fold_constants(Model& m, const Options& o) {
  return o.constant_folding && Folding(m, o).run();
}

}  // namespace oe::optimize
