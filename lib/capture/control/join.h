// Values of two branches made one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/capture/values/frozen.h"

namespace oe::capture {

// Merges the results of a kept If. Leaves that differ become outputs of `node`.
struct Joiner {
  Executor& ex;
  program::Node* node;
  const Sym& cond;
  std::vector<int> branch;  // per world: 0, 1, or -1 where unknown
  uint64_t scope_start;     // serial of the first cell made inside the branches
  // Values that differ in kind or length become a Maybe or an open list; else that is a failure.
  bool permissive = false;
  int first_value = 0;  // id of the first value recorded inside the branches

  struct Merged {
    const TensorHandle *a, *b;
    Sym value;
  };
  std::vector<Merged> merged = {};  // tensors, by what they are in the branches
  using Conditions = std::vector<std::pair<Sym, bool>>;  // each with the value it has to have
  struct Seen {
    Sym value;                            // is made of
    std::shared_ptr<TensorHandle> place;  // this, made inside the branch
    Conditions conditions;                // when these hold in it
  };
  std::vector<Seen> seen[2] = {};  // per branch
  // The same for all memory, and for lists, dicts and objects: what is made of what.
  std::vector<std::pair<std::shared_ptr<Cell>, std::shared_ptr<Cell>>> held[2] = {};
  struct MergedCells {
    std::shared_ptr<Cell> a, b;
    Sym value;
  };
  std::vector<MergedCells> merged_cells = {};

  Sym merge(const Frozen& a, const Frozen& b);
  // Records what `f` does at the end of a branch.
  void inside(size_t branch, const std::function<void()>& f);

 private:
  Sym merge_unset(const Frozen& a, const Frozen& b);
  Sym merge_containers(const Frozen& a, const Frozen& b);
  Sym merge_shapes(const Frozen& a, const Frozen& b);
  Sym leaf(const Frozen& a, const Frozen& b);
  Sym sequence_leaf(const Frozen& a, const Frozen& b);
  void read_inside(size_t k, const std::function<void()>& f);
  bool open_lists(Frozen& a, Frozen& b);
  PerWorld pick(const PerWorld& a, const PerWorld& b) const;

  // --- aliases.cpp
  std::optional<Sym> exported(size_t k, const Sym& number);
  std::shared_ptr<TensorHandle> exported_place(size_t k, const TensorHandle& h,
                                               const TensorHandle* root);
  std::optional<std::pair<Sym, bool>> guard_of(size_t k, const Conditions& inner);
  void relate(const Sym& m, size_t k, const TensorHandle& h, const Conditions& inner = {});
  void relate_held(StorageCell& mine, size_t k, StorageCell& inner);
};

}  // namespace oe::capture
