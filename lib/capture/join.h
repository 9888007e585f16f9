// Values of two branches, or of a loop's start and end, made one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/capture/executor.h"

namespace oe::capture {

// The tensor in the first world that has it.
const at::Tensor& example(const TensorValue& t);

// A value with everything it refers to, read at one moment: what is left of it after its scope.
struct Frozen {
  Sym sym;                         // identity
  TensorValuePtr tensor;           // content of a tensor
  std::vector<Frozen> items;       // of a tuple, list, dict (values) or object (attributes)
  std::vector<Sym> keys;           // of a dict
  std::vector<std::string> names;  // of an object
  bool content_only = false;       // content of a cell: identity does not count
  bool open = false;               // an open list: `items` holds its content alone
  bool unordered = false;          // a dict: the order of its keys depends on the input
};

// The two forms that an open list can have (see open_lists.cpp).
enum class Form { None, Stack, Sequence };
// What an open list's elements look like: an element, or a whole stack or sequence of them.
struct Sample {
  Sym sym;
  bool stacked = false;
};

// A copy of where `h` looks, without what was read on the way, which may not be visible later.
std::shared_ptr<TensorHandle> bare_place(const TensorHandle& h);
// The cell, what it may be by a condition, and what those may be.
std::vector<std::shared_ptr<Cell>> near(Cell& c);
// What a list, dict or object has its identity from; null for other values.
Cell* cell_of(const Sym& s);
// The same, or the memory of a tensor or a sequence.
Cell* memory_of(const Sym& s);
// The type of a list of known length, or of an object, that can be an element of an open list
// column by column; null for other values.
c10::TypePtr columns_of(const Sym& s);
// Of an open list's content: the memory of its first column, which stands for its elements.
Cell* first_memory(const Sym& content);
// Both look at the same memory in the same way.
bool same_place(Executor& ex, const TensorHandle& a, const TensorHandle& b);

// Nothing tells the two apart, so nothing has to be carried.
bool identical(Executor& ex, const Frozen& a, const Frozen& b);

// None or a value, whichever `f` is.
Frozen as_maybe(const Frozen& f);

// Same kind, same length or form, same keys.
bool same_structure(Executor& ex, const Frozen& a, const Frozen& b);

// The form that holds all of them; None when none does.
Form common_form(Executor& ex, const std::vector<Sample>& samples);

// Type of a tensor that is `a` or `b`: axes that differ become dynamic, ranks that differ unknown.
// Reports a difference in element type as a Failure through `refuse`.
TensorValuePtr join_types(Executor& ex, const TensorValue& a, const TensorValue& b, Taint taint);

// A value of the right type for a place where TorchScript left the variable unset.
program::Arg placeholder(Executor& ex, const Frozen& like);

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
  // Gives two dicts the same keys: what one of them lacks may be missing. False where their order
  // or type does not allow that.
  static bool same_keys(Executor& ex, Frozen& a, Frozen& b);
  // Records what `f` does at the end of a branch.
  void inside(size_t branch, const std::function<void()>& f);

 private:
  Sym leaf(const Frozen& a, const Frozen& b);
  Sym sequence_leaf(const Frozen& a, const Frozen& b);
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

// One piece of a loop's state: unchanged, carried, or a container with carried pieces.
struct Slot {
  enum class Kind { Same, Leaf, Items };
  Kind kind = Kind::Same;
  Frozen init;
  TensorValuePtr type;  // of a carried tensor: taint, axes, ranked; its example is init's
  Sym::Kind number = Sym::Kind::Int;   // of a carried number
  std::set<int> own_axes;              // ids of axes that differ between iterations
  std::vector<Slot> items;             // of Items
  std::optional<TensorValue> element;  // of a carried sequence
  Form reopen = Form::None;  // a list whose length changes: the form it takes, at settle()
  Sample sample;
  bool content = false;  // of a cell, which stays the one it is
  // What a carried tensor, list, dict or object is besides what the iteration before made
  // (aliases.cpp).
  Sym self;                             // inside the body, then after the loop
  bool unused = false;                  // the body does not look at it
  std::shared_ptr<TensorHandle> place;  // from the second iteration on: this tensor from outside
  std::vector<std::shared_ptr<Cell>> outer;  // perhaps one of these, or some view of it
  bool wanders = false;                      // perhaps another carried one, or itself

  // Gives the value at the end of the body the form that this slot has found for it.
  Frozen conform(Executor& ex, const Frozen& end) const;
  // Takes the value at the end of the body into account; true when the slot had to become wider.
  bool widen(Executor& ex, const Frozen& end);
  // Gives what is carried its form before the loop, outside of the body.
  void settle(Executor& ex);
  // The value at the start of an iteration; carried leaves become block parameters.
  // `first` tells the first iteration; `later[w]` is what world w has if it enters at a later one.
  Sym enter(Executor& ex, program::Block* body, const Sym& first,
            const std::vector<const Frozen*>& later);
  void initial(Executor& ex, program::Args& args) const;
  void returned(Executor& ex, const Frozen& end, program::Args& returns) const;
  // The value after the loop: carried leaves become outputs of `node`; `finals[w]` is what world w
  // ended with (null where it did not run). `none` tells whether the loop ran no iteration.
  Sym leave(Executor& ex, program::Node* node, const std::vector<const Frozen*>& finals,
            const Sym& none);

 private:
  bool widen_tensor(Executor& ex, const TensorValue& end);
  bool widen_list(Executor& ex, const Frozen& end);
  // Ties the value of an iteration, or after the loop, to what else it may be.
  void relate(Sym now);
  program::Arg unset_arg(Executor& ex) const;
  std::vector<const Frozen*> nth(const std::vector<const Frozen*>& finals, size_t i) const;
  std::vector<const Frozen*> in_form_of_loop(Executor& ex, const std::vector<const Frozen*>& found,
                                             std::vector<Frozen>& made) const;
};

// Rebuilds a tuple, list, dict or object around other items.
Sym rebuild(Executor& ex, const Frozen& like, std::vector<Sym> items);

}  // namespace oe::capture
