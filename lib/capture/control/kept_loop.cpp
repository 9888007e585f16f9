// A kept Loop: its body is recorded once, with state that is widened until it holds for every
// iteration.
#include <algorithm>
#include <limits>
#include <memory>

#include "lib/capture/control/iterations.h"
#include "lib/capture/control/loop_state.h"
#include "lib/capture/executor.h"

namespace oe::capture {

struct Control::KeptLoop {
  Executor& ex;
  const Loop& loop;
  Frame& f;

  using Contents = std::vector<std::pair<std::shared_ptr<Cell>, Snapshot>>;

  JitBlock* body = loop.node->blocks()[0];
  Worlds::Set runs = 0;  // worlds with at least one iteration
  std::vector<LoopState> locals = {};
  std::vector<std::pair<std::shared_ptr<Cell>, LoopState>> cells = {};  // that the body changes
  int first_value = 0;                              // id of the first in the body
  std::vector<std::optional<Iterated>> later = {};  // worlds that enter at a later iteration
  Worlds::Set from_start = 0;                       // those that enter at the first one
  std::unique_ptr<program::Block> block = nullptr;
  program::Args returns = {};
  // For the gradient: what the body does, the ids of its values (its state is recorded before), and
  // what it starts and ends with.
  GradientLog log = {};
  int first_inside = 0, last_inside = 0;
  AbstractValue index = {}, next = {};

  void prepare() {
    ex.worlds.each([&](size_t w) {
      if (!loop.cond.c.has(w) || !loop.trip.c.has(w)) return;
      if (ex.apply.truth(loop.cond, w) && ex.apply.value(loop.trip, w).toInt() > 0)
        runs |= Worlds::only(w);
    });
    locals.resize(loop.carried.size());
    for (size_t i = 0; i < locals.size(); ++i) {
      locals[i].owned = has_no_other_name(i);
      locals[i].init = freeze(ex, loop.carried[i]);
      locals[i].unused = body->inputs()[i + 1]->uses().empty();
      if (locals[i].owned)
        ex.control.held_by_loops_[cell_of(loop.carried[i])] = holders(loop.carried[i]);
    }
    first_value = static_cast<int>(ex.recorder.program().values.size());
    later = ex.control.later_iterations(loop, f, runs);
    from_start = ~Worlds::Set{0};
    for (size_t w = 0; w < later.size(); ++w)
      if (later[w]) from_start &= ~Worlds::only(w);
  }

  // Who holds a list or dict; 0 of what is none.
  static long holders(const AbstractValue& s) {
    return s.is(K::List) ? s.list().use_count() : s.is(K::Dict) ? s.dict().use_count() : 0;
  }

  // Whether a list or dict is known to nobody but this loop and those around it: no variable has it
  // that does not die here.
  bool has_no_other_name(size_t i) const {
    const AbstractValue& mine = loop.carried[i];
    const JitValue* variable = loop.node->input(i + 2);
    const auto held = f.values.find(variable);
    const bool dies = held != f.values.end() && cell_of(held->second) == cell_of(mine) &&
                      std::ranges::count(ex.interpreter.dead_after(loop.node), variable) > 0;
    const auto around = ex.control.held_by_loops_.find(cell_of(mine));
    return holders(mine) ==
           1 + dies + (around == ex.control.held_by_loops_.end() ? 0 : around->second);
  }

  // Repeats the body until no slot has to be wider: then what is recorded holds for every
  // iteration. Until then a world that enters later may meet a state that never was: it is not
  // really there. False where the body runs neither with an example nor with made-up values.
  bool find_slots() {
    const auto before = ex.assumed.state();
    for (bool changed = true; changed;) {
      ex.assumed.take_back(before);
      block = std::make_unique<program::Block>();
      returns.clear();
      first_inside = static_cast<int>(ex.recorder.program().values.size());
      try {
        const Gradient::Inside inside(ex.gradient);
        ex.control.in_scope(block.get(), [&] {
          ex.worlds.within(ex.worlds.active(), ex.worlds.real() & runs & from_start,
                           [&] { changed = pass(); });
        });
        log = inside.log();
      } catch (const Unreachable& u) {
        if (ex.plan.made_up && !(ex.worlds.real() & runs)) {
          ex.assumed.take_back(before);
          ex.assumed.say(
              "the loop is assumed to run no iteration; no example could run its body: " +
              u.message);
          return false;
        }
        ex.site.refuse("OE4056", "no example runs the body of the loop: " + u.message,
                       "use an example for which the loop runs at least once", Need::MadeUpValues);
      }
      settle();
    }
    block->returns = std::move(returns);
    last_inside = static_cast<int>(ex.recorder.program().values.size());
    return true;
  }

  // The body once. True when a slot had to become wider, or a cell needs one.
  bool pass() {
    const std::vector<AbstractValue> results = ex.interpreter.run_block(body, enter(), f);
    std::vector<Snapshot> ends;
    for (const AbstractValue& s : results) ends.push_back(freeze(ex, s));
    for (size_t i = 0; i < locals.size(); ++i) ends[i + 1] = locals[i].conform(ex, ends[i + 1]);
    Contents contents;
    for (const auto& c : ex.heap.changed_cells()) contents.emplace_back(c, freeze_cell(ex, *c));

    bool changed = ends_are_new(ends, contents);
    next = ends[0].sym;
    returns.push_back(ex.apply.arg(ends[0].sym));
    for (size_t i = 0; i < locals.size(); ++i) {
      const Site::About about(ex.site, i);
      changed |= locals[i].widen(ex, ends[i + 1]);
      if (!changed) locals[i].returned(ex, ends[i + 1], returns);
    }
    changed |= add_cells(contents);
    return changed || widen_cells(contents);
  }

  // The state at the start of the body; what the body gets.
  std::vector<AbstractValue> enter() {
    const auto found = [&](const auto& of) {
      std::vector<const Snapshot*> out;
      for (const auto& l : later) out.push_back(l ? of(*l) : nullptr);
      return out;
    };
    const AbstractValue index = iteration();
    const AbstractValue round = ex.apply("aten::eq.int", {index, AbstractValue::of(loop.first)});
    std::vector<AbstractValue> params = {index};
    std::vector<LoopState*> slots;
    for (size_t i = 0; i < locals.size(); ++i) {
      params.push_back(locals[i].enter(ex, block.get(), round,
                                       found([&](const Iterated& l) { return &l.locals[i]; })));
      slots.push_back(&locals[i]);
    }
    for (auto& [cell, slot] : cells)
      if (slot.kind != LoopState::Kind::Same) {
        const Cell* c = cell.get();
        set_cell(ex, *cell, slot.enter(ex, block.get(), round, found([&](const Iterated& l) {
                                         return l.content(c);
                                       })));
        slots.push_back(&slot);
      }
    tie_wandering(slots);
    return params;
  }

  // The number of the iteration, counted from where the loop began.
  AbstractValue iteration() {
    index = AbstractValue::of(loop.first);
    index.taint = Taint::Data;
    index.c = PerWorld::sized(later.size());
    for (size_t w = 0; w < later.size(); ++w) index.c.set(w, later[w] ? later[w]->done : 0);
    index.recorded = ex.recorder.program().new_value(program::Type::integer(), "i");
    block->params.push_back(index.recorded);
    return loop.first > 0 ? ex.apply("aten::add.int", {index, AbstractValue::of(loop.first)})
                          : index;
  }

  bool ends_are_new(const std::vector<Snapshot>& ends, const Contents& contents) {
    std::vector<std::pair<LoopState*, const Snapshot*>> all;
    for (size_t i = 0; i < locals.size(); ++i) all.emplace_back(&locals[i], &ends[i + 1]);
    for (auto& [cell, slot] : cells)
      for (const auto& [c, content] : contents)
        if (c == cell) all.emplace_back(&slot, &content);
    return note_ends(ex, all, first_value);
  }

  // A slot for every cell that the body changes; true when one is new.
  bool add_cells(const Contents& contents) {
    bool added = false;
    for (const auto& [cell, content] : contents) {
      if (std::ranges::any_of(cells, [&](const auto& e) { return e.first == cell; })) continue;
      LoopState slot;
      slot.content = true;
      slot.init.content_only = true;
      slot.init.sym.kind = K::Uninitialized;  // read in settle(), outside of the body
      cells.emplace_back(cell, slot);
      added = true;
    }
    return added;
  }

  bool widen_cells(Contents& contents) {
    bool changed = false;
    for (auto& [cell, slot] : cells)
      for (auto& [c, content] : contents)
        if (c == cell) {
          content = slot.conform(ex, content);
          changed |= slot.widen(ex, content);
          if (!changed) slot.returned(ex, content, returns);
        }
    return changed;
  }

  // Gives what is carried its form, before the loop.
  void settle() {
    for (auto& [cell, slot] : cells)
      if (slot.kind == LoopState::Kind::Same && slot.init.sym.is(K::Uninitialized))
        slot.init = freeze_cell(ex, *cell);
    for (LoopState& slot : locals) slot.settle(ex);
    for (auto& [cell, slot] : cells) slot.settle(ex);
  }

  // Whether the loop runs no iteration.
  AbstractValue none() {
    AbstractValue none = ex.apply("aten::le.int", {loop.trip, AbstractValue::of(int64_t{0})});
    if (loop.cond.taint != Taint::Constant || !loop.cond.c.at(0).toBool())
      none = ex.apply("aten::__or__.bool", {none, ex.apply("aten::__not__", {loop.cond})});
    return none;
  }

  // Records the loop; the values after it are those of every world that runs it to its end.
  std::vector<AbstractValue> leave() {
    const AbstractValue none = this->none();
    std::vector<std::optional<Iterated>> ends(ex.worlds.count());
    ex.worlds.each([&](size_t w) {
      ends[w] = ex.control.iterate(loop, f, w, std::numeric_limits<int64_t>::max());
    });
    program::Args args = {ex.apply.arg(loop.trip), ex.apply.arg(loop.cond)};
    for (const LoopState& s : locals) s.initial(ex, args);
    for (const auto& [cell, s] : cells) s.initial(ex, args);
    program::Node* node = ex.recorder.record("prim::Loop", std::move(args), ex.site.here());
    node->blocks.push_back(std::move(block));
    std::vector<AbstractValue> results;
    std::vector<LoopState*> slots;
    for (size_t i = 0; i < locals.size(); ++i) {
      slots.push_back(&locals[i]);
      std::vector<const Snapshot*> finals;
      for (const auto& end : ends) finals.push_back(end ? &end->locals[i] : nullptr);
      results.push_back(locals[i].leave(ex, node, finals, none));
    }
    for (auto& [cell, slot] : cells) {
      if (slot.kind == LoopState::Kind::Same) continue;
      std::vector<const Snapshot*> finals;
      for (const auto& end : ends) {
        const Snapshot* found = end ? end->content(cell.get()) : nullptr;
        finals.push_back(found ? found : &slot.init);  // no iteration: as it was
      }
      set_cell(ex, *cell, slot.leave(ex, node, finals, none));
      slots.push_back(&slot);
    }
    tie_wandering(slots);
    note();
    return results;
  }

  void note() {
    capture::KeptLoop made{loop.trip, loop.cond,      index,        next,
                           {},        std::move(log), first_inside, last_inside};
    const auto add = [&](const LoopState& s) { return s.add_pieces(made.pieces); };
    if (std::ranges::all_of(locals, add) &&
        std::ranges::all_of(cells, [&](const auto& c) { return add(c.second); }))
      ex.gradient.note_loop(std::move(made));
  }
};

void Control::kept_loop(Loop loop, Frame& f) {
  const bool counted = loop.trip.taint != Taint::Constant ||
                       loop.trip.c.at(0).toInt() != std::numeric_limits<int64_t>::max();
  if (loop.first > 0 && counted)
    loop.trip = ex_.apply("aten::sub.int", {loop.trip, AbstractValue::of(loop.first)});
  const Restore held{held_by_loops_};
  KeptLoop kept{ex_, loop, f};
  kept.prepare();
  f.set(loop.node, kept.find_slots() ? kept.leave() : std::move(loop.carried));
}

}  // namespace oe::capture
