// Abstract values as they were at one moment: what branches and bodies of loops leave behind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

// A value with everything it refers to, read at one moment: what is left of it after its scope.
struct Snapshot {
  AbstractValue sym;                // identity
  TensorValuePtr tensor;            // content of a tensor
  std::vector<Snapshot> items;      // of a tuple, list, dict (values) or object (attributes)
  std::vector<AbstractValue> keys;  // of a dict
  std::vector<std::string> names;   // of an object
  bool content_only = false;        // content of a cell: identity does not count
  bool open = false;                // an open list: `items` holds its content alone
  bool unordered = false;           // a dict: the order of its keys depends on the input
};

// The forms that an open list can have (contents.cpp).
enum class Form { None, Stack, Sequence, ViewList };
// What an open list's elements look like: an element, or a whole stack or sequence of them.
struct Sample {
  AbstractValue sym;
  bool stacked = false;
};

// What `is` compares of a tensor, list, dict or object; null for other values.
const void* identity(const AbstractValue& s);
// What a list, dict or object has its identity from; null for other values.
Cell* cell_of(const AbstractValue& s);
// The same, or the memory of a tensor or a sequence.
Cell* memory_of(const AbstractValue& s);
// Two arguments of view operators that are one number, or lists of the same.
bool same_argument(Executor& ex, const AbstractValue& a, const AbstractValue& b);
// Whether an argument, or those of all steps of a view, are constants or values with a smaller id.
bool known_before(const AbstractValue& argument, int first_value);
bool known_before(const TensorHandle& h, int first_value);
// Both look at the same memory in the same way.
bool same_place(Executor& ex, const TensorHandle& a, const TensorHandle& b);

// What the value is now.
Snapshot freeze(Executor& ex, const AbstractValue& s);
// The content of a cell.
Snapshot freeze_cell(Executor& ex, Cell& c);
void set_cell(Executor& ex, Cell& c, const AbstractValue& content);

// `m` is the tensor at `h` when the guard is `when` (aliases.cpp).
void may_be(Executor& ex, const AbstractValue& m, const AbstractValue& guard, bool when,
            const TensorHandle& h);

// Nothing tells the two apart, so nothing has to be carried.
bool identical(Executor& ex, const Snapshot& a, const Snapshot& b);

// None or a value, whichever `f` is.
Snapshot as_maybe(const Snapshot& f);

// Same kind, same length or form, same keys.
bool same_structure(Executor& ex, const Snapshot& a, const Snapshot& b);

// Whether a column of an open list's content is no stack.
bool has_sequence(const AbstractValue& content);
// The form that holds all of them; None when none does.
Form common_form(Executor& ex, const std::vector<Sample>& samples);

// Type of a tensor that is `a` or `b`: axes that differ become dynamic, ranks that differ unknown.
// Reports a difference in element type as a Failure through `refuse`.
TensorValuePtr join_types(Executor& ex, const TensorValue& a, const TensorValue& b, Taint taint);

// A value of the right type for a place where TorchScript left the variable unset.
program::Arg placeholder(Executor& ex, const Snapshot& like);

// Gives two dicts the same keys: what one of them lacks may be missing. False where their order or
// type does not allow that.
bool same_keys(Snapshot& a, Snapshot& b);

// Rebuilds a tuple, list, dict or object around other items.
AbstractValue rebuild(Executor& ex, const Snapshot& like, std::vector<AbstractValue> items);

// The value again, as it was when it was frozen.
AbstractValue thaw(Executor& ex, const Snapshot& f);
// Adds what the elements of a list look like.
void add_samples(Executor& ex, const Snapshot& list, std::vector<Sample>& out);
// The list in that form, made in the current block. Nothing where it has no elements and their
// sizes are not known here.
std::optional<Snapshot> opened(Executor& ex, const Snapshot& list, Form form, const Sample& sample);

// The argument for a frozen leaf, whose value was recorded in the block that has just ended.
program::Arg leaf_arg(Executor& ex, const Snapshot& f);
// A value that the program can hold as one.
bool leafy(const AbstractValue& s);
bool container(const AbstractValue& s);
// "a tensor", "a list", ... in messages.
const char* describe(const AbstractValue& s);

}  // namespace oe::capture
