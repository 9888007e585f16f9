// How the axes of an operator's results come about: one rule for each family of operators.
//
// A size that is the same in every world is still dynamic when something that determines it is
// dynamic: `x[:5]` has five rows in every world that was large enough. So static is what a rule
// derives; where no rule can say, all axes of the result are dynamic.
//
// A rule stands in the file of its family, with the rows that name the operators it is for:
//   elementwise.cpp   broadcasts, and results with the axes of an argument
//   products.cpp      matrix products, attention, recurrent networks
//   reductions.cpp    reductions, and operators that change one axis
//   windows.cpp       convolutions, pools, resizing, padding
//   shapes.cpp        sizes that are given; axes that are moved, joined, cut or repeated
//   indexing.cpp      indices, and sizes born from data
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

// A call of an operator, one result of which is asked about.
struct AxisCall {
  const OpInfo& op;
  const std::vector<AbstractValue>& args;
  std::vector<TensorValuePtr> values;  // per argument, of the schema; null when it is no tensor
  const PerWorld& out;
  size_t index;  // of the result
  size_t rank;   // of the result
  size_t worlds;
  std::function<Axis(Taint)> fresh;
  std::function<TensorValuePtr(const AbstractValue&)> read;

  // Overloads have their arguments at different places, so a rule names those it looks at.
  // The argument of that name; null where the operator has none.
  const AbstractValue* arg(const char* name) const;
  // The first of these arguments that the operator has. Throws std::logic_error where it has none
  // of them, or where that is no tensor.
  const TensorValue& tensor(std::initializer_list<const char*> names) const;
  // The tensor that the operator is about: `self`, or what a few operators call it instead.
  const TensorValue& self() const { return tensor({"self", "input", "src", "data"}); }
  std::optional<int64_t> constant(const char* name) const;
  // What these arguments may change with: numbers, their lists, the elements of tensors. Arguments
  // that the operator does not have are constant.
  Taint taint(std::initializer_list<const char*> names) const;
  bool computed(std::initializer_list<const char*> names) const {
    return taint(names) != Taint::Constant;
  }
  // Size of the result's axis in a world; -1 when that world has none.
  int64_t size(size_t w, size_t axis) const;
  bool same_size(size_t axis, const TensorValue& t, size_t t_axis) const;
  // An axis as long as the number says.
  Axis number(const AbstractValue& s) const;
  // An axis that something of this taint determines: static where that is constant.
  Axis sized_by(Taint t) const { return t == Taint::Constant ? Axis{} : fresh(t); }
};

// The axes of the result. Nothing: they cannot be told. As many as the result's rank; any other
// number says that the rank itself depends on a dynamic axis.
using Axes = std::optional<std::vector<Axis>>;
inline Axes unknown_rank(const AxisCall& c) { return std::vector<Axis>(c.rank + 1); }
using AxisRule = Axes (*)(const AxisCall&);

struct AxisRow {
  std::string_view name;  // of the operator, without overload
  AxisRule rule;
  const char* counted =
      nullptr;  // the argument whose elements, not only its sizes, decide on sizes
};

// The rule for an operator; null where no table names it.
const AxisRow* axis_row(const std::string& name);
// All tables.
std::array<std::span<const AxisRow>, 6> axis_tables();
// The axes of the result, whether a rule can tell them or not.
std::vector<Axis> axes_of(const AxisCall& c);
// Whether the results in the worlds tell how many elements a list has that the operator gives: no
// computed number or tensor says it, and an axis that is cut has had several sizes.
bool gives_length(const OpInfo& op, const std::vector<AbstractValue>& args, size_t worlds,
                  const std::function<TensorValuePtr(const AbstractValue&)>& read);
// Whether the result has the same rank in every run even where an argument does not.
bool gives_rank(const OpInfo& op, size_t arguments);

// The result is the broadcast of the tensor arguments, or has the axes of the first one, where the
// sizes in all worlds say so. What operators have that no table names.
Axes by_sizes(const AxisCall& c);
// An int[] argument lists the axes (view, expand, zeros, ...).
Axes given_sizes(const AxisCall& c);
// Argument `dim` (all where it is left out) gives the axes that are reduced, `keepdim`.
Axes reduced(const AxisCall& c);
// Sizes born from data: dynamic whatever the arguments are.
Axes data_sized(const AxisCall& c);
// Indices, of which masks are sized by data.
Axes indexed(const AxisCall& c);
// Whether one of the indices is a mask that is not constant.
bool has_mask(const AxisCall& c);

// --- for the rules

size_t wrapped(int64_t dim, size_t rank);
int64_t example_size(const TensorValue& t, size_t axis);
// One axis out of these, aligned.
Axis broadcast(const AxisCall& c, const std::vector<std::pair<const TensorValue*, size_t>>& in);
std::vector<Axis> broadcast_axes(const AxisCall& c, const std::vector<const TensorValue*>& in,
                                 size_t rank);

// The rows of each file.
std::span<const AxisRow> elementwise_axes();
std::span<const AxisRow> product_axes();
std::span<const AxisRow> reduction_axes();
std::span<const AxisRow> window_axes();
std::span<const AxisRow> shape_axes();
std::span<const AxisRow> index_axes();

}  // namespace oe::capture
