// What has identity and state in a run: cells, the scopes that take changes back, and which cells
// may be one and the same.
#pragma once

#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/capture/values/abstract_value.h"
#include "lib/capture/values/site.h"

namespace oe::capture {

// Cells with a smaller serial, values with a smaller id: those that were there before some moment.
struct Older {
  uint64_t serial = UINT64_MAX;
  int value = INT32_MAX;
};

class Heap {
 public:
  explicit Heap(const Site& site) : site_(site) {}
  Heap(const Heap&) = delete;

  // --- cells
  // A new one, younger than all that were made before it.
  template <class C>
  std::shared_ptr<C> make() {
    auto cell = std::make_shared<C>();
    cell->serial = next_serial_++;
    cell->made = site_.here();
    return cell;
  }
  // The same place in memory, with an identity of its own.
  std::shared_ptr<TensorHandle> copy(const TensorHandle& h);
  // The same without what was read on the way, which may not be visible later.
  std::shared_ptr<TensorHandle> bare_place(const TensorHandle& h);
  // Cells that are made from now on have at least this serial.
  uint64_t now() const { return next_serial_; }

  // --- changes
  // Before a cell changes: the scope keeps what it was.
  void touch(Cell& c);
  // The same for a change that the model makes; refused where the cell may be another one too.
  void change(Cell& c);
  // Whether the model has changed one of its own lists or dicts, be it to what it was.
  bool changed(const Cell& c) const { return changed_.contains(&c); }
  void check_write(const Cell& c) const;
  // Another content for all that looks at the storage; it is never mistaken for an earlier one.
  void set_base(StorageCell& s, TensorValuePtr v);

  // --- scopes, one inside the other
  // `first_value`: id of the first value that is recorded inside.
  void open_scope(int first_value);
  // Takes every change back that was made since the scope was opened.
  void close_scope();
  // The cells that the scope found and changed, in order.
  std::vector<std::shared_ptr<Cell>> changed_cells() const;
  // Whether the innermost scope found the cell; none is found outside of all.
  bool found(const Cell& c) const { return !scopes_.empty() && c.serial < scopes_.back().start; }
  // What is older than the innermost scope.
  Older older() const { return {scopes_.back().start, scopes_.back().first_value}; }

  // --- cells that may be one another
  // From now on either may be the other.
  static void entangle(Cell& a, Cell& b);
  // `holder` may be `held`, or anything that this may be.
  static void share(Cell& holder, Cell& held);
  // `made` is what `a` says under its condition, until the scope ends.
  void may_be(const std::shared_ptr<StorageCell>& made, Alternative a);

 private:
  struct Scope {
    uint64_t start = 0;   // serial of the first cell made inside
    int first_value = 0;  // id of the first value recorded inside
    std::vector<std::pair<std::shared_ptr<Cell>, std::shared_ptr<Cell>>> saved;  // live, content
    std::unordered_set<const Cell*> touched;
    // Storages that something made inside may be, with what was made.
    std::vector<std::pair<std::shared_ptr<StorageCell>, std::weak_ptr<StorageCell>>> related;
  };

  const Site& site_;
  uint64_t next_serial_ = 1, next_version_ = 1;
  std::vector<Scope> scopes_;
  std::unordered_set<const Cell*> changed_;  // of serial 0, which live as long as the run
};

// The cell, what it may be by a condition, and what those may be.
std::vector<std::shared_ptr<Cell>> near(Cell& c);

}  // namespace oe::capture
