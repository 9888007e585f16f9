// The pieces of a kept loop's state.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/capture/gradients/gradient.h"
#include "lib/capture/values/snapshot.h"

namespace oe::capture {

// A tensor from outside that a carried one may be: whether it is, which is carried with it.
struct LoopSource {
  std::shared_ptr<TensorHandle> place;
  AbstractValue is, next;  // inside the body, then after the loop; and at the end of the body
};

// One piece of a loop's state: unchanged, carried, or a container with carried pieces.
struct LoopState {
  enum class Kind { Same, Leaf, Items };
  Kind kind = Kind::Same;
  Snapshot init;
  TensorValuePtr type;  // of a carried tensor: taint, axes, ranked; its example is init's
  AbstractValue::Kind number = AbstractValue::Kind::Int;  // of a carried number
  std::set<int> own_axes;              // ids of axes that differ between iterations
  std::vector<LoopState> items;        // of Items
  std::optional<TensorValue> element;  // of a carried sequence
  Form reopen = Form::None;  // a list whose length changes: the form it takes, at settle()
  Sample sample;
  AbstractValue places;  // of Form::ViewList
  bool content = false;  // of a cell, which stays the one it is
  // What a carried tensor, list, dict or object is besides what the iteration before made
  // (loop_aliases.cpp).
  AbstractValue
      self;  // inside the body, then after the loop; of a container `cell`, which may have gone
  std::weak_ptr<Cell> cell;
  bool owned = false;   // a container that has no other name: the slot never is what it was before
  bool unused = false;  // the body does not look at it
  bool owns = false;    // the stack of a list that is the memory of its elements in every iteration
  std::shared_ptr<TensorHandle> place;  // from the second iteration on: this tensor from outside
  // Where one of the two is not always it: what it may be, the tensor before the loop in front.
  std::vector<LoopSource> origins;
  std::vector<std::shared_ptr<Cell>> outer;  // perhaps one of these, or some view of it
  bool wanders = false;                      // perhaps another carried one, or itself
  LoopPiece piece;                           // of Leaf

  // The tensor, sequence or container that this is now; null where it has gone.
  Cell* now() const;
  // Gives the value at the end of the body the form that this slot has found for it.
  Snapshot conform(Executor& ex, const Snapshot& end) const;
  // Takes the value at the end of the body into account; true when the slot had to become wider.
  bool widen(Executor& ex, const Snapshot& end);
  // Gives what is carried its form before the loop, outside of the body.
  void settle(Executor& ex);
  // The value at the start of an iteration; carried leaves become block parameters.
  // `first` tells the first iteration; `later[w]` is what world w has if it enters at a later one.
  AbstractValue enter(Executor& ex, program::Block* body, const AbstractValue& first,
                      const std::vector<const Snapshot*>& later);
  void initial(Executor& ex, program::Args& args) const;
  void returned(Executor& ex, const Snapshot& end, program::Args& returns);
  // The tensors and numbers that are carried; false where there is something else.
  bool add_pieces(std::vector<LoopPiece>& out) const;
  // The value after the loop: carried leaves become outputs of `node`; `finals[w]` is what world w
  // ended with (null where it did not run). `none` tells whether the loop ran no iteration.
  AbstractValue leave(Executor& ex, program::Node* node, const std::vector<const Snapshot*>& finals,
                      const AbstractValue& none);

 private:
  // Gives each origin its flag; `found[w]` is what world w has there.
  void know_origins(Executor& ex, const std::vector<const Snapshot*>& found,
                    const std::function<program::Value*()>& value);
  bool is_before(const LoopSource& o) const;
  void widen_unset(Executor& ex, const Snapshot& end);
  void widen_optional(Executor& ex, const Snapshot& end);
  void hold_pieces();
  void widen_pieces(Executor& ex, const Snapshot& end);
  bool widen_same(Executor& ex, const Snapshot& end);
  bool widen_leaf(Executor& ex, const Snapshot& end);
  void carry_tensor(Executor& ex, const TensorValue& end);
  bool restructure(Executor& ex, const Snapshot& end);
  void check_kind(Executor& ex, const Snapshot& end) const;
  bool widen_tensor(Executor& ex, const TensorValue& end);
  bool widen_list(Executor& ex, const Snapshot& end);
  // Ties the value of an iteration, or after the loop, to what else it may be.
  void relate(const AbstractValue& now);
  program::Arg unset_arg(Executor& ex) const;
  std::vector<const Snapshot*> nth(const std::vector<const Snapshot*>& finals, size_t i) const;
  std::vector<const Snapshot*> in_form_of_loop(Executor& ex,
                                               const std::vector<const Snapshot*>& found,
                                               std::vector<Snapshot>& made) const;
};

// --- loop_aliases.cpp
// `m`, the slot's value in an iteration or after the loop, is what it was before where the guard
// holds. Where it has origins, their flags say what it is.
void relate_slot(Executor& ex, LoopState& s, const AbstractValue& m, const AbstractValue& guard);
// Values that may have changed places may all be one another.
void tie_wandering(const std::vector<LoopState*>& slots);
// What the ends of a loop's body are in the next iteration; true when that was not known yet.
bool note_ends(Executor& ex, const std::vector<std::pair<LoopState*, const Snapshot*>>& slots,
               int first_value);

}  // namespace oe::capture
