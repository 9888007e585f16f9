// A kept If backwards: an If on the same condition, whose branches run the branch again and give
// the gradients of what it took from outside.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <iterator>

#include "lib/capture/gradients/gradient_code.h"
#include "lib/capture/gradients/gradient_walk.h"

namespace oe::capture {

// Runs the calls of a branch again, on what it took from outside.
struct Gradient::Again {
  Gradient& g;
  Executor& ex;
  const KeptIf& kept;
  std::unordered_map<const void*, AbstractValue> made = {};

  static const void* key(const TensorValue& t) {
    if (t.recorded && t.taint != Taint::Constant) return t.recorded;
    return t.c.empty() ? nullptr : example(t).unsafeGetTensorImpl();
  }

  bool inside(const program::Value* v) const {
    return v && !v->constant && v->id >= kept.first_value && v->id < kept.last_value;
  }

  [[noreturn]] void refuse(const std::string& what) {
    ex.site.refuse(
        kNoGradient,
        "aten::grad: the gradient would go through a condition on the input whose branch "
        "has " +
            what,
        "compute the part that is differentiated with torch.where");
  }

  // What stands for a value of the first run in this one.
  AbstractValue now(const AbstractValue& s) {
    if (s.is(K::Tensor)) {
      const TensorValuePtr t = ex.views.read(s.tensor());
      if (const auto it = made.find(key(*t)); it != made.end()) return it->second;
      if (inside(t->recorded)) refuse("random numbers, a loop or an open list");
      return s;
    }
    if (s.is(K::List) && !s.list()->is_open()) {
      std::vector<AbstractValue> items;
      for (const AbstractValue& e : s.list()->items) items.push_back(now(e));
      return ex.values.list(std::move(items), s.list()->element);
    }
    if (s.is(K::List) || s.is(K::Sequence) || s.is(K::Maybe)) refuse("an open list");
    if (s.taint == Taint::Constant || !s.recorded) return s;
    if (const auto it = made.find(s.recorded); it != made.end()) return it->second;
    if (inside(s.recorded)) refuse("a loop");
    return s;
  }

  void stands_for(const AbstractValue& before, const AbstractValue& after) {
    if (before.is(K::Tensor)) {
      made[key(*ex.views.read(before.tensor()))] = after;
    } else if (before.is(K::List)) {
      for (size_t i = 0; i < before.list()->items.size(); ++i)
        stands_for(before.list()->items[i], after.list()->items.at(i));
    } else if (before.recorded) {
      made[before.recorded] = after;
    }
  }

  void call(const Entry& e) {
    if (e.kept) return branches(*e.kept);
    if (e.loop) return loop(e);
    const c10::AutoGradMode mode(g.flows(e));       // what ran under no_grad does again
    if (ex.apply.is_random(*e.op, e.args)) return;  // other numbers would come: now() refuses
    std::vector<AbstractValue> args;
    for (const AbstractValue& a : e.args) args.push_back(now(a));
    const bool list = e.out.size() == 1 && e.out[0].is(K::List);
    const int length = list ? static_cast<int>(e.out[0].list()->items.size()) : -1;
    const std::vector<AbstractValue> out = e.op->base == "aten::size"
                                               ? ex.interpreter.call_operator(*e.op, args)
                                               : ex.apply(*e.op, args, length);
    for (size_t i = 0; i < e.out.size(); ++i) stands_for(e.out[i], out.at(i));
  }

  void loop(const Entry& e) {
    GradientCode code(
        ex, [&](const Entry& call) { return g.flows(call); }, e.loop->first_value,
        e.loop->last_value);
    code.write({e}, e.out);
    std::vector<AbstractValue> args;
    const auto graph = code.finish(e.out);
    for (const AbstractValue& s : code.outside()) args.push_back(now(s));
    const AbstractValue out = ex.interpreter.run_function(function_of(graph, ""), std::move(args),
                                                          ex.site.path(), ex.site.call());
    for (size_t i = 0; i < e.out.size(); ++i) stands_for(e.out[i], out.tuple().at(i));
  }

  void branches(const KeptIf& inner) {
    const AbstractValue cond = now(inner.cond);
    const std::vector<AbstractValue> out = *ex.control.kept_branches(
        cond,
        [&](size_t k) {
          for (const Entry& e : inner.logs[k]) call(e);
          std::vector<AbstractValue> left;
          for (const KeptIf::Output& o : inner.outputs) left.push_back(now(o.in[k]));
          return left;
        },
        {false, false}, true);
    for (size_t i = 0; i < out.size(); ++i) stands_for(inner.outputs[i].out, out[i]);
  }
};

void Gradient::Walk::differentiate_if(const Entry& e) {
  const KeptIf& kept = *e.kept;
  std::vector<AbstractValue> targets;  // that the branches took from outside
  Ids found;
  for (const AbstractValue& a : e.args)
    each_tensor(a, [&](const AbstractValue& t) {
      if (reached.contains(id(t)) && found.insert(id(t)).second) targets.push_back(t);
    });
  const auto run_again = [&](size_t k) {
    Walk inner{g, ex};
    inner.reached = found;
    Again again{g, ex, kept};
    const size_t begin = g.tape_.size();
    {
      const c10::AutoGradMode on(true);
      for (const Entry& call : kept.logs[k]) again.call(call);
    }
    std::vector<size_t> calls;
    for (size_t i = begin; i < g.tape_.size(); ++i) calls.push_back(i);
    for (const size_t i : calls) inner.reach(g.tape_[i]);
    inner.require_rules(calls);
    for (const KeptIf::Output& o : kept.outputs) {
      if (!o.out.is(K::Tensor) || !o.in[k].is(K::Tensor)) continue;
      const auto given = grads.find(id(o.out));
      if (given == grads.end()) continue;
      const AbstractValue left = again.now(o.in[k]);
      if (inner.depends(left)) inner.add(left, given->second);
    }
    inner.run(calls);
    std::vector<AbstractValue> results;
    for (const AbstractValue& t : targets) {
      const auto it = inner.grads.find(id(t));
      const AbstractValue none = AbstractValue::none();
      results.push_back(it != inner.grads.end()
                            ? it->second
                            : ex.apply("aten::zeros_like", {t, none, none, none, none, none}));
    }
    return results;
  };
  const std::vector<AbstractValue> results =
      *ex.control.kept_branches(kept.cond, run_again, {false, false}, true);
  for (size_t i = 0; i < targets.size(); ++i) add(targets[i], results[i]);
}

}  // namespace oe::capture
