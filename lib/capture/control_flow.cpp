// If and Loop: taken as they are when the condition is constant, else kept in the program.
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/capture/executor.h"
#include "lib/capture/iterations.h"
#include "lib/capture/join.h"
#include "lib/support/origin_text.h"

namespace oe::capture {

using K = Sym::Kind;

// How often what follows an If may go into both of its branches, one inside the other.
constexpr int kTails = 3;

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

// --- kept

namespace {

// What a branch or body left behind.
struct Outcome {
  std::unique_ptr<program::Block> block = std::make_unique<program::Block>();
  std::vector<Frozen> results;
  std::vector<std::pair<std::shared_ptr<Cell>, Frozen>> changed;
  std::string failure;  // why it could not be run in any world; empty when it was
  bool raised = false;

  const Frozen* content(const Cell* c) const {
    for (const auto& [cell, frozen] : changed)
      if (cell.get() == c) return &frozen;
    return nullptr;
  }
};

bool ends_in_raise(const torch::jit::Block* b) {
  for (const torch::jit::Node* n : b->nodes())
    if (n->kind() == c10::prim::RaiseException) return true;
  return false;
}

}  // namespace

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

std::vector<Sym> Executor::run_branch(JitNode* n, size_t k, const Frame& f, const Sym& cond,
                                      bool tail) {
  Frame inner = f;
  // Inside the branch the condition is known, whatever variable holds it.
  for (auto& [name, value] : inner.values) {
    if (value.is(K::Bool) && value.recorded && value.recorded == cond.recorded)
      value = Sym::of(k == 0);
    if (value.is(K::Maybe) && cond.recorded && value.tuple->at(0).recorded == cond.recorded)
      value = k == 0 ? value.tuple->at(1) : Sym::none();
  }
  struct Known {  // in the branch, and what follows it there
    Executor& ex;
    size_t guards = ex.guards_.size();
    int tails = ex.tails_;
    ~Known() {
      ex.guards_.resize(guards);
      ex.tails_ = tails;
    }
  } known{*this};
  for (const program::Value* v = cond.recorded; v;) {
    const bool turned = (guards_.size() - known.guards) % 2;
    guards_.emplace_back(v, (k == 0) != turned);
    const program::Node* from = v->producer;
    v = from && from->op == "aten::__not__" ? from->args[0].value() : nullptr;
  }
  std::vector<Sym> out = run_block(n->blocks()[k], {}, inner);
  if (!tail) return out;
  set(n, inner, std::move(out));
  ++tails_;
  return run_nodes(n->owningBlock(), n->next(), inner);
}

std::optional<std::vector<Sym>> Executor::kept_if(JitNode* n, Frame& f, const Sym& cond,
                                                  bool tail) {
  return kept_branches(
      cond, [&](size_t k) { return run_branch(n, k, f, cond, tail); },
      {ends_in_raise(n->blocks()[0]), ends_in_raise(n->blocks()[1])}, tail);
}

std::optional<std::vector<Sym>> Executor::kept_branches(
    const Sym& cond, const std::function<std::vector<Sym>(size_t)>& run, std::array<bool, 2> raises,
    bool permissive) {
  const uint64_t start = heap_.now();
  const auto first_value = static_cast<int>(recorder_.program().values.size());
  std::vector<int> branch(worlds_.count(), -1);
  Worlds::Set mask[2] = {0, 0};
  worlds_.each([&](size_t w) {
    if (!cond.c.has(w)) return;
    branch[w] = concrete_bool(cond, w) ? 0 : 1;
    mask[branch[w]] |= Worlds::only(w);
  });

  const JitNode* running = site_.node();
  Outcome out[2];
  for (size_t k = 0; k < 2; ++k) {
    if (!(worlds_.real() & mask[k]) && raises[k]) {
      out[k].raised = true;
      out[k].failure = "it raises";
      continue;
    }
    try {
      in_scope(out[k].block.get(), [&] {
        worlds_.within(worlds_.active(), worlds_.real() & mask[k], [&] {
          for (const Sym& s : run(k)) out[k].results.push_back(freeze(s));
          for (const auto& c : heap_.changed_cells())
            out[k].changed.emplace_back(c, freeze_cell(*c));
        });
      });
    } catch (const Raised& r) {
      const Worlds::Set met = worlds_.real() & mask[k];
      if (Worlds::contains(met, 0)) throw;
      worlds_.each([&](size_t w) {
        if (Worlds::contains(met, w)) world_failed(w, "the model raises: " + r.message);
      });
      out[k].raised = true;
      out[k].failure = "it raises: " + r.message;
    } catch (const Unreachable& u) {
      out[k].failure = "it could be run with no example: " + u.message;
    }
  }
  if (!out[0].failure.empty() && !out[1].failure.empty()) {
    if (out[0].raised && out[1].raised) throw Raised{out[0].failure};
    throw Unreachable{out[0].failure + "; " + out[1].failure};
  }
  for (size_t k = 0; k < 2; ++k)
    if (!out[k].failure.empty()) {
      assume(std::string("the condition is taken to be ") + (k == 0 ? "false" : "true") +
             "; in the other branch " + out[k].failure);
      if (!out[k].raised) dropped_.emplace(std::pair(running, k), out[k].failure);
      return run(1 - k);
    }

  auto owned = std::make_unique<program::Node>();
  program::Node* node = owned.get();
  node->op = "prim::If";
  node->args = {to_arg(cond)};
  node->origin = here();
  for (Outcome& o : out) node->blocks.push_back(std::move(o.block));
  Joiner joiner{*this, node, cond, branch, start, permissive || tails_ >= kTails, first_value};
  // A cell that branch k left alone, with the tensors in it as branch k left them.
  auto frozen_after = [&](size_t k, Cell& cell) {
    Frozen f;
    joiner.inside(k, [&] {
      in_scope(nullptr, [&] {
        for (const auto& [c, content] : out[k].changed)
          if (auto* storage = dynamic_cast<StorageCell*>(c.get()))
            heap_.set_base(*storage, content.tensor);
        f = freeze_cell(cell);
      });
    });
    return f;
  };
  std::vector<Sym> results;
  std::vector<std::pair<std::shared_ptr<Cell>, Sym>> contents;
  try {
    for (size_t i = 0; i < out[0].results.size(); ++i)
      results.push_back(joiner.merge(out[0].results[i], out[1].results[i]));
    for (size_t k = 0; k < 2; ++k)
      for (const auto& [cell, frozen] : out[k].changed) {
        if (k == 1 && out[0].content(cell.get())) continue;  // joined already
        const Frozen* other = out[1 - k].content(cell.get());
        const Frozen before = other ? *other : frozen_after(1 - k, *cell);
        contents.emplace_back(cell,
                              k == 0 ? joiner.merge(frozen, before) : joiner.merge(before, frozen));
      }
  } catch (const JoinFailure&) {
    if (joiner.permissive) throw;
    return std::nullopt;
  }
  recorder_.append(std::move(owned));
  for (const auto& [cell, content] : contents) set_cell(*cell, content);
  return results;
}

void Executor::kept_loop(Loop loop, Frame& f) {
  auto& [n, first, trip, cond, carried] = loop;
  torch::jit::Block* body = n->blocks()[0];
  if (first > 0 && !(trip.taint == Taint::Constant &&
                     trip.c.at(0).toInt() == std::numeric_limits<int64_t>::max()))
    trip = apply1("aten::sub.int", {trip, Sym::of(first)});

  Worlds::Set runs = 0;  // worlds with at least one iteration
  worlds_.each([&](size_t w) {
    if (concrete_bool(cond, w) && to_ivalue(trip, w).toInt() > 0) runs |= Worlds::only(w);
  });

  std::vector<Slot> locals(carried.size());
  for (size_t i = 0; i < carried.size(); ++i) {
    locals[i].init = freeze(carried[i]);
    locals[i].unused = body->inputs()[i + 1]->uses().empty();
  }
  const auto first_value = static_cast<int>(recorder_.program().values.size());
  std::vector<std::pair<std::shared_ptr<Cell>, Slot>> cells;
  Frozen go_on;
  std::unique_ptr<program::Block> block;
  program::Args returns;
  const std::vector<std::optional<Iterated>> later = later_iterations(loop, f, runs);
  Worlds::Set from_start = ~Worlds::Set{0};  // worlds that enter at the first iteration
  for (size_t w = 0; w < later.size(); ++w)
    if (later[w]) from_start &= ~Worlds::only(w);
  const auto before = noted();

  // Iterate until no slot has to be wider: then the recorded body holds for every iteration. Until
  // then a world that enters later may meet a state that never was: it is not really there.
  for (bool changed = true; changed;) {
    changed = false;
    take_back(before);
    block = std::make_unique<program::Block>();
    returns.clear();
    try {
      in_scope(block.get(), [&] {
        worlds_.within(worlds_.active(), worlds_.real() & runs & from_start, [&] {
          Sym index = Sym::of(first);
          index.taint = Taint::Data;
          index.c = PerWorld::sized(later.size());
          for (size_t w = 0; w < later.size(); ++w) index.c.set(w, later[w] ? later[w]->done : 0);
          index.recorded = recorder_.program().new_value(program::Type::integer(), "i");
          block->params.push_back(index.recorded);
          if (first > 0) index = apply1("aten::add.int", {index, Sym::of(first)});
          const Sym round = apply1("aten::eq.int", {index, Sym::of(first)});
          std::vector<Sym> params = {index};
          std::vector<Slot*> slots;
          for (size_t i = 0; i < locals.size(); ++i) {
            std::vector<const Frozen*> found;
            for (const auto& l : later) found.push_back(l ? &l->locals[i] : nullptr);
            params.push_back(locals[i].enter(*this, block.get(), round, found));
            slots.push_back(&locals[i]);
          }
          for (auto& [cell, slot] : cells)
            if (slot.kind != Slot::Kind::Same) {
              std::vector<const Frozen*> found;
              for (const auto& l : later) found.push_back(l ? l->content(cell.get()) : nullptr);
              set_cell(*cell, slot.enter(*this, block.get(), round, found));
              slots.push_back(&slot);
            }
          tie_wandering(slots);
          std::vector<Sym> results = run_block(body, params, f);
          std::vector<Frozen> ends;
          for (const Sym& s : results) ends.push_back(freeze(s));
          for (size_t i = 0; i < locals.size(); ++i)
            ends[i + 1] = locals[i].conform(*this, ends[i + 1]);
          std::vector<std::pair<std::shared_ptr<Cell>, Frozen>> contents;
          for (const auto& c : heap_.changed_cells()) contents.emplace_back(c, freeze_cell(*c));

          std::vector<std::pair<Slot*, const Frozen*>> noted;
          for (size_t i = 0; i < locals.size(); ++i) noted.emplace_back(&locals[i], &ends[i + 1]);
          for (auto& [cell, slot] : cells)
            for (const auto& [c, content] : contents)
              if (c == cell) noted.emplace_back(&slot, &content);
          changed |= note_ends(noted, first_value);
          go_on = ends[0];
          returns.push_back(to_arg(ends[0].sym));
          for (size_t i = 0; i < locals.size(); ++i) {
            changed |= locals[i].widen(*this, ends[i + 1]);
            if (!changed) locals[i].returned(*this, ends[i + 1], returns);
          }
          for (auto& [cell, content] : contents) {
            auto known = std::find_if(cells.begin(), cells.end(),
                                      [&](const auto& e) { return e.first == cell; });
            if (known == cells.end()) {
              Slot slot;
              slot.content = true;
              slot.init.content_only = true;
              slot.init.sym.kind = Sym::Kind::Uninitialized;  // read below, outside this scope
              cells.emplace_back(cell, slot);
              changed = true;
            }
          }
          if (!changed)
            for (auto& [cell, slot] : cells)
              for (auto& [c, content] : contents)
                if (c == cell) {
                  content = slot.conform(*this, content);
                  changed |= slot.widen(*this, content);
                  if (!changed) slot.returned(*this, content, returns);
                }
        });
      });
    } catch (const Unreachable& u) {
      refuse("OE4056", "the body of a loop could be run with no example: " + u.message,
             "give an example for which the loop runs at least once");
    }
    for (auto& [cell, slot] : cells)
      if (slot.kind == Slot::Kind::Same && slot.init.sym.is(K::Uninitialized))
        slot.init = freeze_cell(*cell);
    for (Slot& slot : locals) slot.settle(*this);
    for (auto& [cell, slot] : cells) slot.settle(*this);
  }
  block->returns = std::move(returns);

  Sym none = apply1("aten::le.int", {trip, Sym::of(int64_t{0})});
  if (cond.taint != Taint::Constant || !cond.c.at(0).toBool())
    none = apply1("aten::__or__.bool", {none, apply1("aten::__not__", {cond})});

  // The values after the loop: every world runs it to its end.
  std::vector<std::optional<Iterated>> ends(worlds_.count());
  worlds_.each(
      [&](size_t w) { ends[w] = iterate(loop, f, w, std::numeric_limits<int64_t>::max()); });

  program::Args args = {to_arg(trip), to_arg(cond)};
  for (const Slot& s : locals) s.initial(*this, args);
  for (const auto& [cell, s] : cells) s.initial(*this, args);
  program::Node* node = recorder_.record("prim::Loop", std::move(args), here());
  node->blocks.push_back(std::move(block));
  std::vector<Sym> results;
  std::vector<Slot*> slots;
  for (size_t i = 0; i < locals.size(); ++i) {
    slots.push_back(&locals[i]);
    std::vector<const Frozen*> finals;
    for (const auto& end : ends) finals.push_back(end ? &end->locals[i] : nullptr);
    results.push_back(locals[i].leave(*this, node, finals, none));
  }
  for (auto& [cell, slot] : cells) {
    if (slot.kind == Slot::Kind::Same) continue;
    std::vector<const Frozen*> finals;
    for (const auto& end : ends) {
      const Frozen* found = end ? end->content(cell.get()) : nullptr;
      finals.push_back(found ? found : &slot.init);  // no iteration: as it was
    }
    set_cell(*cell, slot.leave(*this, node, finals, none));
    slots.push_back(&slot);
  }
  tie_wandering(slots);
  set(n, f, std::move(results));
}

}  // namespace oe::capture
