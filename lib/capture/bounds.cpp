// What is known of sizes: their declared bounds (--input x:batch=2..64x3 is never one row), and
// which are the same.
#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

struct Range {
  int64_t low, high;  // inclusive
};

// The sizes that a number may have; nothing where it is no size of a declared axis, and no
// constant. An axis without a lower bound may be empty when the file runs.
std::optional<Range> range_of(const Executor& ex, const Sym& s) {
  if (!s.is(K::Int)) return std::nullopt;
  if (s.is_constant_number()) return Range{s.c.at(0).toInt(), s.c.at(0).toInt()};
  const Symbol* axis = ex.recorder.symbol(s.axis_id);
  return axis ? std::optional(Range{axis->low > 1 ? axis->low : 0, axis->high}) : std::nullopt;
}

bool never_one(const Executor& ex, const Axis& a) {
  const Symbol* axis = a.is_static() ? nullptr : ex.recorder.symbol(a.id);
  return axis && axis->low > 1;
}

}  // namespace

// A comparison of a size that has one result within the bounds.
std::optional<Sym> Interpreter::known_by_bounds(const OpInfo& op, const std::vector<Sym>& args) {
  if (args.size() != 2) return std::nullopt;
  // A size that is compared with itself.
  if (args[0].is(K::Int) && args[1].is(K::Int) && args[0].axis_id &&
      args[0].axis_id == args[1].axis_id) {
    if (op.name == "aten::eq.int" || op.name == "aten::le.int" || op.name == "aten::ge.int")
      return Sym::of(true);
    if (op.name == "aten::ne.int" || op.name == "aten::lt.int" || op.name == "aten::gt.int")
      return Sym::of(false);
  }
  const auto a = range_of(ex_, args[0]), b = range_of(ex_, args[1]);
  if (!a || !b || (args[0].is_constant_number() && args[1].is_constant_number()))
    return std::nullopt;
  const auto decided = [](bool yes, bool no) {
    return yes ? std::optional(Sym::of(true)) : no ? std::optional(Sym::of(false)) : std::nullopt;
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

// squeeze() of axes that are never 1: only the others are named.
std::optional<std::vector<Sym>> Interpreter::squeeze_within_bounds(const OpInfo& op,
                                                                   const std::vector<Sym>& args) {
  if (op.base != "aten::squeeze" || !args[0].is(K::Tensor)) return std::nullopt;
  const TensorValuePtr t = ex_.views.read(args[0].tensor());
  if (!t->ranked || std::ranges::none_of(t->axes, [&](const Axis& a) { return never_one(ex_, a); }))
    return std::nullopt;
  const auto rank = static_cast<int64_t>(t->axes.size());
  std::vector<int64_t> asked;
  if (args.size() == 1) {
    for (int64_t i = 0; i < rank; ++i) asked.push_back(i);
  } else {
    const std::vector<Sym> dims =
        args[1].is(K::List) ? args[1].list()->items : std::vector<Sym>{args[1]};
    for (const Sym& d : dims) {
      if (!d.is_constant_number()) return std::nullopt;
      const int64_t dim = d.c.at(0).toInt();
      if (dim < -rank || dim >= rank) return std::nullopt;  // LibTorch says so
      asked.push_back(dim < 0 ? dim + rank : dim);
    }
  }
  std::vector<Sym> left;
  for (const int64_t i : asked)
    if (!never_one(ex_, t->axes[static_cast<size_t>(i)])) left.push_back(Sym::of(i));
  if (left.size() == asked.size()) return std::nullopt;
  return call_operator(ex_.operators.named("aten::squeeze.dims"),
                       {args[0], ex_.values.list(std::move(left), c10::IntType::get())});
}

}  // namespace oe::capture
