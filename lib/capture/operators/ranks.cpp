// Tensors whose rank a condition decided (`if n > 0: x = x.reshape(n, -1, 4)`): what is done with
// them is done in both branches of an If on that condition, where the rank is known.
#include "lib/capture/operators/ranks.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

bool same_condition(const AbstractValue& a, const AbstractValue& b) {
  return a.recorded && a.recorded == b.recorded;
}

// The tensor as it is where the guard of its choice is `holds`. A copy: writing it or the tensor
// is refused while both are in use.
AbstractValue with_rank(Executor& ex, const AbstractValue& tensor, bool holds) {
  const TensorValuePtr now = ex.views.read(tensor);
  auto t = std::make_shared<TensorValue>(now->choice->of[holds ? 0 : 1]);
  t->taint = join(t->taint, now->taint);
  if (ex.recorder.on()) {
    program::Node* n =
        ex.recorder.record("prim::of_rank", {{ex.recorder.value(now)}}, ex.site.here());
    t->recorded = ex.recorder.add_output(n, ex.recorder.type_of(*t));
  }
  AbstractValue out = ex.values.tensor(std::move(t));
  Heap::share(*out.tensor()->storage, *tensor.tensor()->storage);
  return out;
}

// The tensor whose sizes an open list holds; null where it holds something else.
TensorValuePtr sized(Executor& ex, const AbstractValue& s) {
  if (!s.is(K::List) || !s.list()->is_open() || !s.list()->open.is(K::Tensor)) return nullptr;
  return ex.views.read(s.list()->open)->sizes_of;
}

// The condition that decides the rank of an argument; null where none does.
const AbstractValue* guard_of(Executor& ex, const AbstractValue& s) {
  if (s.is(K::Tensor)) {
    const TensorValuePtr t = ex.views.read(s);
    return t->choice ? &t->choice->guard : nullptr;
  }
  if (!s.is(K::List)) return nullptr;
  if (const TensorValuePtr of = sized(ex, s)) return of->choice ? &of->choice->guard : nullptr;
  for (const AbstractValue& e : s.list()->items)
    if (e.is(K::Tensor))
      if (const AbstractValue* guard = guard_of(ex, e)) return guard;
  return nullptr;
}

AbstractValue by_rank(Executor& ex, const AbstractValue& s, const AbstractValue& guard,
                      bool holds) {
  const AbstractValue* mine = guard_of(ex, s);
  if (s.is(K::Int) && s.choice && same_condition(s.choice->guard, guard))
    return s.choice->of[holds ? 0 : 1];
  if (s.is(K::List) && !s.list()->is_open()) {
    std::vector<AbstractValue> items;
    for (const AbstractValue& e : s.list()->items) items.push_back(by_rank(ex, e, guard, holds));
    return ex.values.list(std::move(items), s.list()->element);
  }
  if (!mine || !same_condition(*mine, guard)) return s;
  if (s.is(K::Tensor)) return with_rank(ex, s, holds);
  return ex.apply.sizes_of(with_rank(ex, ex.values.tensor(sized(ex, s)), holds));
}

}  // namespace

std::shared_ptr<const RankChoice> rank_choice(const AbstractValue& guard, const TensorValue& a,
                                              const TensorValue& b) {
  const at::ScalarType type = example(a).scalar_type();
  if (!guard.recorded || c10::isComplexType(type) || example(a).is_quantized()) return nullptr;
  auto choice = std::make_shared<RankChoice>(RankChoice{guard, {a, b}});
  for (TensorValue& t : choice->of) {
    t.recorded = nullptr;
    t.number = nullptr;
    t.choice = nullptr;
    t.sizes_of = nullptr;
    t.name.clear();
  }
  return choice;
}

const AbstractValue* rank_guard(Executor& ex, const std::vector<AbstractValue>& args) {
  for (const AbstractValue& s : args)
    if (const AbstractValue* guard = guard_of(ex, s)) return guard;
  return nullptr;
}

std::vector<AbstractValue> args_by_rank(Executor& ex, const std::vector<AbstractValue>& args,
                                        const AbstractValue& guard, bool holds) {
  std::vector<AbstractValue> out;
  for (const AbstractValue& s : args) out.push_back(by_rank(ex, s, guard, holds));
  return out;
}

// x.reshape(y.size()), where nobody knows how many sizes there are.
std::optional<std::vector<AbstractValue>> Interpreter::call_like_other(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  if (args.size() != 2 || !args[0].is(K::Tensor)) return std::nullopt;
  const char* like = op.base == "aten::reshape"  ? "aten::reshape_as"
                     : op.name == "aten::view"   ? "aten::view_as"
                     : op.base == "aten::expand" ? "aten::expand_as"
                                                 : nullptr;
  const TensorValuePtr other = like ? sized(ex_, args[1]) : nullptr;
  if (!other) return std::nullopt;
  return call_operator(ex_.operators.named(like), {args[0], ex_.values.tensor(other)});
}

std::optional<std::vector<AbstractValue>> Interpreter::call_by_rank(
    const OpInfo& op, const std::vector<AbstractValue>& args, JitNode* n) {
  if (ex_.worlds.alone() || op.schema->is_mutable()) return std::nullopt;
  const AbstractValue* found = rank_guard(ex_, args);
  if (!found) return std::nullopt;
  const AbstractValue guard = *found;
  if (const auto known = ex_.control.known_condition(guard))
    return call_operator(op, args_by_rank(ex_, args, guard, *known), n);
  return ex_.control.kept_branches(
      guard, [&](size_t k) { return call_operator(op, args_by_rank(ex_, args, guard, k == 0), n); },
      {false, false}, true);
}

// An operator on numbers of which each is one constant or another, as the same condition says.
std::optional<std::vector<AbstractValue>> Interpreter::call_by_number(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  static constexpr std::array kOperators = {
      "aten::add.int", "aten::sub.int", "aten::mul.int", "aten::neg.int", "aten::eq.int",
      "aten::ne.int",  "aten::lt.int",  "aten::le.int",  "aten::gt.int",  "aten::ge.int"};
  const auto chosen =
      std::ranges::find_if(args, [](const AbstractValue& s) { return s.choice != nullptr; });
  if (chosen == args.end() || std::ranges::find(kOperators, op.name) == std::end(kOperators))
    return std::nullopt;
  const AbstractValue guard = chosen->choice->guard;
  for (const AbstractValue& s : args)
    if (!s.is_constant_number() && !(s.choice && same_condition(s.choice->guard, guard)))
      return std::nullopt;
  std::array<AbstractValue, 2> of;
  for (const bool holds : {true, false})
    of[holds ? 0 : 1] = ex_.apply(op, args_by_rank(ex_, args, guard, holds)).at(0);
  if (equal_constants(of[0], of[1])) return std::vector<AbstractValue>{of[0]};
  if (of[0].is(K::Bool))
    return std::vector<AbstractValue>{of[0].c.at(0).toBool() ? guard
                                                             : ex_.apply("aten::__not__", {guard})};
  AbstractValue out = ex_.apply(op, args).at(0);
  out.choice = std::make_shared<const NumberChoice>(NumberChoice{guard, std::move(of)});
  return std::vector<AbstractValue>{std::move(out)};
}

}  // namespace oe::capture
