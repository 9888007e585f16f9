// What is known of sizes: their declared bounds (--input x:batch=2..64x3 is never one row), and
// which are the same.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/operators/ranks.h"

namespace oe::capture {
namespace {

struct Range {
  int64_t low, high;  // inclusive
};

// The sizes that a number may have; nothing where it is no size of a declared axis, and no
// constant. An axis without a lower bound may be empty when the file runs.
std::optional<Range> range_of(const Executor& ex, const AbstractValue& s) {
  if (!s.is(K::Int)) return std::nullopt;
  if (s.is_constant_number()) return Range{s.c.at(0).toInt(), s.c.at(0).toInt()};
  const Symbol* axis = ex.recorder.symbol(s.axis_id);
  return axis ? std::optional(Range{axis->low > 1 ? axis->low : 0, axis->high}) : std::nullopt;
}

bool never_one(const Executor& ex, const Axis& a) {
  const Symbol* axis = a.is_static() ? nullptr : ex.recorder.symbol(a.id);
  return axis && axis->low > 1;
}

// The axes that squeeze() takes away where their size is 1; nothing where they are not known, and
// for what LibTorch refuses.
std::optional<std::vector<int64_t>> squeezed_axes(const std::vector<AbstractValue>& args,
                                                  int64_t rank) {
  std::vector<int64_t> axes;
  if (args.size() == 1)
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  else if (args[1].is(K::List) && args[1].list()->is_open())
    return std::nullopt;
  else
    for (const AbstractValue& d :
         args[1].is(K::List) ? args[1].list()->items : std::vector{args[1]}) {
      if (!d.is_constant_number()) return std::nullopt;
      const int64_t dim = d.c.at(0).toInt();
      if (dim < -rank || dim >= rank) return std::nullopt;
      axes.push_back(dim < 0 ? dim + rank : dim);
    }
  std::ranges::sort(axes);
  return axes;
}

}  // namespace

// A comparison of a size that has one result within the bounds.
std::optional<AbstractValue> Interpreter::known_by_bounds(const OpInfo& op,
                                                          const std::vector<AbstractValue>& args) {
  if (args.size() != 2) return std::nullopt;
  // A size that is compared with itself.
  if (args[0].is(K::Int) && args[1].is(K::Int) && args[0].axis_id &&
      args[0].axis_id == args[1].axis_id) {
    if (op.name == "aten::eq.int" || op.name == "aten::le.int" || op.name == "aten::ge.int")
      return AbstractValue::of(true);
    if (op.name == "aten::ne.int" || op.name == "aten::lt.int" || op.name == "aten::gt.int")
      return AbstractValue::of(false);
  }
  const auto a = range_of(ex_, args[0]), b = range_of(ex_, args[1]);
  if (!a || !b || (args[0].is_constant_number() && args[1].is_constant_number()))
    return std::nullopt;
  const auto decided = [](bool yes, bool no) {
    return yes  ? std::optional(AbstractValue::of(true))
           : no ? std::optional(AbstractValue::of(false))
                : std::nullopt;
  };
  const bool below = a->high<b->low, above = a->low> b->high;
  if (op.name == "aten::lt.int") return decided(below, a->low >= b->high);
  if (op.name == "aten::ge.int") return decided(a->low >= b->high, below);
  if (op.name == "aten::gt.int") return decided(above, a->high <= b->low);
  if (op.name == "aten::le.int") return decided(a->high <= b->low, above);
  if (op.name == "aten::eq.int") return decided(false, below || above);
  if (op.name == "aten::ne.int") return decided(below || above, false);
  return std::nullopt;
}

// squeeze() of dynamic axes. Those that are never 1 are left alone; where one is left, what the
// result is follows from its size.
std::optional<std::vector<AbstractValue>> Interpreter::call_squeeze(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  if (ex_.worlds.alone() || op.base != "aten::squeeze" || !args[0].is(K::Tensor))
    return std::nullopt;
  const TensorValuePtr t = ex_.views.read(args[0].tensor());
  if (!t->ranked) return std::nullopt;
  const auto asked = squeezed_axes(args, static_cast<int64_t>(t->axes.size()));
  if (!asked) return std::nullopt;
  std::vector<AbstractValue> fixed, left;  // axes: that are 1 in every run, or may be
  std::optional<int64_t> open;
  for (const int64_t i : *asked) {
    const Axis& axis = t->axes[static_cast<size_t>(i)];
    if (never_one(ex_, axis)) continue;
    left.push_back(AbstractValue::of(i));
    if (axis.is_static() && example(*t).size(i) == 1)
      fixed.push_back(AbstractValue::of(i));
    else if (!axis.is_static()) {
      if (open) return std::nullopt;
      open = i - static_cast<int64_t>(fixed.size());
    }
  }
  const auto squeezed = [&](std::vector<AbstractValue> axes) {
    const OpInfo& dims = ex_.operators.named("aten::squeeze.dims");
    const std::vector<AbstractValue> known = {
        args[0], ex_.values.list(std::move(axes), c10::IntType::get())};
    std::vector<AbstractValue> out = ex_.apply(dims, known);
    ex_.views.alias_outputs(dims, known, out);
    return out.at(0);
  };
  if (left.size() != asked->size() && !open)
    return std::vector<AbstractValue>{squeezed(std::move(left))};
  if (!open) return std::nullopt;
  const AbstractValue whole = squeezed(std::move(fixed));
  const AbstractValue guard = call_operator(
      "aten::eq.int", {ex_.apply.size_of(whole, *open), AbstractValue::of(int64_t{1})});
  const auto first = [&] {
    return call_operator("aten::select.int",
                         {whole, AbstractValue::of(*open), AbstractValue::of(int64_t{0})});
  };
  if (const auto known = ex_.control.known_condition(guard))
    return std::vector<AbstractValue>{*known ? first() : whole};
  const AbstractValue out = squeezed(std::move(left));
  AbstractValue one;
  ex_.worlds.within(ex_.worlds.active(), 0, [&] { one = first(); });  // an axis may be empty
  const TensorValuePtr content = ex_.views.read(out);
  if (!content->ranked)
    content->choice = rank_choice(guard, *ex_.views.read(one), *ex_.views.read(whole));
  return std::vector<AbstractValue>{out};
}

}  // namespace oe::capture
