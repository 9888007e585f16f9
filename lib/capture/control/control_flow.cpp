// If and Loop: whether they are kept in the program, or taken as they are.
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_set>

#include "lib/capture/control/iterations.h"
#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// What the condition is the opposite of; null where it is of none.
const program::Value* opposite(const program::Value* v) {
  const program::Node* from = v->producer;
  return from && from->op == "aten::__not__" ? from->args[0].value() : nullptr;
}

bool same_number(const program::Arg& a, const program::Arg& b);

// Whether two values are one in every run: the same question, asked twice of the same values.
bool same_value(const program::Value* a, const program::Value* b) {
  static const std::unordered_set<std::string> kQuestions = {
      "aten::size", "aten::dim", "aten::numel", "aten::len", "aten::__not__", "aten::eq",
      "aten::ne",   "aten::lt",  "aten::le",    "aten::gt",  "aten::ge"};
  if (a == b) return true;
  const program::Node *m = a->producer, *n = b->producer;
  return m && n && m->op == n->op && kQuestions.contains(m->op.substr(0, m->op.find('.'))) &&
         std::ranges::equal(m->args, n->args, same_number);
}

bool same_number(const program::Arg& a, const program::Arg& b) {
  if (a.value() && b.value()) return same_value(a.value(), b.value());
  const auto* x = std::get_if<int64_t>(&a.v);
  const auto* y = std::get_if<int64_t>(&b.v);
  return x && y && *x == *y;
}

}  // namespace

std::optional<bool> Control::known_condition(const AbstractValue& flag) {
  if (flag.taint == Taint::Constant || ex_.worlds.alone())
    return ex_.apply.truth(flag, ex_.worlds.alone().value_or(0));
  bool turned = false;
  for (const program::Value* v = flag.recorded; v; v = opposite(v)) {
    for (const auto& [value, holds] : guards_)
      if (same_value(value, v)) return holds != turned;
    turned = !turned;
  }
  return std::nullopt;
}

void Control::conditionally(const AbstractValue& guard, bool when, const std::function<void()>& f) {
  if (const auto known = known_condition(guard)) {
    if (*known == when) f();
    return;
  }
  const Restore guards{guards_};
  hold(guard, when);
  const auto run = [&](size_t k) -> std::vector<AbstractValue> {
    if ((k == 0) == when) f();
    return {};
  };
  if (!kept_branches(guard, run, {false, false}, false))
    ex_.site.refuse("OE4020",
                    "cannot tell whether the tensor written here shares memory with another one",
                    "copy it with clone() before the write", Need::Views);
}

void Control::hold(const AbstractValue& cond, bool holds) {
  for (const program::Value* v = cond.recorded; v; v = opposite(v), holds = !holds)
    guards_.emplace_back(v, holds);
}

bool Control::must_keep(const AbstractValue& cond, size_t& taken) {
  if (const auto known = known_condition(cond)) {
    taken = *known ? 0 : 1;
  } else if (plan_.mode == CaptureMode::Trace) {
    taken = ex_.apply.truth(cond, ex_.worlds.first()) ? 0 : 1;
    ex_.assumed.say(std::string("the condition is ") + (taken ? "false" : "true") +
                    ", as it was traced");
  } else {
    return true;
  }
  return false;
}

std::optional<int64_t> Control::known_iterations(const Loop& loop, Frame& f, int64_t most) {
  const int64_t trip = loop.trip.c.at(0).toInt();
  if (!loop.cond.c.at(0).toBool()) return 0;
  if (trip <= most) return trip;
  if (trip != std::numeric_limits<int64_t>::max()) return std::nullopt;
  // `while`: counted by running it.
  const std::optional<Iterated> run = iterate(loop, f, ex_.worlds.first(), most + 1);
  if (run && run->ended && run->done <= most) return run->done;
  return std::nullopt;
}

// Whether an iteration leaves anything in the program: else the loop folds away when it is
// unrolled.
bool Control::records(const Loop& loop, Frame& f) {
  const auto before = ex_.assumed.state();
  program::Block block;
  bool runs = true;
  try {
    in_scope(&block, [&] {
      ex_.worlds.within(ex_.worlds.active(), ex_.worlds.real(), [&] {
        std::vector<AbstractValue> params = {AbstractValue::of(loop.first)};
        params.insert(params.end(), loop.carried.begin(), loop.carried.end());
        ex_.interpreter.run_block(loop.node->blocks()[0], params, f);
      });
    });
  } catch (const Failure&) {
    runs = false;
  } catch (const Raised&) {
    runs = false;
  } catch (const Unreachable&) {
    runs = false;
  }
  ex_.assumed.take_back(before);
  return runs && !block.nodes.empty();
}

// Keeps a loop that could be unrolled. Where its body needs the number of the iteration as a
// constant, or its state has no one form, it is not kept.
bool Control::kept_instead(const Loop& loop, Frame& f) {
  const auto before = ex_.assumed.state();
  const bool chosen = std::exchange(kept_by_choice_, true);
  try {
    kept_loop(loop, f);
    return true;
  } catch (const Failure&) {
  }
  ex_.assumed.take_back(before);
  kept_by_choice_ = chosen;
  return false;
}

// `for k in range(x.size(d))` in a composite is an algorithm of that many steps. It is kept even
// where the size is small and known, because a graph does not grow with a size.
bool Control::steps_over_size(const JitNode* loop) const {
  return ex_.site.held() && loop->input(0)->node()->kind() == c10::aten::size;
}

void Control::run_loop(JitNode* n, Frame& f) {
  AbstractValue trip = f.get(n->input(0)), cond = f.get(n->input(1));
  std::vector<AbstractValue> carried;
  for (size_t i = 2; i < n->inputs().size(); ++i)
    carried.push_back(ex_.interpreter.is_carried(n, i - 2) ? f.get(n->input(i))
                                                           : AbstractValue::none());
  auto resolve = [&](const AbstractValue& s) -> std::optional<c10::IValue> {
    if (s.taint == Taint::Constant) return s.c.at(0);
    if (ex_.worlds.alone()) return ex_.apply.value(s, *ex_.worlds.alone());
    if (plan_.mode == CaptureMode::Trace) {
      c10::IValue v = ex_.apply.value(s, ex_.worlds.first());
      ex_.assumed.say(s.is(K::Bool)
                          ? "the loop continues as it did when traced"
                          : "the loop runs " + std::to_string(v.toInt()) + " times, as traced");
      return v;
    }
    return std::nullopt;
  };
  const bool decide = !ex_.worlds.alone() && plan_.mode != CaptureMode::Trace;
  int64_t copies = copies_;
  if (decide && resolve(trip) && resolve(cond)) {
    const Loop whole{n, 0, trip, cond, carried};
    if (steps_over_size(n) && trip.c.at(0).toInt() > 0) return kept_loop(whole, f);
    const auto known = known_iterations(whole, f, plan_.unroll / copies_);
    if (!known && records(whole, f) && kept_instead(whole, f)) return;
    copies *= std::max<int64_t>(1, known.value_or(1));
  }
  const Restore unrolled{copies_};
  copies_ = copies;
  for (int64_t i = 0;; ++i) {
    auto limit = resolve(trip), go = resolve(cond);
    if (limit && i >= limit->toInt()) break;
    if (go && !go->toBool()) break;
    if (!limit || !go) return kept_loop({n, i, trip, cond, std::move(carried)}, f);
    std::vector<AbstractValue> params = {AbstractValue::of(i)};
    params.insert(params.end(), carried.begin(), carried.end());
    if (ex_.worlds.alone()) iterations_.emplace_back(n, i);
    std::vector<AbstractValue> out = ex_.interpreter.run_block(n->blocks()[0], params, f);
    if (ex_.worlds.alone()) iterations_.pop_back();
    cond = out[0];
    carried.assign(out.begin() + 1, out.end());
  }
  f.set(n, std::move(carried));
}

void Control::in_scope(program::Block* block, const std::function<void()>& f) {
  const size_t depth = ex_.site.depth(), own_values = ex_.made_up.mark();
  const c10::AutoGradMode gradients(c10::GradMode::is_enabled());  // a no_grad region may be left
  const Restore guards{guards_};
  ex_.heap.open_scope(static_cast<int>(ex_.recorder.program().values.size()));
  if (block) ex_.recorder.enter(block);
  auto leave = [&] {
    if (block) ex_.recorder.leave();
    ex_.heap.close_scope();
    ex_.made_up.take_back(own_values);
  };
  try {
    f();
  } catch (...) {
    leave();
    ex_.site.leave_to(depth);
    throw;
  }
  leave();
}

}  // namespace oe::capture
