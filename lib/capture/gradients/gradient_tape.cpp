// The tape: which calls autograd would keep, and what it knows of each tensor.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "lib/capture/executor.h"
#include "lib/capture/operators/composites.h"

namespace oe::capture {
namespace {

// Looks for code that differentiates.
class Search {
 public:
  bool function(torch::jit::Function& f) {
    auto* g = torch::jit::tryToGraphFunction(f);
    if (!g || !seen_.insert(g).second) return false;
    g->ensure_defined();
    return block(*g->graph()->block());
  }

 private:
  bool block(const JitBlock& b) {
    return std::ranges::any_of(b.nodes(), [&](const JitNode* n) { return node(n); });
  }
  bool node(const JitNode* n) {
    if (n->kind() == c10::prim::CallMethod) {
      const auto type = n->input(0)->type()->cast<c10::ClassType>();
      if (!type) return true;  // an interface: any method may stand behind it
      torch::jit::Function* f = type->findMethod(n->s(c10::attr::name));
      return f && function(*f);
    }
    if (n->kind() == c10::prim::CallFunction) {
      const auto type = n->input(0)->type()->cast<c10::FunctionType>();
      return type && function(*type->function());
    }
    if (n->hasAttribute(c10::attr::Subgraph) && block(*n->g(c10::attr::Subgraph)->block()))
      return true;
    const std::string kind = n->kind().toQualString();
    if (kind == "aten::grad" || kind == "aten::backward") return true;
    return std::ranges::any_of(n->blocks(), [&](const JitBlock* b) { return block(*b); });
  }

  std::set<const void*> seen_;
};

// Results through which no gradient flows, although they are floating-point numbers.
bool cuts_gradient(const OpInfo& op) {
  static const std::unordered_set<std::string> names = {
      "aten::detach",    "aten::detach_copy",      "aten::zeros_like", "aten::ones_like",
      "aten::full_like", "aten::empty_like",       "aten::rand_like",  "aten::randn_like",
      "aten::new_zeros", "aten::new_ones",         "aten::new_full",   "aten::new_empty",
      "aten::histc",     "aten::new_empty_strided"};
  return names.contains(op.base);
}

bool is_differentiable(const TensorValue& t) {
  if (t.c.empty()) return true;
  const at::ScalarType type = example(t).scalar_type();
  return c10::isFloatingType(type) || c10::isComplexType(type);
}

// Tensors of a list of unknown length are not on the tape one by one.
bool hides_tensors(const AbstractValue& s) {
  if (s.is(K::Sequence) || s.is(K::ViewList)) return true;
  if (!s.is(K::List)) return false;
  if (s.list()->is_open()) return s.list()->element->kind() == c10::TypeKind::TensorType;
  return std::ranges::any_of(s.list()->items, hides_tensors);
}

// aten::view_copy has the derivative of aten::view.
std::string without_copy(std::string name) {
  const size_t end = std::min(name.find('.'), name.size());
  if (name.substr(0, end).ends_with("_copy")) name.erase(end - 5, 5);
  return name;
}

// Values that a condition chose have the example's tensor of one branch: only what is recorded
// tells them apart. Constants are recorded late.
const void* key_of(const TensorValue& t) {
  if (t.recorded && t.taint != Taint::Constant) return t.recorded;
  return t.c.empty() ? nullptr : example(t).unsafeGetTensorImpl();
}

}  // namespace

torch::jit::Function* derivative_of(const OpInfo& op, const std::string& argument) {
  for (const std::string& name : {op.name, without_copy(op.name)}) {
    const std::string split = name.find('.') != std::string::npos ? "__" : ".";
    if (torch::jit::Function* f = composite_of(CompositeOf::Derivative, name + split + argument))
      return f;
  }
  return nullptr;
}

torch::jit::Function* made_of(const OpInfo& op) {
  return composite_of(CompositeOf::Differentiated, without_copy(op.name));
}

void Gradient::begin(torch::jit::Function& method) { on_ = Search().function(method); }

bool Gradient::is_input(const program::Value* v) const {
  return v && !v->producer &&
         std::ranges::any_of(ex_.recorder.program().inputs,
                             [&](const program::Port& p) { return p.value.value() == v; });
}

Gradient::Kind Gradient::kind_of_unknown(const TensorValue& t) const {
  if (!is_differentiable(t)) return Kind::Constant;
  if (t.taint == Taint::Constant) return example(t).requires_grad() ? Kind::Leaf : Kind::Constant;
  return is_input(t.recorded) ? Kind::Constant : Kind::Unseen;
}

size_t Gradient::id_of(const TensorValuePtr& t) {
  const auto [it, fresh] = ids_.try_emplace(key_of(*t), variables_.size());
  if (fresh) variables_.push_back({t, kind_of_unknown(*t)});
  return it->second;
}

// The same value, with whatever it contains, that nothing writes. It keeps no memory alive, by
// which loops tell what their values are.
AbstractValue Gradient::snapshot(const AbstractValue& s) {
  if (s.is(K::Tensor)) return ex_.values.tensor(ex_.views.read(s.tensor()));
  if (!s.is(K::List) || s.list()->is_open()) return s;
  std::vector<AbstractValue> items;
  for (const AbstractValue& e : s.list()->items) items.push_back(snapshot(e));
  return ex_.values.list(std::move(items), s.list()->element);
}

void Gradient::note(const OpInfo& op, const std::vector<AbstractValue>& args,
                    const std::vector<AbstractValue>& out) {
  if (!on_ || paused_) return;
  std::vector<TensorValuePtr> from;
  for (const AbstractValue& a : args)
    each_tensor(a, [&](const AbstractValue& t) { from.push_back(ex_.views.read(t.tensor())); });
  const bool flows = c10::GradMode::is_enabled() && !cuts_gradient(op);
  const bool kept = flows && std::ranges::any_of(from, [&](const TensorValuePtr& t) {
                      return kind_of(t) != Kind::Constant;
                    });
  const bool unseen = flows && std::ranges::any_of(args, hides_tensors);
  bool any = false;
  const auto add = [&](const AbstractValue& s) {
    const TensorValuePtr t = ex_.views.read(s.tensor());
    if (!is_differentiable(*t)) return;
    // LibTorch gave the argument itself: it is one variable.
    const auto same = std::ranges::find_if(from, [&](const TensorValuePtr& f) {
      return !f->c.empty() && !t->c.empty() && example(*f).is_same(example(*t));
    });
    if (same != from.end()) {
      ids_[key_of(*t)] = id_of(*same);
      return;
    }
    ids_[key_of(*t)] = variables_.size();
    variables_.push_back({t, unseen ? Kind::Unseen : kept ? Kind::Computed : Kind::Constant});
    any = any || kept;
  };
  for (const AbstractValue& o : out) each_tensor(o, add);
  if (!any && depth_ == 0) return;
  Entry e{&op, {}, {}, ex_.site.here()};
  for (const AbstractValue& a : args) e.args.push_back(snapshot(a));
  for (const AbstractValue& o : out) e.out.push_back(snapshot(o));
  tape_.push_back(std::move(e));
}

bool Gradient::flows(const Entry& e) {
  return std::ranges::any_of(e.out, [&](const AbstractValue& o) {
    return any_tensor(o, [&](const AbstractValue& t) {
      const Kind kind = kind_of(ex_.views.read(t.tensor()));
      return kind == Kind::Computed || kind == Kind::Unseen;
    });
  });
}

void Gradient::set_kind(const AbstractValue& tensor, Kind kind) {
  const TensorValuePtr t = ex_.views.read(tensor.tensor());
  ids_[key_of(*t)] = variables_.size();
  variables_.push_back({t, kind});
}

// The tensors of an argument that are not recorded between the two ids.
void Gradient::add_outside(Entry& e, const AbstractValue& s, int first_value, int last_value) {
  each_tensor(s, [&](const AbstractValue& t) {
    const program::Value* v = ex_.views.read(t.tensor())->recorded;
    if (!v || v->id < first_value || v->id >= last_value) e.args.push_back(snapshot(t));
  });
}

void Gradient::note_if(KeptIf made) {
  if (!on_ || paused_) return;
  Entry e;
  e.origin = ex_.site.here();
  bool any = false;
  for (KeptIf::Output& o : made.outputs) {
    o.out = snapshot(o.out);
    for (AbstractValue& in : o.in) in = snapshot(in);
    e.out.push_back(o.out);
    if (!o.out.is(K::Tensor)) continue;
    const bool kept =
        is_differentiable(*ex_.views.read(o.out.tensor())) &&
        std::ranges::any_of(o.in, [&](const AbstractValue& in) {
          return in.is(K::Tensor) && kind_of(ex_.views.read(in.tensor())) != Kind::Constant;
        });
    set_kind(o.out, kept ? Kind::Computed : Kind::Constant);
    any = any || kept;
  }
  if (!any && depth_ == 0) return;
  e.args.push_back(made.cond);
  const auto outside = [&](const AbstractValue& s) {
    add_outside(e, s, made.first_value, made.last_value);
  };
  for (const GradientLog& log : made.logs)
    for (const Entry& inner : log) std::ranges::for_each(inner.args, outside);
  for (const KeptIf::Output& o : made.outputs) std::ranges::for_each(o.in, outside);
  e.kept = std::make_shared<const KeptIf>(std::move(made));
  tape_.push_back(std::move(e));
}

void Gradient::note_loop(KeptLoop made) {
  if (!on_ || paused_) return;
  const auto inside = [&](const program::Value* v) {
    return v && !v->constant && v->id >= made.first_value && v->id < made.last_value;
  };
  // Of what is inside, what requires a gradient in some iteration. While the body was recorded it
  // was not known of what the loop carries.
  Ids live;
  const auto requires_grad = [&](const AbstractValue& s) {
    return any_tensor(s, [&](const AbstractValue& t) {
      const TensorValuePtr v = ex_.views.read(t.tensor());
      const Kind kind = kind_of(v);
      return kind == Kind::Leaf || live.contains(id_of(v)) ||
             (kind != Kind::Constant && !inside(v->recorded));
    });
  };
  const auto each_live = [&](const AbstractValue& s) {
    each_tensor(s, [&](const AbstractValue& t) {
      const TensorValuePtr v = ex_.views.read(t.tensor());
      if (kind_of(v) != Kind::Constant) live.insert(id_of(v));
    });
  };
  for (size_t before = 1; before != live.size();) {
    before = live.size();
    for (const LoopPiece& p : made.pieces)
      if (requires_grad(p.before) || requires_grad(p.end)) each_live(p.param);
    for (const Entry& e : made.log)
      if (std::ranges::any_of(e.args, requires_grad)) std::ranges::for_each(e.out, each_live);
    if (live.empty()) break;
  }
  Entry e;
  e.origin = ex_.site.here();
  e.args = {made.trip, made.cond};
  bool any = false;
  const auto outside = [&](const AbstractValue& s) {
    add_outside(e, s, made.first_value, made.last_value);
  };
  for (const LoopPiece& p : made.pieces) {
    outside(p.before);
    outside(p.end);
    e.out.push_back(snapshot(p.after));
    if (!p.after.is(K::Tensor)) continue;
    const bool kept = is_differentiable(*ex_.views.read(p.after.tensor())) &&
                      (requires_grad(p.param) || requires_grad(p.end));
    variables_[id_of(ex_.views.read(p.param.tensor()))].kind =
        kept ? Kind::Computed : Kind::Constant;
    set_kind(p.after, kept ? Kind::Computed : Kind::Constant);
    any = any || kept;
  }
  if (!any && depth_ == 0) return;
  for (const Entry& inner : made.log) std::ranges::for_each(inner.args, outside);
  e.loop = std::make_shared<const KeptLoop>(std::move(made));
  tape_.push_back(std::move(e));
}

bool Gradient::has_rules(const OpInfo& op, const std::vector<AbstractValue>& args) {
  if (!on_ || paused_ || op.schema->is_mutable()) return false;
  bool any = false, all = true;
  const bool made = made_of(op);
  for (size_t i = 0; i < args.size(); ++i) {
    const bool wanted = any_tensor(args[i], [&](const AbstractValue& t) {
      return kind_of(ex_.views.read(t.tensor())) != Kind::Constant;
    });
    if (!wanted) continue;
    any = true;
    all = all && (made || derivative_of(op, op.schema->arguments()[i].name()));
  }
  return any && all;
}

std::vector<AbstractValue> Gradient::whole(const OpInfo& op, const std::vector<AbstractValue>& args,
                                           const std::function<std::vector<AbstractValue>()>& run) {
  std::vector<AbstractValue> out;
  {
    const Restore before{paused_};
    paused_ = true;
    out = run();
  }
  note(op, args, out);
  return out;
}

bool Gradient::known_flag(const AbstractValue& s) {
  if (s.taint != Taint::Constant)
    ex_.site.refuse("OE4063", "which tensors are differentiated depends on the input",
                    "pass constants as the flags of requires_grad_() and grad()");
  return s.c.at(0).toBool();
}

void Gradient::require(const AbstractValue& tensor, const AbstractValue& flag) {
  if (!on_) return;
  const bool wanted = known_flag(flag);
  Variable& v = variables_[id_of(ex_.views.read(tensor.tensor()))];
  if (v.kind == Kind::Computed && !wanted)
    ex_.worlds.each([&](size_t w) {
      ex_.apply.fail(w, "you can only change requires_grad flags of leaf variables.");
    });
  if (v.kind == Kind::Constant || v.kind == Kind::Leaf)
    v.kind = wanted ? Kind::Leaf : Kind::Constant;
}

void Gradient::overwrite(const TensorValue& before, const TensorValue& after) {
  if (!on_ || c10::GradMode::is_enabled()) return;
  const auto old = ids_.find(key_of(before));
  if (old == ids_.end() || variables_[old->second].kind == Kind::Constant) return;
  // Under no_grad a write changes the numbers and leaves the history as it is, which nothing that
  // is recorded can stand for.
  const auto now = ids_.find(key_of(after));
  if (now != ids_.end()) variables_[now->second].kind = Kind::Unseen;
}

std::optional<AbstractValue> Gradient::answer(const OpInfo& op,
                                              const std::vector<AbstractValue>& args) {
  if (!on_ || !args[0].is(K::Tensor)) return std::nullopt;
  const Kind kind = kind_of(ex_.views.read(args[0].tensor()));
  if (kind == Kind::Unseen) return std::nullopt;
  return AbstractValue::of(op.base == "aten::is_leaf" ? kind != Kind::Computed
                                                      : kind != Kind::Constant);
}

}  // namespace oe::capture
