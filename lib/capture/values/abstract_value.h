// Abstract values of the symbolic executor: what is recorded, and one concrete value per world.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lib/program/program.h"
#include "lib/support/origin.h"

namespace oe::capture {

// What a value may change with. Constant: nothing (folded). Shape: the sizes of dynamic axes.
// Data: elements of inputs, and sizes born from data.
enum class Taint : uint8_t { Constant, Shape, Data };
inline Taint join(Taint a, Taint b) { return a > b ? a : b; }

// One concrete value per world; a constant is stored once for all of them. A world without a value
// (its run failed inside a branch it does not take) holds None.
class PerWorld {
 public:
  PerWorld() = default;
  static PerWorld constant(c10::IValue v) {
    PerWorld p;
    p.values_.push_back(std::move(v));
    p.shared_ = true;
    return p;
  }
  static PerWorld sized(size_t worlds) {
    PerWorld p;
    p.values_.resize(worlds);
    return p;
  }
  bool shared() const { return shared_; }
  bool has(size_t w) const { return shared_ || (w < values_.size() && !values_[w].isNone()); }
  const c10::IValue& at(size_t w) const { return shared_ ? values_[0] : values_.at(w); }
  // Whether no world has a value.
  bool empty() const {
    return !shared_ && std::ranges::all_of(values_, [](const auto& v) { return v.isNone(); });
  }
  // The value of the first world that has one.
  const c10::IValue& any() const {
    for (const c10::IValue& v : values_)
      if (shared_ || !v.isNone()) return v;
    throw std::out_of_range("a value that no world has");
  }
  void set(size_t w, c10::IValue v) { values_.at(w) = std::move(v); }

 private:
  std::vector<c10::IValue> values_;
  bool shared_ = false;
};

// One axis of a tensor. Two axes with the same non-zero id have the same size in every run, by
// construction and not because the worlds agree. id 0: static.
struct Axis {
  Taint taint = Taint::Constant;
  int id = 0;
  bool open = false;  // no rule says how it comes about: it may be an axis of an input as it is
  bool is_static() const { return taint == Taint::Constant; }
};

struct AbstractValue;
struct Quantizer;
struct RankChoice;
struct NumberChoice;

// The immutable content of a tensor at one moment.
struct TensorValue {
  Taint taint = Taint::Constant;       // of the elements
  bool ranked = true;                  // false: the rank is not the same in every run
  std::vector<Axis> axes;              // when ranked
  PerWorld c;                          // at::Tensor, never written to
  program::Value* recorded = nullptr;  // null for a constant that nothing recorded has used yet
  std::string name;                    // state_dict name of a parameter, or derived from it
  std::shared_ptr<const AbstractValue> number;  // set when this is NumToTensor(number)
  std::shared_ptr<const Quantizer> quantizer;   // of a quantized tensor that is no constant
  std::shared_ptr<const RankChoice> choice;  // of one that has no rank: the condition that has it
  std::shared_ptr<TensorValue> sizes_of;     // set when this is the sizes of one without a rank
};
using TensorValuePtr = std::shared_ptr<TensorValue>;
inline const at::Tensor& example(const TensorValue& t) { return t.c.any().toTensor(); }

// Equal at every size, not only at those that were run.
inline bool same_axes(const TensorValue& a, const TensorValue& b) {
  if (!a.ranked || !b.ranked || a.axes.size() != b.axes.size()) return false;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis &x = a.axes[i], &y = b.axes[i];
    if (x.is_static() != y.is_static() || (!x.is_static() && x.id != y.id)) return false;
  }
  return true;
}

// What the sizes may change with.
inline Taint axes_taint(const TensorValue& t) {
  Taint r = t.ranked ? Taint::Constant : Taint::Data;
  for (const Axis& a : t.axes) r = join(r, a.taint);
  return r;
}

// Anything with identity and state. Heap::touch() keeps the content a scope began with.
struct Cell : std::enable_shared_from_this<Cell> {
  // Order of creation (Heap::make): tells the cells a scope found from those it made.
  uint64_t serial = 0;
  OriginPtr made;  // the line that made it; null for what the model owns
  // Set when this may or may not be the other cell (a branch or an iteration chose): writing either
  // is refused while both are in use.
  std::vector<std::weak_ptr<Cell>> entangled;
  virtual ~Cell() = default;
  virtual std::shared_ptr<Cell> copy() const = 0;
  virtual void restore(const Cell& saved) = 0;
  // What a cell may be is no content: taking a change back does not take it back.
  template <typename T>
  static void restore_content(T& cell, const Cell& saved) {
    auto known = std::move(cell.entangled);
    cell = static_cast<const T&>(saved);
    cell.entangled = std::move(known);
  }
};

struct Alternative;
// A storage: every view of it reads its base and writes back into it.
struct StorageCell : Cell {
  TensorValuePtr base;
  uint64_t version = 0;  // never reused, so that a cached read is never mistaken
  // What this tensor is under which condition; and the storages that may be this one (aliases.cpp).
  std::vector<std::shared_ptr<const Alternative>> alternatives;
  std::vector<std::weak_ptr<StorageCell>> dependents;
  // An operator gave it, and no list has taken it yet.
  bool computed = false;
  // The stack of an open list whose elements are in no other place: each is a view of it.
  bool owns_elements = false;

  std::shared_ptr<Cell> copy() const override { return std::make_shared<StorageCell>(*this); }
  void restore(const Cell& s) override { restore_content(*this, s); }
};

struct TensorHandle;
// How a view was made from its parent: the operator and its arguments after the tensor.
struct ViewStep {
  std::string op;                   // functional name with overload; "" for an exact alias
  std::vector<AbstractValue> args;  // without the tensor itself
  int output = -1;  // of an operator that returns several views (split, unbind): which one
};

// A TorchScript tensor: a storage seen through a chain of view steps.
struct TensorHandle : Cell {
  std::shared_ptr<StorageCell> storage;
  std::shared_ptr<TensorHandle> parent;  // null: the whole storage
  std::shared_ptr<const ViewStep> step;
  std::shared_ptr<TensorHandle> anchor;  // the same place, which views of this one start from
  TensorValuePtr cached;                 // content at `cached_version`
  uint64_t cached_version = 0;

  std::shared_ptr<Cell> copy() const override { return std::make_shared<TensorHandle>(*this); }
  void restore(const Cell& s) override { restore_content(*this, s); }
};

struct ListCell;
struct DictCell;
struct ObjectCell;
struct SequenceValue;
struct PlacesValue;
struct Elements;

struct AbstractValue {
  enum class Kind {
    Uninitialized,
    None,
    Tensor,
    Int,
    Float,
    Bool,
    String,
    List,
    Dict,
    Tuple,
    Object,
    Maybe,     // None or a value, by what the input says: `tuple` is (is a value, the value)
    Sequence,  // the elements of an open list that no tensor can stack (see ListCell)
    ViewList,  // the elements of an open list that are views of one tensor (view_list.h)
    Opaque,    // device, generator, function, enum, custom class, complex number: constants only
  };
  Kind kind = Kind::Uninitialized;
  Taint taint = Taint::Constant;       // of a number, string or opaque value
  PerWorld c;                          // of a number, string or opaque value
  program::Value* recorded = nullptr;  // of a number that is no constant
  int axis_id = 0;                     // of an Int: it is exactly the size of axes with this id
  std::shared_ptr<const NumberChoice> choice;  // of an Int that a condition chose

  // What a value of another kind refers to; null where it is of none of these.
  const std::shared_ptr<TensorHandle>& tensor() const { return held<TensorHandle>(); }
  const std::shared_ptr<ListCell>& list() const { return held<ListCell>(); }
  const std::shared_ptr<DictCell>& dict() const { return held<DictCell>(); }
  const std::shared_ptr<ObjectCell>& object() const { return held<ObjectCell>(); }
  const std::shared_ptr<const SequenceValue>& sequence() const {
    return held<const SequenceValue>();
  }
  const std::shared_ptr<const PlacesValue>& places() const { return held<const PlacesValue>(); }
  const std::shared_ptr<const Elements>& elements() const { return held<const Elements>(); }
  const std::vector<AbstractValue>& tuple() const;  // also of Maybe
  c10::TypePtr type() const;                        // of Tuple (names its fields); may be null

  AbstractValue() = default;
  AbstractValue(const AbstractValue&) = default;
  AbstractValue(AbstractValue&&) = default;
  AbstractValue& operator=(AbstractValue&&) = default;
  // Safe where `other` is a piece of what this one alone keeps alive: s = s.list()->items[0].
  AbstractValue& operator=(const AbstractValue& other) { return *this = AbstractValue(other); }

  bool is(Kind k) const { return kind == k; }
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
  bool is_constant_number() const { return is_number() && taint == Taint::Constant; }
  static AbstractValue none() {
    AbstractValue s;
    s.kind = Kind::None;
    return s;
  }
  static AbstractValue of(int64_t v);
  static AbstractValue of(double v);
  static AbstractValue of(bool v);
  static AbstractValue of(std::string v);
  static AbstractValue opaque(c10::IValue v);
  static AbstractValue of(std::shared_ptr<TensorHandle> t) {
    return referring(Kind::Tensor, std::move(t));
  }
  static AbstractValue of(std::shared_ptr<ListCell> l) {
    return referring(Kind::List, std::move(l));
  }
  static AbstractValue of(std::shared_ptr<DictCell> d) {
    return referring(Kind::Dict, std::move(d));
  }
  static AbstractValue of(std::shared_ptr<ObjectCell> o) {
    return referring(Kind::Object, std::move(o));
  }
  static AbstractValue of(std::shared_ptr<const SequenceValue> s) {
    return referring(Kind::Sequence, std::move(s));
  }
  static AbstractValue of(std::shared_ptr<const PlacesValue> p) {
    return referring(Kind::ViewList, std::move(p));
  }
  static AbstractValue of_tuple(std::vector<AbstractValue> elements, c10::TypePtr type);
  static AbstractValue maybe(AbstractValue present, AbstractValue value);

 private:
  template <class T>
  const std::shared_ptr<T>& held() const {
    static const std::shared_ptr<T> none;
    const auto* found = std::get_if<std::shared_ptr<T>>(&refers_);
    return found ? *found : none;
  }
  template <class P>
  static AbstractValue referring(Kind kind, P to) {
    AbstractValue s;
    s.kind = kind;
    s.refers_ = std::move(to);
    return s;
  }
  std::variant<std::monostate, std::shared_ptr<TensorHandle>, std::shared_ptr<ListCell>,
               std::shared_ptr<DictCell>, std::shared_ptr<ObjectCell>,
               std::shared_ptr<const SequenceValue>, std::shared_ptr<const PlacesValue>,
               std::shared_ptr<const Elements>>
      refers_;
};

// What a tensor is where the condition holds, and where it does not.
struct RankChoice {
  AbstractValue guard;
  std::array<TensorValue, 2> of;
};
// The same of a number: two constants.
struct NumberChoice {
  AbstractValue guard;
  std::array<AbstractValue, 2> of;
};

// The items of a tuple; of a Maybe whether it is a value, and the value.
struct Elements {
  std::vector<AbstractValue> items;
  c10::TypePtr type;  // of Tuple
};
inline const std::vector<AbstractValue>& AbstractValue::tuple() const { return elements()->items; }
inline c10::TypePtr AbstractValue::type() const { return elements()->type; }

// A sequence of tensors whose number is not known at export: an ONNX sequence. Immutable.
struct SequenceValue {
  Taint taint = Taint::Data;
  PerWorld c;  // a list of tensors
  // The type of every element; an axis with id 0 and a taint differs from element to element.
  TensorValue element;
  program::Value* recorded = nullptr;
  // Stands for the elements' memory, so that writing what may be one of them is refused.
  std::shared_ptr<StorageCell> storage;
};

// Views of one tensor that differ in numbers only.
struct Pattern {
  std::shared_ptr<TensorHandle> base;
  std::vector<ViewStep> steps;  // from the base on; Uninitialized stands for a number that differs
};
// Views of a few tensors. Immutable.
struct PlacesValue {
  std::vector<Pattern> kinds;
  // Element by element which of several kinds it is, and its numbers (0 where it has fewer than
  // others): a 1-D tensor, or a tuple of them.
  AbstractValue positions;
};

// A storage is the memory that `handle` looks at, when the guard is `when`.
struct Alternative {
  AbstractValue guard;
  bool when = true;
  std::shared_ptr<TensorHandle> handle;
};

struct ListCell : Cell {
  std::vector<AbstractValue> items;
  // Set when the length is not known at export (then there are no items): the elements stacked on a
  // new axis 0, for tuples column by column; a Sequence where their shapes differ; ViewList where
  // writing an element writes a tensor. What it holds is replaced, never written.
  AbstractValue open;
  c10::TypePtr element;

  bool is_open() const { return !open.is(AbstractValue::Kind::Uninitialized); }

  std::shared_ptr<Cell> copy() const override { return std::make_shared<ListCell>(*this); }
  void restore(const Cell& s) override { restore_content(*this, s); }
};

struct DictCell : Cell {
  // Keys are constants, in the order in which they were set. A Maybe (where the type is not
  // Optional) is an entry that is there or not, by what the input says.
  std::vector<std::pair<AbstractValue, AbstractValue>> items;
  c10::TypePtr key, value;
  bool unordered = false;  // the order depends on the input too

  bool may_lack_entries() const { return value->kind() != c10::TypeKind::OptionalType; }

  std::shared_ptr<Cell> copy() const override { return std::make_shared<DictCell>(*this); }
  void restore(const Cell& s) override { restore_content(*this, s); }
};

struct ObjectCell : Cell {
  c10::ClassTypePtr type;
  std::string path;                                // of a module: "layer1.0"; empty at the top
  c10::intrusive_ptr<c10::ivalue::Object> object;  // attributes not yet asked for; may be null
  std::map<std::string, AbstractValue> attributes;

  std::shared_ptr<Cell> copy() const override { return std::make_shared<ObjectCell>(*this); }
  void restore(const Cell& s) override { restore_content(*this, s); }
};

using K = AbstractValue::Kind;

inline program::Type number_type(AbstractValue::Kind kind) {
  return kind == AbstractValue::Kind::Int     ? program::Type::integer()
         : kind == AbstractValue::Kind::Float ? program::Type::floating()
                                              : program::Type::boolean();
}

inline AbstractValue AbstractValue::of(int64_t v) {
  AbstractValue s;
  s.kind = Kind::Int;
  s.c = PerWorld::constant(v);
  return s;
}
inline AbstractValue AbstractValue::of(double v) {
  AbstractValue s;
  s.kind = Kind::Float;
  s.c = PerWorld::constant(v);
  return s;
}
inline AbstractValue AbstractValue::of(bool v) {
  AbstractValue s;
  s.kind = Kind::Bool;
  s.c = PerWorld::constant(v);
  return s;
}
inline AbstractValue AbstractValue::of(std::string v) {
  AbstractValue s;
  s.kind = Kind::String;
  s.c = PerWorld::constant(std::move(v));
  return s;
}
inline AbstractValue AbstractValue::opaque(c10::IValue v) {
  AbstractValue s;
  s.kind = Kind::Opaque;
  s.c = PerWorld::constant(std::move(v));
  return s;
}
inline AbstractValue AbstractValue::of_tuple(std::vector<AbstractValue> items, c10::TypePtr type) {
  return referring(Kind::Tuple, std::shared_ptr<const Elements>(
                                    new Elements{std::move(items), std::move(type)}));
}
inline AbstractValue AbstractValue::maybe(AbstractValue present, AbstractValue value) {
  return referring(Kind::Maybe, std::shared_ptr<const Elements>(
                                    new Elements{{std::move(present), std::move(value)}, nullptr}));
}

}  // namespace oe::capture
