#include "lib/compare/difference_cause.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "lib/compare/deciding.h"
#include "lib/compare/first_difference.h"
#include "lib/onnx/onnx.h"
#include "lib/pipeline/to_onnx.h"
#include "lib/precision/precision.h"
#include "lib/verify/compare.h"
#include "opsets/types.h"

namespace oe {
namespace {

// Iterations of a loop that are looked at; where there are more, nothing is known.
constexpr size_t kMostRuns = 200;

using capture::Replayed;
using program::Arg;
using program::Args;
using program::Block;
using program::Node;
using program::Value;

bool is_discrete(const Tensor& t) { return is_integer(t.dtype()) || t.dtype() == DType::Bool; }

// Beyond rounding: of one operator, whose sums may cancel, at the scale of the result.
std::string beyond_rounding(const Tensor& actual, const Tensor& expected) {
  verify::Tolerance t = verify::default_tolerance(expected.dtype());
  if (is_float(expected.dtype()) && actual.dims() == expected.dims())
    t.atol += t.rtol * verify::largest_difference(expected, nullptr);
  const verify::Comparison c = verify::compare(actual, expected, t);
  return c.ok ? std::string() : c.message;
}

// Operators that sum up products or elements, in an order of their own.
bool accumulates(const Node& n) {
  return is_one_of(n, {"aten::_convolution",
                       "aten::convolution",
                       "aten::conv1d",
                       "aten::conv2d",
                       "aten::conv3d",
                       "aten::conv_transpose1d",
                       "aten::conv_transpose2d",
                       "aten::conv_transpose3d",
                       "aten::linear",
                       "aten::matmul",
                       "aten::mm",
                       "aten::bmm",
                       "aten::addmm",
                       "aten::baddbmm",
                       "aten::mv",
                       "aten::dot",
                       "aten::einsum",
                       "aten::sum",
                       "aten::mean",
                       "aten::prod",
                       "aten::cumsum",
                       "aten::cumprod",
                       "aten::var",
                       "aten::std",
                       "aten::norm",
                       "aten::linalg_vector_norm",
                       "aten::batch_norm",
                       "aten::layer_norm",
                       "aten::group_norm",
                       "aten::instance_norm",
                       "aten::lstm",
                       "aten::gru",
                       "aten::scaled_dot_product_attention",
                       "aten::avg_pool1d",
                       "aten::avg_pool2d",
                       "aten::avg_pool3d",
                       "aten::adaptive_avg_pool1d",
                       "aten::adaptive_avg_pool2d",
                       "aten::adaptive_avg_pool3d"});
}

// Whether the two differ only where sums leave the range of their type: whether such a sum is
// finite, infinite or NaN depends on the order of its terms.
bool differ_by_overflow(const Tensor& actual, const Tensor& expected) {
  if (!is_float(expected.dtype()) || actual.dims() != expected.dims()) return false;
  const double largest = verify::largest_difference(expected, nullptr);
  const bool near_end = largest > 1e-3 * largest_finite(expected.dtype());
  const verify::Tolerance t = verify::default_tolerance(expected.dtype());
  const std::vector<double> a = actual.as_double(), e = expected.as_double();
  for (size_t i = 0; i < e.size(); ++i) {
    if (!std::isfinite(e[i])) continue;
    if (std::isfinite(a[i]) ? std::abs(a[i] - e[i]) > t.atol + t.rtol * largest : !near_end)
      return false;
  }
  return true;
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

// Values that no model can get as an input: lists and optionals.
bool can_be_given(const program::Type& t) {
  return t.is_number() || t.kind == program::Type::Kind::Tensor;
}

// Whether an operator that chooses has equal elements to choose among. `values`: LibTorch's.
bool has_ties(const Node& n, const std::map<const Value*, const Tensor*>& values) {
  const size_t key = base_of(n) == "torchvision::nms" ? 1 : 0;  // the scores
  const Value* v = n.args.size() > key ? n.args[key].value() : nullptr;
  const auto at = values.find(v);
  const Tensor* t = at != values.end() ? at->second : v ? v->constant.get() : nullptr;
  return t && has_equal_elements(*t);
}

// The branches and loops whose results the node has, as its own or in a list that it gets: lists
// cannot be given to a model, so they are not LibTorch's own.
std::set<const Node*> answerable(const Node& n) {
  std::set<const Node*> found, seen;
  std::function<void(const Node&)> look = [&](const Node& at) {
    if (!seen.insert(&at).second) return;
    if (!at.blocks.empty()) {
      found.insert(&at);
      return;
    }
    for_each_use(const_cast<Node&>(at).args, [&](Arg& a) {
      const Value* v = a.value();
      if (!can_be_given(v->type) && v->producer) look(*v->producer);
    });
  };
  look(n);
  return found;
}

// Whether a node behind the last step should have given one.
bool can_end_early(const Block& b, const std::vector<Replayed>& steps) {
  bool behind = false;
  for (const auto& n : b.nodes) {
    if (behind && std::ranges::any_of(n->outputs, [](const Value* v) {
          return v->type.is_number() || v->type.kind == program::Type::Kind::Tensor;
        }))
      return true;
    behind = behind || n.get() == steps.back().node;
  }
  return false;
}

// The nodes that need none of the values which cannot be given.
std::vector<bool> computable(const Block& b, const std::vector<program::Port>& inputs) {
  std::set<const Value*> lacking;
  for (Value* v : capture::outside_values(b))
    if (std::ranges::none_of(inputs, [&](const auto& port) { return port.value.value() == v; }))
      lacking.insert(v);
  std::vector<bool> keep;
  for (const auto& n : b.nodes) {
    bool lacks = false;
    for_each_use(*n, [&](Arg& a) { lacks = lacks || lacking.contains(a.value()); });
    keep.push_back(!lacks);
    if (lacks) lacking.insert(n->outputs.begin(), n->outputs.end());
  }
  return keep;
}

// Tensors alone.
std::map<std::string, TensorPtr> run_by_name(verify::Ort::Session& session,
                                             const std::map<std::string, TensorPtr>& given) {
  std::vector<HostValue> inputs;
  for (const std::string& name : session.input_names())
    inputs.emplace_back().tensor = given.at(name);
  const std::vector<HostValue> results = session.run(inputs);
  const std::vector<std::string> names = session.output_names();
  std::map<std::string, TensorPtr> found;
  for (size_t i = 0; i < names.size(); ++i) found[names[i]] = results[i].tensor;
  return found;
}

}  // namespace

std::string rounding_bytes(ir::Model& m) {
  Diagnostics d;
  precision::emulate(m);
  opsets::fit_types(m, /*avoid_ort_gaps=*/true, d);
  return onnx::write_bytes(m);
}

// A program of the block's nodes, each result of which is an output.
std::string DifferenceCause::model(Block& b, const Models& m,
                                   const std::vector<program::Port>& inputs) {
  program::Program sub;
  sub.inputs = inputs;
  for (const Value* v : m.results)
    sub.outputs.push_back({"step_" + std::to_string(sub.outputs.size()), {const_cast<Value*>(v)}});
  const std::vector<bool> keep = computable(b, inputs);
  std::vector<size_t> places;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) {
      places.push_back(i);
      sub.body.nodes.push_back(std::move(b.nodes[i]));
    }
  std::string bytes;
  try {
    Diagnostics d;
    const ir::Model made = to_onnx(sub, o_, rules_, {}, d);
    if (!d.has_errors() && !onnx::needs_external(made, {})) bytes = onnx::write_bytes(made);
  } catch (const std::exception&) {
    // Then nothing is known of this model.
  }
  for (size_t i = 0; i < places.size(); ++i) b.nodes[places[i]] = std::move(sub.body.nodes[i]);
  return bytes;
}

DifferenceCause::Models& DifferenceCause::models_of(Block& b, const capture::BlockRun& run) {
  const auto [at, fresh] = models_.try_emplace(&b);
  Models& m = at->second;
  if (!fresh) return m;
  if (&b == &p_.body) {
    m.inputs = p_.inputs;
  } else {
    for (Value* v : capture::outside_values(b))
      if (can_be_given(v->type)) m.inputs.push_back({"in_" + std::to_string(m.inputs.size()), {v}});
  }
  const std::vector<bool> keep = computable(b, m.inputs);
  std::set<const Node*> kept;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) kept.insert(b.nodes[i].get());
  for (const Replayed& s : run.steps)
    if (kept.contains(s.node)) m.results.push_back(s.value);
  m.whole.bytes = model(b, m, m.inputs);
  if (m.whole.bytes.empty()) return m;
  std::vector<program::Port> inputs = m.inputs;
  std::map<const Value*, Value*> given;
  std::vector<std::pair<Arg*, Value*>> changed;
  const std::set<const Value*> known(m.results.begin(), m.results.end());
  for (auto& n : b.nodes)
    for_each_use(*n, [&](Arg& a) {
      Value* const v = a.value();
      if (!known.contains(v)) return;
      Value*& input = given[v];
      if (!input) {
        m.cut[v] = "cut_" + std::to_string(m.cut.size());
        input = p_.new_value(v->type, m.cut[v]);
        inputs.push_back({m.cut[v], {input}});
      }
      changed.emplace_back(&a, v);
      a.v = input;
    });
  m.apart.bytes = model(b, m, inputs);
  for (auto& [a, v] : changed) a->v = v;
  return m;
}

DifferenceCause::Results DifferenceCause::run(Model& model, const std::vector<const Value*>& wanted,
                                              const std::map<std::string, TensorPtr>& given) const {
  Results found;
  if (!model.session) model.session = ort_.open_bytes(model.bytes, o_.load.threads);
  const std::map<std::string, TensorPtr> results = run_by_name(*model.session, given);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (const auto at = results.find("step_" + std::to_string(i)); at != results.end())
      found[wanted[i]] = at->second;
  return found;
}

Cause DifferenceCause::of(const std::vector<TensorPtr>& inputs) {
  if (inputs.size() != given_.inputs.size()) return {};
  if (inputs == inputs_ && !inputs.empty()) return cause_;
  if (p_.values.empty()) p_ = program::copy(given_);
  inputs_ = inputs;
  const std::vector<capture::BlockRun> runs = capture::replay(p_, inputs, p_.body);
  return cause_ = runs.empty() ? Cause() : of(p_.body, runs[0]);
}

// Of a branch or loop that differs although its arguments are LibTorch's own: of its runs.
Cause DifferenceCause::inside(const Node& n) {
  Cause found;
  for (const auto& b : n.blocks) {
    const auto runs = capture::replay(p_, inputs_, *b, kMostRuns + 1);
    if (runs.size() > kMostRuns) return {};
    for (const capture::BlockRun& run : runs) {
      const Cause c = of(*b, run);
      if (c.kind == Cause::Kind::Operator || (c.kind == Cause::Kind::Unknown && !c.first.empty()))
        return c;
      if (c.kind == Cause::Kind::Unknown) return {};
      if (c.kind != Cause::Kind::Passes && found.kind != Cause::Kind::Tie) found = c;
    }
  }
  return found;
}

// Whether the file's own graph gives LibTorch's results where every node's result is rounded to a
// type of 16 bits that the program has.
bool DifferenceCause::is_right_rounded(const std::vector<Replayed>& steps) {
  if (std::ranges::none_of(steps, [](const Replayed& s) {
        return is_float(s.tensor->dtype()) && byte_size(s.tensor->dtype()) == 2;
      }))
    return false;
  try {
    Diagnostics d;
    ir::Model made = to_onnx(p_, o_, rules_, {}, d);
    if (d.has_errors() || onnx::needs_external(made, {})) return false;
    std::map<std::string, TensorPtr> given;
    for (size_t i = 0; i < inputs_.size(); ++i) given[p_.inputs[i].name] = inputs_[i];
    const std::map<std::string, TensorPtr> results =
        run_by_name(*ort_.open_bytes(rounding_bytes(made), o_.load.threads), given);
    return std::ranges::all_of(p_.outputs, [&](const program::Port& port) {
      const auto expected = std::ranges::find(steps, port.value.value(), &Replayed::value);
      const auto actual = results.find(port.name);
      return expected != steps.end() && actual != results.end() && actual->second &&
             verify::compare(*actual->second, *expected->tensor).ok;
    });
  } catch (const std::exception&) {
    return false;
  }
}

std::pair<DifferenceCause::Results, DifferenceCause::Results> DifferenceCause::run_both(
    const Block& b, Models& m, const capture::BlockRun& block_run) {
  std::map<std::string, TensorPtr> given;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const auto at = block_run.outside.find(m.inputs[i].value.value());
    if (&b == &p_.body)
      given[m.inputs[i].name] = inputs_[i];
    else if (at != block_run.outside.end())
      given[m.inputs[i].name] = at->second;
  }
  Results whole, apart;
  try {
    if (!m.whole.bytes.empty()) whole = run(m.whole, m.results, given);
    for (const Replayed& s : block_run.steps)
      if (const auto at = m.cut.find(s.value); at != m.cut.end()) given[at->second] = s.tensor;
    if (!m.apart.bytes.empty()) apart = run(m.apart, m.results, given);
  } catch (const std::exception&) {
    // ONNX Runtime rejects one of them, or these inputs took another way through LibTorch.
  }
  return {std::move(whole), std::move(apart)};
}

// Compares each operator on LibTorch's own arguments. A cause without text: all are right; nothing:
// that is not known.
std::optional<Cause> DifferenceCause::alone(const capture::BlockRun& block_run, const Models& m,
                                            const Results& apart) {
  std::map<const Value*, const Tensor*> libtorch;
  for (const auto& [v, t] : block_run.outside) libtorch[v] = t.get();
  for (const Replayed& s : block_run.steps) libtorch[s.value] = s.tensor.get();
  Cause cause;
  const auto keep_first = [&](Cause::Kind kind, std::string text) {
    if (cause.text.empty()) cause.kind = kind, cause.text = std::move(text);
  };
  // Nothing is known of the rest.
  const auto so_far = [&] { return cause.text.empty() ? std::nullopt : std::optional(cause); };
  std::set<const Node*> examined;
  for (const Replayed& s : block_run.steps) {
    if (std::ranges::find(m.results, s.value) == m.results.end()) continue;  // needs a list
    if (examined.contains(s.node)) continue;
    const auto at = apart.find(s.value);
    if (at == apart.end() || !at->second) return so_far();
    const std::string what = beyond_rounding(*at->second, *s.tensor);
    if (what.empty()) continue;
    if (const std::set<const Node*> nested = answerable(*s.node); !nested.empty()) {
      for (const Node* n : nested) {
        const Cause c = inside(*n);
        if (c.kind == Cause::Kind::Operator) return c;
        if (c.text.empty()) return so_far();
        keep_first(c.kind, c.text);
      }
    } else if (rounds(*s.node)) {
      return so_far();  // a quotient that is rounded may lie next to a whole number
    } else if (accumulates(*s.node) && differ_by_overflow(*at->second, *s.tensor)) {
      keep_first(Cause::Kind::Overflow,
                 place(*s.node) +
                     " has sums beyond the range of their type: whether these are finite, infinite "
                     "or NaN depends on the order of their terms");
    } else if (chooses(*s.node) && has_ties(*s.node, libtorch)) {
      keep_first(Cause::Kind::Tie, place(*s.node) + kAmongEquals);
    } else {
      return Cause{Cause::Kind::Operator, place(*s.node) + ": " + what, {}};
    }
    examined.insert(s.node);
  }
  return cause;
}

Cause DifferenceCause::of(Block& b, const capture::BlockRun& block_run) {
  const std::vector<Replayed>& steps = block_run.steps;
  if (steps.empty()) return {};
  Models& m = models_of(b, block_run);
  const auto [whole, apart] = run_both(b, m, block_run);
  // Results that ONNX Runtime does not have show nothing.
  Side<Value> torch;
  for (const Replayed& s : steps)
    if (const auto at = whole.find(s.value); at != whole.end() && at->second)
      torch.add(s.value, s.tensor);
  match_by_construction(torch, whole);
  const Value* differs = torch.first_unknown();
  const Replayed* first = differs ? &*std::ranges::find(steps, differs, &Replayed::value) : nullptr;
  Cause unknown;
  if (first) unknown.first = place(*first->node) + ": " + torch.of(differs)->difference;
  if (apart.empty() || can_end_early(b, steps)) return unknown;
  std::optional<Cause> cause = alone(block_run, m, apart);
  if (!cause) return unknown;
  if (cause->text.empty())
    *cause = of_first(first, !first && &b == &p_.body && is_right_rounded(steps));
  cause->first = unknown.first;
  return *cause;
}

// Every operator alone is right. `first`: the first result of the whole model that differs, or
// null.
Cause DifferenceCause::of_first(const Replayed* first, bool right_rounded) {
  if (right_rounded)
    return {Cause::Kind::Rounding,
            "with each result rounded to its type, the file gives LibTorch's results; ONNX Runtime "
            "omits roundings to 16 bits",
            {}};
  if (!first) return {Cause::Kind::Passes, {}, {}};
  if (chooses(*first->node))
    return {Cause::Kind::Tie,
            place(*first->node) +
                " chooses among elements that differ by rounding only: the order is not defined",
            {}};
  if (rounds(*first->node) || is_discrete(*first->tensor))
    return {Cause::Kind::Tie, place(*first->node) + kAtLimit, {}};
  return {
      Cause::Kind::Rounding,
      place(*first->node) + " magnifies differences of its arguments that are within the tolerance",
      {}};
}

}  // namespace oe
