// Values of two branches made one.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/capture/gradients/gradient.h"
#include "lib/capture/values/snapshot.h"

namespace oe::capture {

// Merges the results of a kept If. Leaves that differ become outputs of `node`.
struct Joiner {
  Executor& ex;
  program::Node* node;
  const AbstractValue& cond;
  std::vector<int> branch;  // per world: 0, 1, or -1 where unknown
  uint64_t scope_start;     // serial of the first cell made inside the branches
  // Values that differ in kind or length become a Maybe or an open list; else that is a failure.
  bool permissive = false;
  int first_value = 0;                       // id of the first value recorded inside the branches
  std::vector<KeptIf::Output> outputs = {};  // of `node`
  std::array<GradientLog, 2> logs = {};      // what the branches did

  struct Merged {
    const TensorHandle *a, *b;
    AbstractValue value;
  };
  std::vector<Merged> merged = {};  // tensors, by what they are in the branches
  using Conditions =
      std::vector<std::pair<AbstractValue, bool>>;  // each with the value it has to have
  struct Seen {
    AbstractValue value;                  // is made of
    std::shared_ptr<TensorHandle> place;  // this, made inside the branch
    Conditions conditions;                // when these hold in it
  };
  std::vector<Seen> seen[2] = {};  // per branch
  // The same for all memory, and for lists, dicts and objects: what is made of what.
  std::vector<std::pair<std::shared_ptr<Cell>, std::shared_ptr<Cell>>> held[2] = {};
  struct MergedCells {
    std::shared_ptr<Cell> a, b;
    AbstractValue value;
  };
  std::vector<MergedCells> merged_cells = {};

  AbstractValue merge(const Snapshot& a, const Snapshot& b);
  // Records what `f` does at the end of a branch.
  void inside(size_t branch, const std::function<void()>& f);

 private:
  AbstractValue merge_unset(const Snapshot& a, const Snapshot& b);
  AbstractValue merge_containers(const Snapshot& a, const Snapshot& b);
  AbstractValue merge_shapes(const Snapshot& a, const Snapshot& b);
  AbstractValue leaf(const Snapshot& a, const Snapshot& b);
  AbstractValue sequence_leaf(const Snapshot& a, const Snapshot& b);
  void read_inside(size_t k, const std::function<void()>& f);
  bool open_lists(Snapshot& a, Snapshot& b);
  PerWorld pick(const PerWorld& a, const PerWorld& b) const;

  // --- aliases.cpp
  std::optional<AbstractValue> exported(size_t k, const AbstractValue& number);
  std::shared_ptr<TensorHandle> exported_place(size_t k, const TensorHandle& h,
                                               const TensorHandle* root);
  std::optional<std::pair<AbstractValue, bool>> guard_of(size_t k, const Conditions& inner);
  void relate(const AbstractValue& m, size_t k, const TensorHandle& h,
              const Conditions& inner = {});
  void relate_held(StorageCell& mine, size_t k, StorageCell& inner);
};

}  // namespace oe::capture
