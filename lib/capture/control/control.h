// If and Loop: whether they are kept in the program, or taken as they are.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/capture/script/interpreter.h"
#include "lib/capture/values/abstract_value.h"
#include "lib/capture/values/worlds.h"

namespace oe::capture {

class Executor;
struct Plan;
struct Iterated;

// Gives a variable back the value that it has now.
template <class T>
struct Restore {
  T& variable;
  T before = variable;
  ~Restore() { variable = before; }
};
template <class T>
Restore(T&) -> Restore<T>;

class Control {
 public:
  Control(Executor& ex, const Plan& plan) : ex_(ex), plan_(plan) {}

  // Whether the If has to be kept; else `taken` is the branch to take.
  bool must_keep(const AbstractValue& cond, size_t& taken);
  // The branches of `n`, each followed by the nodes after it when `tail` is set, as an If. Results
  // are the node's outputs, or the block's. Nothing when the branches' values cannot be joined.
  std::optional<std::vector<AbstractValue>> kept_if(JitNode* n, Frame& f, const AbstractValue& cond,
                                                    bool tail);
  // Two ways to go on as an If: run(0) where `cond` is true, run(1) where it is not. `permissive`:
  // values that differ in kind or length become a Maybe or an open list; else nothing is given
  // back.
  std::optional<std::vector<AbstractValue>> kept_branches(
      const AbstractValue& cond, const std::function<std::vector<AbstractValue>(size_t)>& run,
      std::array<bool, 2> raises, bool permissive);
  void run_loop(JitNode* n, Frame& f);
  // Whether a loop was kept that could have been unrolled.
  bool kept_by_choice() const { return kept_by_choice_; }

  // What a condition is here, if that is known.
  std::optional<bool> known_condition(const AbstractValue& flag);
  // Does `f` where the guard is `when`, in the program too.
  void conditionally(const AbstractValue& guard, bool when, const std::function<void()>& f);
  // Runs `f` with its own scope, recording into `block` (null: where it recorded before).
  void in_scope(program::Block* block, const std::function<void()>& f);
  // The branch of the If, dropped when it was recorded, is taken by the world that runs alone.
  void note_if_missed(const JitNode* n, size_t branch);

 private:
  // A loop as it stands: its first `first` iterations were unrolled.
  struct Loop {
    JitNode* node;
    int64_t first;
    AbstractValue trip, cond;
    std::vector<AbstractValue> carried;
  };

  // The condition, and what it is the opposite of, are known from here on (until `guards_` is given
  // back what it held).
  void hold(const AbstractValue& cond, bool holds);

  // --- kept_if.cpp
  struct KeptBranches;
  std::vector<AbstractValue> run_branch(JitNode* n, size_t k, const Frame& f,
                                        const AbstractValue& cond, bool tail);

  // --- kept_loop.cpp
  struct KeptLoop;
  void kept_loop(Loop loop, Frame& f);
  bool kept_instead(const Loop& loop, Frame& f);
  // The number of iterations where it is a constant that is no larger than `most`.
  std::optional<int64_t> known_iterations(const Loop& loop, Frame& f, int64_t most);
  bool records(const Loop& loop, Frame& f);
  bool steps_over_size(const JitNode* loop) const;

  // --- iterations.cpp
  // World w runs at most `most` iterations, unrecorded; nothing when LibTorch refuses one.
  std::optional<Iterated> iterate(const Loop& loop, Frame& f, size_t w, int64_t most);
  // What the worlds that enter the loop later have there.
  std::vector<std::optional<Iterated>> later_iterations(const Loop& loop, Frame& f,
                                                        Worlds::Set runs);

  Executor& ex_;
  const Plan& plan_;
  int64_t copies_ = 1;  // of the running node, by the loops around it that are unrolled
  bool kept_by_choice_ = false;
  int tails_ = 0;  // kept Ifs around the running node that hold what follows them too
  std::vector<std::pair<const program::Value*, bool>> guards_;  // conditions known to hold
  // How often the running kept loops hold the lists and dicts that only they know.
  std::unordered_map<const Cell*, long> held_by_loops_;
  // Of loops that run unrecorded, outermost first.
  std::vector<std::pair<const JitNode*, int64_t>> iterations_;
};

}  // namespace oe::capture
