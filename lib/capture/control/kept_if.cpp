// A kept If: both branches are run, on state that is taken back, and what they leave is joined.
#include <algorithm>
#include <memory>

#include "lib/capture/control/join.h"
#include "lib/capture/executor.h"

namespace oe::capture {

// How often what follows an If may go into both of its branches, one inside the other.
constexpr int kTails = 3;

namespace {

bool ends_in_raise(const torch::jit::Block* b) {
  for (const torch::jit::Node* n : b->nodes())
    if (n->kind() == c10::prim::RaiseException) return true;
  return false;
}

}  // namespace

std::vector<AbstractValue> Control::run_branch(JitNode* n, size_t k, const Frame& f,
                                               const AbstractValue& cond, bool tail) {
  Frame inner = f;
  // Inside the branch the condition is known, whatever variable holds it.
  for (auto& [name, value] : inner.values) {
    if (value.is(K::Bool) && value.recorded && value.recorded == cond.recorded)
      value = AbstractValue::of(k == 0);
    if (value.is(K::Maybe) && cond.recorded && value.tuple().at(0).recorded == cond.recorded)
      value = k == 0 ? value.tuple().at(1) : AbstractValue::none();
  }
  const Restore tails{tails_};
  const Restore guards{guards_};
  hold(cond, k == 0);
  std::vector<AbstractValue> out = ex_.interpreter.run_block(n->blocks()[k], {}, inner);
  if (!tail) return out;
  inner.set(n, std::move(out));
  ++tails_;
  return ex_.interpreter.run_nodes(n->owningBlock(), n->next(), inner);
}

std::optional<std::vector<AbstractValue>> Control::kept_if(JitNode* n, Frame& f,
                                                           const AbstractValue& cond, bool tail) {
  return kept_branches(
      cond, [&](size_t k) { return run_branch(n, k, f, cond, tail); },
      {ends_in_raise(n->blocks()[0]), ends_in_raise(n->blocks()[1])}, tail);
}

// Two ways to go on, of which the condition chooses one.
struct Control::KeptBranches {
  Executor& ex;
  const AbstractValue& cond;
  const std::function<std::vector<AbstractValue>(size_t)>& run;
  const std::array<bool, 2> raises;
  const bool permissive;

  // What a branch left behind.
  struct Outcome {
    std::unique_ptr<program::Block> block = std::make_unique<program::Block>();
    std::vector<Snapshot> results;
    std::vector<std::pair<std::shared_ptr<Cell>, Snapshot>> changed;
    GradientLog log{};
    std::string failure;  // why it could not be run in any world; empty when it was
    bool raised = false;

    const Snapshot* content(const Cell* c) const {
      for (const auto& [cell, frozen] : changed)
        if (cell.get() == c) return &frozen;
      return nullptr;
    }
  };

  using Contents = std::vector<std::pair<std::shared_ptr<Cell>, AbstractValue>>;

  const uint64_t start = ex.heap.now();
  const int first_value = static_cast<int>(ex.recorder.program().values.size());
  const JitNode* running = ex.site.node();
  std::vector<int> branch = std::vector<int>(ex.worlds.count(), -1);  // of each world
  Worlds::Set taken[2] = {0, 0};                                      // by whom
  Outcome out[2] = {};

  void divide_worlds() {
    ex.worlds.each([&](size_t w) {
      if (!cond.c.has(w)) return;
      branch[w] = ex.apply.truth(cond, w) ? 0 : 1;
      taken[branch[w]] |= Worlds::only(w);
    });
  }

  void run_branch(size_t k) {
    if (!(ex.worlds.real() & taken[k]) && raises[k]) {
      out[k].raised = true;
      out[k].failure = "it raises";
      return;
    }
    const Gradient::Inside inside(ex.gradient);
    try {
      ex.control.in_scope(out[k].block.get(), [&] {
        ex.worlds.within(ex.worlds.active(), ex.worlds.real() & taken[k], [&] {
          for (const AbstractValue& s : run(k)) out[k].results.push_back(freeze(ex, s));
          for (const auto& c : ex.heap.changed_cells())
            out[k].changed.emplace_back(c, freeze_cell(ex, *c));
        });
      });
      out[k].log = inside.log();
    } catch (const Raised& r) {
      const Worlds::Set met = ex.worlds.real() & taken[k];
      if (Worlds::contains(met, 0)) throw;
      ex.worlds.each([&](size_t w) {
        if (Worlds::contains(met, w)) ex.apply.fail(w, "the model raises: " + r.message);
      });
      out[k].raised = true;
      out[k].failure = "it raises: " + r.message;
    } catch (const Unreachable& u) {
      out[k].failure = "no example could run it: " + u.message;
    }
  }

  // The branch that could be run where the other could not; nothing where both could.
  std::optional<size_t> only_one() const {
    if (!out[0].failure.empty() && !out[1].failure.empty()) {
      if (out[0].raised && out[1].raised) throw Raised{out[0].failure};
      throw Unreachable{out[0].failure + "; " + out[1].failure};
    }
    for (size_t k = 0; k < 2; ++k)
      if (!out[k].failure.empty()) return 1 - k;
    return std::nullopt;
  }

  std::vector<AbstractValue> go_on_with(size_t k) {
    const Outcome& dropped = out[1 - k];
    ex.assumed.say(std::string("the condition is assumed to be ") + (k == 0 ? "true" : "false") +
                   "; in the other branch " + dropped.failure);
    if (!dropped.raised) ex.assumed.drop({running, 1 - k}, dropped.failure);
    ex.control.hold(cond, k == 0);  // for what follows in this scope too
    return run(k);
  }

  // A cell that branch k left alone, with the tensors in it as branch k left them.
  Snapshot frozen_after(Joiner& joiner, size_t k, Cell& cell) {
    Snapshot f;
    joiner.inside(k, [&] {
      ex.control.in_scope(nullptr, [&] {
        for (const auto& [c, content] : out[k].changed)
          if (auto* storage = dynamic_cast<StorageCell*>(c.get()))
            ex.heap.set_base(*storage, content.tensor);
        f = freeze_cell(ex, cell);
      });
    });
    return f;
  }

  std::vector<AbstractValue> merged_results(Joiner& joiner) {
    std::vector<AbstractValue> results;
    for (size_t i = 0; i < out[0].results.size(); ++i) {
      const Site::About about(joiner.ex.site, i);
      results.push_back(joiner.merge(out[0].results[i], out[1].results[i]));
    }
    return results;
  }

  Contents merged_contents(Joiner& joiner) {
    Contents contents;
    for (size_t k = 0; k < 2; ++k)
      for (const auto& [cell, frozen] : out[k].changed) {
        if (k == 1 && out[0].content(cell.get())) continue;  // joined already
        const Snapshot* other = out[1 - k].content(cell.get());
        const Snapshot before = other ? *other : frozen_after(joiner, 1 - k, *cell);
        contents.emplace_back(cell,
                              k == 0 ? joiner.merge(frozen, before) : joiner.merge(before, frozen));
      }
    return contents;
  }

  std::optional<std::vector<AbstractValue>> joined() {
    auto owned = std::make_unique<program::Node>();
    program::Node* node = owned.get();
    node->op = "prim::If";
    node->args = {ex.apply.arg(cond)};
    node->origin = ex.site.here();
    for (Outcome& o : out) node->blocks.push_back(std::move(o.block));
    Joiner joiner{ex,         node, cond, branch, start, permissive || ex.control.tails_ >= kTails,
                  first_value};
    joiner.logs = {std::move(out[0].log), std::move(out[1].log)};
    std::vector<AbstractValue> results;
    Contents contents;
    try {
      results = merged_results(joiner);
      contents = merged_contents(joiner);
    } catch (const JoinFailure&) {
      if (joiner.permissive) throw;
      return std::nullopt;
    }
    ex.recorder.append(std::move(owned));
    const auto values = static_cast<int>(ex.recorder.program().values.size());
    ex.gradient.note_if(
        {cond, std::move(joiner.logs), std::move(joiner.outputs), first_value, values});
    for (const auto& [cell, content] : contents) set_cell(ex, *cell, content);
    return results;
  }
};

std::optional<std::vector<AbstractValue>> Control::kept_branches(
    const AbstractValue& cond, const std::function<std::vector<AbstractValue>(size_t)>& run,
    std::array<bool, 2> raises, bool permissive) {
  KeptBranches branches{ex_, cond, run, raises, permissive};
  branches.divide_worlds();
  for (size_t k = 0; k < 2; ++k) branches.run_branch(k);
  if (const auto k = branches.only_one()) return branches.go_on_with(*k);
  return branches.joined();
}

}  // namespace oe::capture
