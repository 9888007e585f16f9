// Kept loops run to some iteration in one world: for the values after the loop, and for worlds that
// enter the body later than at its first iteration.
#include "lib/capture/control/iterations.h"

#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
std::optional<Iterated> Control::iterate(const Loop& loop, Frame& f, size_t w, int64_t most) {
  Iterated out;
  const Worlds::Alone alone(ex_.worlds, w);
  const Recorder::Paused unrecorded(ex_.recorder);
  const Gradient::Inside inside(ex_.gradient);
  const size_t depth = iterations_.size();
  // On made-up values a loop may go on for ever.
  constexpr int64_t kMostMadeUp = 100;
  if (plan_.made_up && !ex_.worlds.real(w)) most = std::min(most, kMostMadeUp);
  try {
    in_scope(nullptr, [&] {
      ex_.worlds.within(Worlds::only(w), ex_.worlds.real() & Worlds::only(w), [&] {
        std::vector<AbstractValue> now = loop.carried;
        AbstractValue go = loop.cond;
        const int64_t count = ex_.apply.value(loop.trip, w).toInt();
        for (; out.done < std::min(count, most) && ex_.apply.truth(go, w); ++out.done) {
          iterations_.emplace_back(loop.node, out.done);
          std::vector<AbstractValue> params = {AbstractValue::of(loop.first + out.done)};
          params.insert(params.end(), now.begin(), now.end());
          std::vector<AbstractValue> results =
              ex_.interpreter.run_block(loop.node->blocks()[0], params, f);
          go = results[0];
          now.assign(results.begin() + 1, results.end());
          iterations_.pop_back();
        }
        out.ended = out.done >= count || !ex_.apply.truth(go, w);
        for (const AbstractValue& s : now) out.locals.push_back(freeze(ex_, s));
        for (const auto& c : ex_.heap.changed_cells())
          out.cells.emplace_back(c, freeze_cell(ex_, *c));
      });
    });
  } catch (const Unreachable&) {
    iterations_.resize(depth);
    return std::nullopt;
  } catch (...) {
    iterations_.resize(depth);
    throw;
  }
  return out;
}

std::vector<std::optional<Iterated>> Control::later_iterations(const Loop& loop, Frame& f,
                                                               Worlds::Set runs) {
  std::vector<std::optional<Iterated>> out(ex_.worlds.count());
  ex_.worlds.each([&](size_t w) {
    const auto found = plan_.entries[w].at.find(loop.node);
    const int64_t wanted =
        found == plan_.entries[w].at.end() ? plan_.entries[w].otherwise : found->second;
    if (wanted == 0 || !Worlds::contains(runs, w)) return;
    out[w] = iterate(loop, f, w, wanted);
    // A loop that is over by then: its last iteration.
    if (out[w] && out[w]->ended) out[w] = iterate(loop, f, w, out[w]->done - 1);
  });
  return out;
}

void Control::note_if_missed(const JitNode* n, size_t branch) {
  if (!ex_.worlds.alone()) return;
  const std::string* why = ex_.assumed.dropped({n, branch});
  if (!why) return;
  const size_t w = *ex_.worlds.alone();
  Iterations where = plan_.entries[w];
  for (const auto& [loop, i] : iterations_) where.at[loop] = i;
  ex_.assumed.miss(
      {{n, branch},
       w,
       std::move(where),
       Failure(
           ExitCode::Unsupported, "OE4059",
           "a later iteration takes a branch that the first one cannot run: " + *why,
           "assign what the branch reads before the loop, so that the first iteration could run it",
           ex_.site.here())});
}

const Snapshot* Iterated::content(const Cell* c) const {
  for (const auto& [cell, frozen] : cells)
    if (cell.get() == c) return &frozen;
  return nullptr;
}

}  // namespace oe::capture
