// Kept loops run to some iteration in one world: for the values after the loop, and for worlds that
// enter the body later than at its first iteration.
#include "lib/capture/iterations.h"

#include <algorithm>

namespace oe::capture {

namespace {

// While it lives, nothing is recorded.
struct Unrecorded {
  Recorder& recorder;
  explicit Unrecorded(Recorder& r) : recorder(r) { recorder.pause(); }
  ~Unrecorded() { recorder.resume(); }
};

}  // namespace

std::optional<Iterated> Executor::iterate(const Loop& loop, Frame& f, size_t w, int64_t most) {
  Iterated out;
  const Worlds::Alone alone(worlds_, w);
  const Unrecorded unrecorded(recorder_);
  const size_t depth = iterations_.size();
  try {
    in_scope(nullptr, [&] {
      worlds_.within(Worlds::only(w), worlds_.real() & Worlds::only(w), [&] {
        std::vector<Sym> now = loop.carried;
        Sym go = loop.cond;
        const int64_t count = to_ivalue(loop.trip, w).toInt();
        for (; out.done < std::min(count, most) && concrete_bool(go, w); ++out.done) {
          iterations_.emplace_back(loop.node, out.done);
          std::vector<Sym> params = {Sym::of(loop.first + out.done)};
          params.insert(params.end(), now.begin(), now.end());
          std::vector<Sym> results = run_block(loop.node->blocks()[0], params, f);
          go = results[0];
          now.assign(results.begin() + 1, results.end());
          iterations_.pop_back();
        }
        out.ended = out.done >= count || !concrete_bool(go, w);
        for (const Sym& s : now) out.locals.push_back(freeze(s));
        for (const auto& c : heap_.changed_cells()) out.cells.emplace_back(c, freeze_cell(*c));
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

std::vector<std::optional<Iterated>> Executor::later_iterations(const Loop& loop, Frame& f,
                                                                Worlds::Set runs) {
  std::vector<std::optional<Iterated>> out(worlds_.count());
  worlds_.each([&](size_t w) {
    const auto found = entries_[w].at.find(loop.node);
    const int64_t wanted = found == entries_[w].at.end() ? entries_[w].otherwise : found->second;
    if (wanted == 0 || !Worlds::contains(runs, w)) return;
    out[w] = iterate(loop, f, w, wanted);
    // A loop that is over by then: its last iteration.
    if (out[w] && out[w]->ended) out[w] = iterate(loop, f, w, out[w]->done - 1);
  });
  return out;
}

void Executor::note_missed(const JitNode* n, size_t branch, const std::string& why) {
  const size_t w = *worlds_.alone();
  Iterations where = entries_[w];
  for (const auto& [loop, i] : iterations_) where.at[loop] = i;
  missed_.push_back(
      {{n, branch},
       w,
       std::move(where),
       Failure(ExitCode::Unsupported, "OE4059",
               "a branch that the first iteration cannot run is taken in a later one: " + why,
               "make the branch run for the values of every iteration", here())});
}

std::vector<Missed> Executor::missed_branches() const {
  std::vector<Missed> out;
  for (const Missed& m : missed_) {
    const bool known =
        std::ranges::any_of(out, [&](const Missed& o) { return o.branch == m.branch; });
    if (dropped_.contains(m.branch) && !known) out.push_back(m);
  }
  return out;
}

const Frozen* Iterated::content(const Cell* c) const {
  for (const auto& [cell, frozen] : cells)
    if (cell.get() == c) return &frozen;
  return nullptr;
}

}  // namespace oe::capture
