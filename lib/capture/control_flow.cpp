// If and Loop: whether they are kept in the program, or taken as they are.
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/capture/executor.h"
#include "lib/capture/iterations.h"
#include "lib/support/origin_text.h"

namespace oe::capture {

using K = Sym::Kind;

namespace {

template <class T>
struct Restore {
  T& variable;
  T before;
  ~Restore() { variable = before; }
};
template <class T>
Restore(T&, T) -> Restore<T>;

}  // namespace

bool Executor::must_keep(const Sym& cond, size_t& taken) {
  if (cond.taint == Taint::Constant) {
    taken = cond.c.at(0).toBool() ? 0 : 1;
  } else if (worlds_.alone()) {
    taken = concrete_bool(cond, *worlds_.alone()) ? 0 : 1;
  } else if (mode_ == CaptureMode::Trace) {
    taken = concrete_bool(cond, worlds_.first()) ? 0 : 1;
    assume(std::string("the condition is ") + (taken ? "false" : "true") + ", as it was traced");
  } else {
    return true;
  }
  return false;
}

void Executor::assume(const std::string& what) {
  const std::string where = place_of(here());
  const std::string text = where.empty() ? what : where + ": " + what;
  if (std::find(assumptions_.begin(), assumptions_.end(), text) == assumptions_.end())
    assumptions_.push_back(text);
}

std::optional<int64_t> Executor::known_iterations(const Loop& loop, Frame& f, int64_t most) {
  const int64_t trip = loop.trip.c.at(0).toInt();
  if (!loop.cond.c.at(0).toBool()) return 0;
  if (trip <= most) return trip;
  if (trip != std::numeric_limits<int64_t>::max()) return std::nullopt;
  // `while`: counted by running it.
  const std::optional<Iterated> run = iterate(loop, f, worlds_.first(), most + 1);
  if (run && run->ended && run->done <= most) return run->done;
  return std::nullopt;
}

// Whether an iteration leaves anything in the program: else the loop folds away when it is
// unrolled.
bool Executor::records(const Loop& loop, Frame& f) {
  const auto before = noted();
  program::Block block;
  bool runs = true;
  try {
    in_scope(&block, [&] {
      worlds_.within(worlds_.active(), worlds_.real(), [&] {
        std::vector<Sym> params = {Sym::of(loop.first)};
        params.insert(params.end(), loop.carried.begin(), loop.carried.end());
        run_block(loop.node->blocks()[0], params, f);
      });
    });
  } catch (const Failure&) {
    runs = false;
  } catch (const Raised&) {
    runs = false;
  } catch (const Unreachable&) {
    runs = false;
  }
  take_back(before);
  return runs && !block.nodes.empty();
}

// Keeps a loop that could be unrolled. Where its body needs the number of the iteration as a
// constant, or its state has no one form, it is not kept.
bool Executor::kept_instead(const Loop& loop, Frame& f) {
  const auto before = noted();
  const bool chosen = std::exchange(kept_by_choice_, true);
  try {
    kept_loop(loop, f);
    return true;
  } catch (const Failure&) {
  }
  take_back(before);
  kept_by_choice_ = chosen;
  return false;
}

void Executor::run_loop(JitNode* n, Frame& f) {
  Sym trip = get(n->input(0), f), cond = get(n->input(1), f);
  std::vector<Sym> carried;
  for (size_t i = 2; i < n->inputs().size(); ++i) carried.push_back(get(n->input(i), f));
  auto resolve = [&](const Sym& s) -> std::optional<c10::IValue> {
    if (s.taint == Taint::Constant) return s.c.at(0);
    if (worlds_.alone()) return to_ivalue(s, *worlds_.alone());
    if (mode_ == CaptureMode::Trace) {
      c10::IValue v = to_ivalue(s, worlds_.first());
      assume(s.is(K::Bool) ? "the loop goes on as it did when traced"
                           : "the loop runs " + std::to_string(v.toInt()) + " times, as traced");
      return v;
    }
    return std::nullopt;
  };
  const bool decide = !worlds_.alone() && mode_ != CaptureMode::Trace;
  const Loop whole{n, 0, trip, cond, carried};
  int64_t copies = copies_;
  if (decide && resolve(trip) && resolve(cond)) {
    const auto known = known_iterations(whole, f, unroll_ / copies_);
    if (!known && records(whole, f) && kept_instead(whole, f)) return;
    copies *= std::max<int64_t>(1, known.value_or(1));
  }
  const Restore unrolled{copies_, std::exchange(copies_, copies)};
  for (int64_t i = 0;; ++i) {
    auto limit = resolve(trip), go = resolve(cond);
    if (limit && i >= limit->toInt()) break;
    if (go && !go->toBool()) break;
    if (!limit || !go) return kept_loop({n, i, trip, cond, carried}, f);
    std::vector<Sym> params = {Sym::of(i)};
    params.insert(params.end(), carried.begin(), carried.end());
    if (worlds_.alone()) iterations_.emplace_back(n, i);
    std::vector<Sym> out = run_block(n->blocks()[0], params, f);
    if (worlds_.alone()) iterations_.pop_back();
    cond = out[0];
    carried.assign(out.begin() + 1, out.end());
  }
  set(n, f, std::move(carried));
}

void Executor::in_scope(program::Block* block, const std::function<void()>& f) {
  const size_t depth = site_.depth();
  const c10::AutoGradMode gradients(c10::GradMode::is_enabled());  // a no_grad region may be left
  heap_.open_scope();
  if (block) recorder_.enter(block);
  auto leave = [&] {
    if (block) recorder_.leave();
    heap_.close_scope();
  };
  try {
    f();
  } catch (...) {
    leave();
    site_.leave_to(depth);
    throw;
  }
  leave();
}

}  // namespace oe::capture
