#include "lib/difference_cause.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "lib/onnx/onnx.h"
#include "lib/support/origin_text.h"
#include "lib/to_onnx.h"
#include "lib/verify/compare.h"

namespace oe {
namespace {

using capture::Replayed;
using program::Arg;
using program::Args;
using program::Block;
using program::Node;
using program::Value;

std::string place(const Node& n) {
  const std::string where = place_of(n.origin);
  return where.empty() ? n.op : n.op + " at " + where;
}

std::string_view base_of(const Node& n) { return std::string_view(n.op).substr(0, n.op.find('.')); }

bool is_one_of(const Node& n, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, base_of(n)) != names.end();
}

// Operators that choose elements: among equal ones LibTorch does not say which.
bool chooses(const Node& n) {
  if (n.op == "aten::sort.stable") {
    const bool* stable = n.args.size() > 1 ? std::get_if<bool>(&n.args[1].v) : nullptr;
    return !stable || !*stable;
  }
  return is_one_of(n, {"aten::topk",
                       "aten::sort",
                       "aten::argsort",
                       "aten::msort",
                       "aten::argmax",
                       "aten::argmin",
                       "aten::max",
                       "aten::min",
                       "aten::kthvalue",
                       "aten::median",
                       "aten::nanmedian",
                       "aten::mode",
                       "aten::cummax",
                       "aten::cummin",
                       "aten::max_pool1d_with_indices",
                       "aten::max_pool2d_with_indices",
                       "aten::max_pool3d_with_indices",
                       "aten::adaptive_max_pool1d",
                       "aten::adaptive_max_pool2d",
                       "aten::adaptive_max_pool3d",
                       "torchvision::nms"});
}

// Operators that round what they compute to whole numbers or steps.
bool rounds(const Node& n) {
  return is_one_of(n, {"aten::round", "aten::floor", "aten::ceil", "aten::trunc", "aten::frac",
                       "aten::sign", "aten::floor_divide", "aten::remainder", "aten::fmod",
                       "quantized_decomposed::quantize_per_tensor",
                       "quantized_decomposed::quantize_per_channel",
                       "aten::fake_quantize_per_tensor_affine",
                       "aten::fake_quantize_per_channel_affine"}) ||
         n.op == "aten::div.Tensor_mode" || n.op == "aten::div.Scalar_mode";
}

bool is_discrete(const Tensor& t) { return is_integer(t.dtype()) || t.dtype() == DType::Bool; }

// Beyond rounding: of one operator, whose sums may cancel, at the scale of the result.
std::string beyond_rounding(const Tensor& actual, const Tensor& expected) {
  verify::Tolerance t = verify::default_tolerance(expected.dtype());
  if (is_float(expected.dtype()) && actual.dims() == expected.dims())
    t.atol += t.rtol * verify::largest_difference(expected, nullptr);
  const verify::Comparison c = verify::compare(actual, expected, t);
  return c.ok ? std::string() : c.message;
}

bool has_equal_elements(const Tensor& t) {
  if (!is_float(t.dtype()) && !is_discrete(t)) return false;
  std::vector<double> values = t.as_double();
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) != values.end();
}

// Every use of a value as an argument, in blocks too.
void for_each_use(Args& args, const std::function<void(Arg&)>& f) {
  for (Arg& a : args) {
    if (a.value())
      f(a);
    else if (auto* items = std::get_if<Args>(&a.v))
      for_each_use(*items, f);
  }
}
void for_each_use(Node& n, const std::function<void(Arg&)>& f) {
  for_each_use(n.args, f);
  for (auto& b : n.blocks) {
    for (auto& inner : b->nodes) for_each_use(*inner, f);
    for_each_use(b->returns, f);
  }
}

}  // namespace

std::string DifferenceCause::model_of(const std::vector<const Value*>& results) {
  const auto outputs = std::move(p_.outputs);
  p_.outputs.clear();
  for (const Value* v : results)
    p_.outputs.push_back({"step_" + std::to_string(p_.outputs.size()), {const_cast<Value*>(v)}});
  std::string bytes;
  try {
    Diagnostics d;
    const ir::Model m = to_onnx(p_, o_, rules_, {}, d);
    if (!d.has_errors() && !onnx::needs_external(m, {})) bytes = onnx::write_bytes(m);
  } catch (const std::exception&) {
    // Then nothing is known of this model.
  }
  p_.outputs = outputs;
  return bytes;
}

void DifferenceCause::make_models(const Steps& steps) {
  made_ = true;
  for (const Replayed& s : steps) results_.push_back(s.value);
  whole_ = model_of(results_);
  if (whole_.empty()) return;
  const size_t inputs = p_.inputs.size();
  std::map<const Value*, Value*> given;
  std::vector<std::pair<Arg*, Value*>> changed;
  const std::set<const Value*> known(results_.begin(), results_.end());
  for (auto& n : p_.body.nodes)
    for_each_use(*n, [&](Arg& a) {
      Value* const v = a.value();
      if (!known.contains(v)) return;
      Value*& input = given[v];
      if (!input) {
        cut_[v] = "cut_" + std::to_string(cut_.size());
        input = p_.new_value(v->type, cut_[v]);
        p_.inputs.push_back({cut_[v], {input}});
      }
      changed.emplace_back(&a, v);
      a.v = input;
    });
  apart_ = model_of(results_);
  for (auto& [a, v] : changed) a->v = v;
  p_.inputs.resize(inputs);
}

DifferenceCause::Results DifferenceCause::run(const std::string& model,
                                              const std::map<std::string, TensorPtr>& given) const {
  Results found;
  const auto session = ort_.open_bytes(model, o_.threads);
  std::vector<verify::OrtValue> inputs;
  for (const std::string& name : session->input_names()) {
    verify::OrtValue v;
    v.tensor = given.at(name);
    inputs.push_back(std::move(v));
  }
  const std::vector<verify::OrtValue> results = session->run(inputs);
  const std::vector<std::string> names = session->output_names();
  for (size_t i = 0; i < results_.size(); ++i)
    if (const auto at = std::ranges::find(names, "step_" + std::to_string(i)); at != names.end())
      found[results_[i]] = results[static_cast<size_t>(at - names.begin())].tensor;
  return found;
}

Cause DifferenceCause::of(const std::vector<TensorPtr>& inputs) {
  if (inputs.size() != p_.inputs.size()) return {};
  const Steps steps = capture::replay(p_, inputs);
  if (steps.empty()) return {};
  if (!made_) make_models(steps);
  if (whole_.empty()) return {};
  std::map<std::string, TensorPtr> given;
  for (size_t i = 0; i < inputs.size(); ++i) given[p_.inputs[i].name] = inputs[i];
  Results whole, apart;
  try {
    whole = run(whole_, given);
    for (const Replayed& s : steps)
      if (const auto at = cut_.find(s.value); at != cut_.end()) given[at->second] = s.tensor;
    if (!apart_.empty()) apart = run(apart_, given);
  } catch (const std::exception&) {
    // ONNX Runtime does not take one of them, or these inputs took another way through LibTorch.
  }
  return judge(steps, whole, apart);
}

Cause DifferenceCause::judge(const Steps& steps, const Results& whole, const Results& apart) const {
  Cause cause;
  const Replayed* first = nullptr;
  std::map<const Value*, const Tensor*> libtorch;
  for (const Replayed& s : steps) {
    libtorch[s.value] = s.tensor.get();
    const auto at = whole.find(s.value);
    if (first || at == whole.end() || !at->second) continue;
    const verify::Comparison c = verify::compare(*at->second, *s.tensor);
    if (c.ok) continue;
    first = &s;
    cause.first = place(*s.node) + ": " + c.message;
  }
  const bool all = !p_.body.nodes.empty() && steps.back().node == p_.body.nodes.back().get();
  if (apart.empty() || !all) return cause;
  const Replayed* tie = nullptr;
  for (const Replayed& s : steps) {
    const auto at = apart.find(s.value);
    if (at == apart.end() || !at->second) return cause;
    const std::string what = beyond_rounding(*at->second, *s.tensor);
    if (what.empty()) continue;
    // What happens inside a branch or a loop is not compared, and a quotient that is rounded may
    // lie next to a whole number.
    if (!s.node->blocks.empty() || rounds(*s.node)) return cause;
    const size_t key = base_of(*s.node) == "torchvision::nms" ? 1 : 0;
    const Value* keys = s.node->args.size() > key ? s.node->args[key].value() : nullptr;
    const auto of_keys = libtorch.find(keys);
    const Tensor* t = of_keys != libtorch.end() ? of_keys->second
                      : keys && keys->constant  ? keys->constant.get()
                                                : nullptr;
    if (!chooses(*s.node) || !is_discrete(*s.tensor) || !t || !has_equal_elements(*t))
      return {Cause::Kind::Operator, place(*s.node) + ": " + what, cause.first};
    if (!tie) tie = &s;
  }
  if (tie) {
    cause.kind = Cause::Kind::Tie;
    cause.text = place(*tie->node) + " chooses among equal elements, whose order is not defined";
  } else if (!first) {
    cause.kind = Cause::Kind::Passes;
  } else if (chooses(*first->node)) {
    cause.kind = Cause::Kind::Tie;
    cause.text = place(*first->node) +
                 " chooses among elements that differ by rounding only: the order is not defined";
  } else if (rounds(*first->node) || is_discrete(*first->tensor)) {
    cause.kind = Cause::Kind::Tie;
    cause.text =
        place(*first->node) + " decides on numbers that differ from the limit by rounding only";
  } else {
    cause.kind = Cause::Kind::Rounding;
    cause.text = place(*first->node) +
                 " magnifies differences of its arguments that are within the tolerance";
  }
  return cause;
}

}  // namespace oe
