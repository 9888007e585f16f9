// torch.autograd.grad: the tape backwards, from the outputs to the inputs.
#include "lib/capture/gradients/gradient_walk.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/capture/executor.h"
#include "lib/capture/operators/composites.h"

namespace oe::capture {
namespace {

// The operator as others, for which there are rules.
torch::jit::Function* in_parts(const OpInfo& op) {
  torch::jit::Function* f = made_of(op);
  return f ? f : op.composite;
}

// Piecewise linear operators: LibTorch's derivative of their derivative is zeros, not nothing.
bool is_piecewise_linear(const OpInfo& op) {
  static const std::unordered_set<std::string> names = {"aten::relu",
                                                        "aten::relu6",
                                                        "aten::leaky_relu",
                                                        "aten::threshold",
                                                        "aten::hardtanh",
                                                        "aten::hardshrink",
                                                        "aten::softshrink",
                                                        "aten::avg_pool1d",
                                                        "aten::avg_pool2d",
                                                        "aten::avg_pool3d",
                                                        "aten::max_pool1d",
                                                        "aten::max_pool2d",
                                                        "aten::max_pool3d",
                                                        "aten::max_pool1d_with_indices",
                                                        "aten::max_pool2d_with_indices",
                                                        "aten::max_pool3d_with_indices",
                                                        "aten::fractional_max_pool2d",
                                                        "aten::fractional_max_pool3d",
                                                        "aten::adaptive_avg_pool1d",
                                                        "aten::adaptive_avg_pool2d",
                                                        "aten::adaptive_avg_pool3d",
                                                        "aten::adaptive_max_pool1d",
                                                        "aten::adaptive_max_pool2d",
                                                        "aten::adaptive_max_pool3d",
                                                        "aten::reflection_pad1d",
                                                        "aten::reflection_pad2d",
                                                        "aten::reflection_pad3d",
                                                        "aten::replication_pad1d",
                                                        "aten::replication_pad2d",
                                                        "aten::replication_pad3d",
                                                        "aten::pad",
                                                        "aten::nll_loss",
                                                        "aten::nll_loss_nd",
                                                        "aten::nll_loss2d",
                                                        "aten::nll_loss_forward",
                                                        "aten::nll_loss2d_forward",
                                                        "aten::rrelu"};
  return names.contains(op.base);
}

bool holds_complex(const TensorValue& t) {
  return !t.c.empty() && c10::isComplexType(example(t).scalar_type());
}

}  // namespace

std::string at_line(const OriginPtr& o) {
  if (!o || o->line == 0) return {};
  return " (" + (o->file.empty() ? "line " : o->file + ":") + std::to_string(o->line) + ")";
}

// The calls that the outputs depend on, in order.
std::vector<size_t> Gradient::Walk::leading_to(const std::vector<AbstractValue>& outputs) {
  Ids wanted;
  std::vector<size_t> found;
  for (const AbstractValue& o : outputs) wanted.insert(id(o));
  for (size_t i = g.tape_.size(); i-- > 0;) {
    const Entry& e = g.tape_[i];
    const bool leads = std::ranges::any_of(e.out, [&](const AbstractValue& o) {
      return any_tensor(o, [&](const AbstractValue& t) {
        const Kind kind = g.kind_of(ex.views.read(t.tensor()));
        return wanted.contains(id(t)) && (kind == Kind::Computed || kind == Kind::Unseen);
      });
    });
    if (!leads) continue;
    found.push_back(i);
    for (const AbstractValue& a : e.args)
      each_tensor(a, [&](const AbstractValue& t) { wanted.insert(id(t)); });
  }
  std::ranges::reverse(found);
  return found;
}

// Whether the program computes a value from one of the inputs, by whatever way.
bool Gradient::Walk::depends_by_program(const program::Value* from) {
  std::vector<const program::Value*> left = {from};
  std::unordered_set<const void*> seen;
  std::function<void(const program::Arg&)> add = [&](const program::Arg& a) {
    if (a.value()) left.push_back(a.value());
    if (const auto* list = std::get_if<program::Args>(&a.v))
      for (const program::Arg& e : *list) add(e);
  };
  std::function<void(const program::Node&)> look = [&](const program::Node& n) {
    for (const program::Arg& a : n.args) add(a);
    for (const auto& b : n.blocks) {
      for (const auto& inner : b->nodes) look(*inner);
      for (const program::Arg& a : b->returns) add(a);
    }
  };
  while (!left.empty()) {
    const program::Value* v = left.back();
    left.pop_back();
    if (!v || !seen.insert(v).second) continue;
    if (const auto it = g.ids_.find(v); it != g.ids_.end() && reached.contains(it->second))
      return true;
    if (!v->producer) {
      // What a loop carries may be anything that came before.
      if (!v->constant && !g.is_input(v)) return true;
    } else if (seen.insert(v->producer).second) {
      look(*v->producer);
    }
  }
  return false;
}

void Gradient::Walk::refuse_unseen(const AbstractValue& s) {
  each_tensor(s, [&](const AbstractValue& t) {
    const TensorValuePtr v = ex.views.read(t.tensor());
    if (g.kind_of(v) != Kind::Unseen || reached.contains(g.id_of(v)) ||
        !depends_by_program(v->recorded))
      return;
    const program::Node* by = v->recorded ? v->recorded->producer : nullptr;
    const std::string what = by && by->op == "prim::If"     ? "a condition on the input"
                             : by && by->op == "prim::Loop" ? "a loop that stays in the graph"
                             : by                           ? by->op
                                                            : "a loop";
    ex.site.refuse(kNoGradient,
                   "aten::grad: the gradient would go through " + what +
                       at_line(by ? by->origin : nullptr) + ", which is not supported",
                   by && by->op == "prim::Loop"
                       ? "use a loop whose number of iterations does not depend on the input"
                       : "compute the part that is differentiated without it");
  });
}

void Gradient::Walk::reach(const Entry& e) {
  if (e.kept) {
    for (const GradientLog& log : e.kept->logs)
      for (const Entry& inner : log) reach(inner);
    for (const KeptIf::Output& o : e.kept->outputs) {
      std::ranges::for_each(o.in, [&](const AbstractValue& in) { refuse_unseen(in); });
      if (std::ranges::any_of(o.in, [&](const AbstractValue& in) { return depends(in); }))
        reached.insert(id(o.out));
    }
    return;
  }
  if (e.loop) return reach_loop(e);
  for (const AbstractValue& a : e.args) refuse_unseen(a);
  if (std::ranges::none_of(e.args, [&](const AbstractValue& a) { return depends(a); })) return;
  for (const AbstractValue& o : e.out)
    each_tensor(o, [&](const AbstractValue& t) {
      const TensorValuePtr v = ex.views.read(t.tensor());
      if (g.kind_of(v) == Kind::Computed) reached.insert(g.id_of(v));
    });
}

// What keeps a call from being differentiated; empty: nothing.
std::string Gradient::Walk::obstacle(const Entry& e) {
  const auto complex = [&](const AbstractValue& s) {
    return any_tensor(
        s, [&](const AbstractValue& t) { return holds_complex(*ex.views.read(t.tensor())); });
  };
  if (std::ranges::any_of(e.args, complex) || std::ranges::any_of(e.out, complex))
    return e.op->base + " of complex numbers";
  if (in_parts(*e.op)) return {};
  for (size_t i = 0; i < e.args.size(); ++i)
    if (depends(e.args[i]) && !derivative_of(*e.op, e.op->schema->arguments()[i].name()))
      return e.op->base;
  return {};
}

void Gradient::Walk::require_rules(const std::vector<size_t>& entries) {
  std::vector<std::string> missing;
  OriginPtr first;
  const std::function<void(const Entry&)> look = [&](const Entry& e) {
    if (e.kept) {
      for (const GradientLog& log : e.kept->logs) std::ranges::for_each(log, look);
      return;
    }
    if (e.loop) return void(std::ranges::for_each(e.loop->log, look));
    if (std::ranges::none_of(e.out, [&](const AbstractValue& o) { return depends(o); })) return;
    if (std::string what = obstacle(e); !what.empty()) {
      what += at_line(e.origin);
      if (std::ranges::find(missing, what) == missing.end()) missing.push_back(what);
      if (!first) first = e.origin;
    }
  };
  for (const size_t i : entries) look(g.tape_[i]);
  if (missing.empty()) return;
  std::string list;
  for (const std::string& m : missing) list += (list.empty() ? "" : ", ") + m;
  throw Failure(ExitCode::Unsupported, kNoGradient, "no derivative is known of " + list,
                kNoGradientHint, first);
}

// The sum over the axes along which the target was repeated.
AbstractValue Gradient::Walk::reduced(AbstractValue gradient, const TensorValuePtr& target) {
  TensorValuePtr t = ex.views.read(gradient.tensor());
  const auto ints = [&](std::vector<AbstractValue> v) {
    return ex.values.list(std::move(v), c10::IntType::get());
  };
  const auto sum = [&](std::vector<AbstractValue> axes, bool keep) {
    return ex.apply("aten::sum.dim_IntList", {gradient, ints(std::move(axes)),
                                              AbstractValue::of(keep), AbstractValue::none()});
  };
  const size_t lead = t->axes.size() - target->axes.size();
  std::vector<AbstractValue> axes;
  for (size_t i = 0; i < lead; ++i) axes.push_back(AbstractValue::of(static_cast<int64_t>(i)));
  if (lead) gradient = sum(axes, false);
  t = ex.views.read(gradient.tensor());
  axes.clear();
  for (size_t i = 0; i < t->axes.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const Axis &have = t->axes[i], &want = target->axes[i];
    const bool one = want.is_static() && example(*target).size(axis) == 1;
    if (one && !(have.is_static() && example(*t).size(axis) == 1))
      axes.push_back(AbstractValue::of(axis));
  }
  if (!axes.empty()) gradient = sum(axes, true);
  t = ex.views.read(gradient.tensor());
  for (size_t i = 0; i < t->axes.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const Axis &have = t->axes[i], &want = target->axes[i];
    if (want.is_static() || (!have.is_static() && have.id == want.id)) continue;
    // It may be that the target has one row where the gradient has several.
    const AbstractValue size = ex.apply.size_of(ex.values.tensor(target), axis);
    const AbstractValue one =
        ex.interpreter.call_operator("aten::eq.int", {size, AbstractValue::of(int64_t{1})});
    if (one.is_constant_number()) continue;
    gradient = ex.interpreter.run_function(
        *composite_of(CompositeOf::Derivative, "aten::summed_rows"),
        {gradient, AbstractValue::of(axis), size}, ex.site.path(), ex.site.call());
  }
  return gradient;
}

// The gradient in the shape and element type of what it is the gradient of, as autograd does.
AbstractValue Gradient::Walk::like(AbstractValue gradient, const TensorValuePtr& target) {
  const TensorValuePtr t = ex.views.read(gradient.tensor());
  if (!t->ranked || !target->ranked || t->axes.size() < target->axes.size())
    ex.site.refuse(kNoGradient, "aten::grad: the rank of a gradient depends on the input");
  const at::ScalarType type = example(*target).scalar_type();
  if (example(*t).scalar_type() != type)
    gradient = ex.apply("aten::to.dtype", {gradient, AbstractValue::of(static_cast<int64_t>(type)),
                                           AbstractValue::of(false), AbstractValue::of(false),
                                           AbstractValue::none()});
  gradient = reduced(gradient, target);
  // The target's axes by construction, whatever the rules of axes could tell.
  auto named = std::make_shared<TensorValue>(*ex.views.read(gradient.tensor()));
  ex.worlds.each([&](size_t w) {
    if (!named->c.has(w) || !target->c.has(w)) return;
    if (named->c.at(w).toTensor().sizes() == target->c.at(w).toTensor().sizes()) return;
    if (ex.made_up.wanted(w)) return named->c.set(w, at::zeros_like(target->c.at(w).toTensor()));
    // What the other branch of an If left has another shape.
    if (!ex.worlds.real(w)) return ex.apply.fail(w, "the shape of a gradient");
    throw Failure(ExitCode::Internal, "OE1006", "a gradient has another shape than its tensor", "",
                  ex.site.here());
  });
  if (named->taint != Taint::Constant) named->axes = target->axes;
  return ex.values.tensor(named);
}

void Gradient::Walk::add(const AbstractValue& to, const AbstractValue& gradient) {
  if (gradient.is(K::None)) return;
  const TensorValuePtr target = ex.views.read(to.tensor());
  const AbstractValue mine = like(gradient, target);
  const size_t key = g.id_of(target);
  const auto it = grads.find(key);
  if (it == grads.end())
    grads.emplace(key, mine);
  else
    it->second = like(
        ex.apply("aten::add.Tensor", {it->second, mine, AbstractValue::of(int64_t{1})}), target);
}

// Of an output that is no argument as it is: that one is a variable of its own.
std::optional<AbstractValue> Gradient::Walk::gradient_of(const Entry& e, const AbstractValue& out) {
  const auto it = grads.find(id(out));
  const auto is_out = [&](const AbstractValue& t) { return id(t) == id(out); };
  if (it == grads.end() ||
      std::ranges::any_of(e.args, [&](const AbstractValue& a) { return any_tensor(a, is_out); }))
    return std::nullopt;
  return it->second;
}

// With zeros for the outputs that have none.
std::vector<AbstractValue> Gradient::Walk::gradients_of_outputs(const Entry& e) {
  std::vector<AbstractValue> all;
  for (const AbstractValue& o : e.out)
    each_tensor(o, [&](const AbstractValue& t) {
      const bool floats = c10::isFloatingType(example(*ex.views.read(t.tensor())).scalar_type());
      const auto given = gradient_of(e, t);
      const AbstractValue none = AbstractValue::none();
      all.push_back(given    ? *given
                    : floats ? ex.apply("aten::zeros_like", {t, none, none, none, none, none})
                             : t);
    });
  return all;
}

// Which outputs have a gradient.
AbstractValue Gradient::Walk::given_of(const Entry& e) {
  std::vector<AbstractValue> all;
  for (const AbstractValue& o : e.out)
    each_tensor(o, [&](const AbstractValue& t) {
      all.push_back(AbstractValue::of(gradient_of(e, t).has_value()));
    });
  return ex.values.list(std::move(all), c10::BoolType::get());
}

// A rule that raises says what it does not cover.
AbstractValue Gradient::Walk::run_rule(const Entry& e, torch::jit::Function& rule,
                                       std::vector<AbstractValue> given) {
  try {
    return ex.interpreter.run_function(rule, std::move(given), ex.site.path(), ex.site.call());
  } catch (const Raised& r) {
    const std::string prefix = "AssertionError: ";
    ex.site.refuse(
        kNoGradient,
        "no derivative is known of " + e.op->base + at_line(e.origin) + ": " +
            (r.message.starts_with(prefix) ? r.message.substr(prefix.size()) : r.message),
        kNoGradientHint);
  }
}

// A rule names the operator's arguments that it needs, `grad` (of the first output) or `grads` (of
// all; zeros where there is none), `given` (whether there is one, of all), `result` (the first
// output), `results` (all).
AbstractValue Gradient::Walk::product(const Entry& e, size_t argument, torch::jit::Function& rule,
                                      const std::vector<AbstractValue>& of_outputs) {
  const auto tensors = [&](const std::vector<AbstractValue>& all) {
    std::vector<AbstractValue> items;
    for (const AbstractValue& s : all)
      each_tensor(s, [&](const AbstractValue& t) { items.push_back(t); });
    return ex.values.list(std::move(items), c10::TensorType::get());
  };
  std::vector<AbstractValue> given;
  for (const c10::Argument& p : rule.getSchema().arguments()) {
    const std::string& name = p.name();
    const auto own = e.op->schema->argumentIndexWithName(name);
    if (own)
      given.push_back(e.args.at(static_cast<size_t>(*own)));
    else if (name == "grad")
      given.push_back(of_outputs.at(0));
    else if (name == "grads")
      given.push_back(tensors(of_outputs));
    else if (name == "given")
      given.push_back(given_of(e));
    else if (name == "result")
      given.push_back(e.out.at(0));
    else if (name == "results")
      given.push_back(tensors(e.out));
    else
      throw Failure(ExitCode::Internal, "OE1007",
                    "the rule of " + e.op->name + " for argument " + std::to_string(argument) +
                        " names no argument '" + name + "'");
  }
  return run_rule(e, rule, std::move(given));
}

// By the functions that say what the operator is made of.
void Gradient::Walk::differentiate_through(const Entry& e,
                                           const std::vector<AbstractValue>& of_outputs) {
  const size_t begin = g.tape_.size();
  std::vector<AbstractValue> again;
  {
    const c10::AutoGradMode on(true);
    const AbstractValue result = run_rule(e, *in_parts(*e.op), e.args);
    const std::vector<AbstractValue> results =
        result.is(K::Tuple) ? result.tuple() : std::vector<AbstractValue>{result};
    for (const AbstractValue& r : results)
      each_tensor(r, [&](const AbstractValue& t) { again.push_back(t); });
  }
  std::vector<size_t> inner;
  for (size_t i = begin; i < g.tape_.size(); ++i) inner.push_back(i);
  for (const size_t i : inner) reach(g.tape_[i]);
  require_rules(inner);
  for (size_t i = 0; i < again.size(); ++i)
    if (depends(again[i])) add(again[i], of_outputs.at(i));
  run(inner);
}

// The gradients that an operator has given are tied to what it was given.
void Gradient::Walk::tie(const Entry& e) {
  if (!c10::GradMode::is_enabled() || !is_piecewise_linear(*e.op)) return;
  for (const AbstractValue& a : e.args)
    each_tensor(a, [&](const AbstractValue& t) {
      const auto it = grads.find(id(t));
      if (it != grads.end()) g.tied_[id(it->second)].push_back(id(t));
    });
}

// Whether LibTorch's derivative of the outputs by a variable is zeros: no other way leads there.
bool Gradient::Walk::is_zeros(size_t variable, const std::vector<AbstractValue>& outputs) {
  Ids wanted;
  const std::function<void(size_t)> want = [&](size_t v) {
    if (!wanted.insert(v).second) return;
    const auto it = g.tied_.find(v);
    if (it != g.tied_.end()) std::ranges::for_each(it->second, want);
  };
  for (const AbstractValue& o : outputs) want(id(o));
  for (size_t i = g.tape_.size(); i-- > 0;) {
    const Entry& e = g.tape_[i];
    const bool leads = std::ranges::any_of(e.out, [&](const AbstractValue& o) {
      return any_tensor(o, [&](const AbstractValue& t) { return wanted.contains(id(t)); });
    });
    if (!leads) continue;
    for (const AbstractValue& a : e.args)
      each_tensor(a, [&](const AbstractValue& t) { want(id(t)); });
  }
  return wanted.contains(variable);
}

void Gradient::Walk::differentiate(const Entry& e) {
  const bool any = std::ranges::any_of(e.out, [&](const AbstractValue& o) {
    return any_tensor(o, [&](const AbstractValue& t) { return grads.contains(id(t)); });
  });
  if (!any) return;
  if (e.kept) return differentiate_if(e);
  if (e.loop) return differentiate_loop(e);
  const std::vector<AbstractValue> of_outputs = gradients_of_outputs(e);
  const auto& parameters = e.op->schema->arguments();
  std::vector<torch::jit::Function*> rules(e.args.size(), nullptr);
  bool all = true;
  for (size_t i = 0; i < e.args.size(); ++i) {
    if (!depends(e.args[i])) continue;
    rules[i] = derivative_of(*e.op, parameters[i].name());
    all = all && rules[i];
  }
  if (!all) {
    differentiate_through(e, of_outputs);
    return tie(e);
  }
  for (size_t i = 0; i < e.args.size(); ++i) {
    if (!rules[i]) continue;
    const AbstractValue made = product(e, i, *rules[i], of_outputs);
    if (e.args[i].is(K::Tensor)) {
      add(e.args[i], made);
      continue;
    }
    const std::vector<AbstractValue>& items = e.args[i].list()->items;
    for (size_t k = 0; k < items.size(); ++k)
      if (depends(items[k])) add(items[k], made.list()->items.at(k));
  }
  tie(e);
}

void Gradient::Walk::run(const std::vector<size_t>& entries) {
  for (size_t i = entries.size(); i-- > 0;) {
    const Entry e = g.tape_[entries[i]];  // a copy: the tape grows
    if (std::ranges::any_of(e.args, [&](const AbstractValue& a) { return depends(a); }))
      differentiate(e);
  }
}

}  // namespace oe::capture
