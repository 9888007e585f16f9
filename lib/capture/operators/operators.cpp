// Reads effects off LibTorch's schemas and finds the functional twin of every in-place operator.
#include "lib/capture/operators/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/capture/operators/axes/axes.h"
#include "lib/capture/operators/composites.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/extensions.h"
#include "lib/torch/stand_ins.h"
#include "lib/torch/user_operators.h"

namespace oe::capture {
namespace {

using torch::jit::Operator;

bool is_tensor(const c10::Argument& a) { return a.type()->kind() == c10::TypeKind::TensorType; }

bool written(const c10::Argument& a) { return a.alias_info() && a.alias_info()->isWrite(); }

// The functional overload whose arguments are the first `count` ones of `schema`.
const OpInfo* find_twin(Operators& operators, const c10::FunctionSchema& schema,
                        const std::string& base, size_t count) {
  const OpInfo* same_types = nullptr;
  for (const auto& candidate : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(base))) {
    const auto& s = candidate->schema();
    if (s.arguments().size() != count || s.is_mutable()) continue;
    bool same = true;
    for (size_t i = 0; i < count && same; ++i)
      // The written argument is `self` where the twin may have `input`.
      same = *s.arguments()[i].type() == *schema.arguments()[i].type() &&
             (i == 0 || s.arguments()[i].name() == schema.arguments()[i].name());
    if (!same) continue;
    if (s.overload_name() == schema.overload_name()) return &operators.of(*candidate);
    if (!same_types) same_types = &operators.of(*candidate);
  }
  return same_types;
}

// In-place operators whose functional form goes by another name.
std::string functional_name(const std::string& base) {
  static const std::unordered_map<std::string, std::string> names = {
      {"aten::_no_grad_fill_", "aten::fill"},
      {"aten::_no_grad_zero_", "aten::zero"},
      {"aten::_no_grad_uniform_", "aten::uniform"},
      {"aten::_no_grad_normal_", "aten::normal_functional"},
      {"aten::normal_", "aten::normal_functional"},
      {"aten::copy_", "aten::fill"}};  // of a number; copying a tensor needs no operator
  if (auto it = names.find(base); it != names.end()) return it->second;
  if (base.starts_with("aten::__i")) return "aten::__" + base.substr(9);  // __iand__ -> __and__
  return base.substr(0, base.size() - 1);
}

// The functional overload that takes every argument by name and has defaults for the rest. Names
// of the first one differ (self, input, tensor), and so do kinds of number.
const OpInfo* find_named_twin(Operators& operators, const c10::FunctionSchema& schema,
                              const std::string& base, size_t count, std::vector<int>& arguments) {
  auto fits = [](const c10::Argument& from, const c10::Argument& to) {
    return *from.type() == *to.type() || from.type()->isSubtypeOf(*to.type());
  };
  for (const auto& candidate : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(base))) {
    const auto& s = candidate->schema();
    if (s.is_mutable()) continue;
    std::vector<int> found;
    std::vector<bool> used(count, false);
    bool all = true;
    for (size_t i = 0; i < s.arguments().size() && all; ++i) {
      const c10::Argument& wanted = s.arguments()[i];
      int from = -1;
      for (size_t k = 0; k < count && from < 0; ++k)
        if (!used[k] && schema.arguments()[k].name() == wanted.name() &&
            fits(schema.arguments()[k], wanted))
          from = static_cast<int>(k);
      if (from < 0 && i < count && !used[i] && !schema.argumentIndexWithName(wanted.name()) &&
          !s.argumentIndexWithName(schema.arguments()[i].name()) &&
          fits(schema.arguments()[i], wanted))
        from = static_cast<int>(i);
      if (from >= 0) used[static_cast<size_t>(from)] = true;
      all = from >= 0 || wanted.default_value();
      found.push_back(from);
    }
    if (!all || std::count(used.begin(), used.end(), false)) continue;
    arguments = std::move(found);
    return &operators.of(*candidate);
  }
  return nullptr;
}

const std::unordered_set<std::string>& metadata_operators() {
  static const std::unordered_set<std::string> names = {
      "aten::unsqueeze_", "aten::squeeze_",  "aten::t_",          "aten::transpose_",
      "aten::swapdims_",  "aten::swapaxes_", "aten::as_strided_", "aten::detach_"};
  return names;
}

bool is_number(const c10::TypePtr& t) {
  return t->isSubtypeOf(*c10::NumberType::get()) || t->kind() == c10::TypeKind::BoolType;
}

// The overloads of an operator for ints, floats and bools mean the same; where there is one that
// takes any of them, that is recorded, with the types of the values.
std::string recorded_name(const c10::FunctionSchema& schema, const std::string& name) {
  const auto& args = schema.arguments();
  const auto number = [](const c10::Argument& a) { return is_number(a.type()); };
  if (args.empty() || schema.returns().size() != 1 || !number(schema.returns()[0]) ||
      !std::all_of(args.begin(), args.end(), number))
    return name;
  for (const auto& other :
       torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(schema.name()))) {
    const auto& theirs = other->schema().arguments();
    const auto any = [](const c10::Argument& a) { return a.type() == c10::NumberType::get(); };
    if (theirs.size() == args.size() && std::all_of(theirs.begin(), theirs.end(), any)) {
      const std::string& overload = other->schema().overload_name();
      return overload.empty() ? schema.name() : schema.name() + "." + overload;
    }
  }
  return name;
}

OpInfo make(Operators& operators, const Operator& op) {
  OpInfo info;
  info.op = &op;
  info.schema = &op.schema();
  const auto& schema = *info.schema;
  info.base = schema.name();
  info.name = info.base;
  if (!schema.overload_name().empty()) info.name += "." + schema.overload_name();
  info.recorded = recorded_name(schema, info.name);
  info.composite = torch_io::user_function(info.name);
  info.users = info.composite != nullptr;
  if (!info.composite) info.composite = composite(info.recorded);
  if (!info.composite) info.composite = torch_io::extension(info.base);
  info.missing = torch_io::is_stand_in(info.base);

  // where() of a condition alone is another operator than where() of two values.
  info.axes = axis_row(info.name == "aten::where" ? "aten::nonzero" : info.base);

  if (op.isC10Op()) {
    auto handle = c10::Dispatcher::singleton().findSchema({schema.name(), schema.overload_name()});
    info.pointwise = handle && handle->hasTag(at::Tag::pointwise);
    info.random = handle && handle->hasTag(at::Tag::nondeterministic_seeded);
  }
  // What comes out of it here is not what comes out of it: nothing is folded or concluded from it.
  info.random |= torch_io::is_made_up(info.base);
  const auto& args = schema.arguments();
  size_t count = args.size();
  while (count && args[count - 1].is_out() && written(args[count - 1])) --count;
  info.outs = static_cast<int>(args.size() - count);
  if (info.outs) {
    info.twin = find_twin(operators, schema, info.base, count);
    if (!info.twin)
      info.twin = find_named_twin(operators, schema, info.base, count, info.twin_arguments);
    return info;
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (is_tensor(args[i]) && written(args[i])) {
      info.written = static_cast<int>(i);
      break;
    }
  if (info.written >= 0 && info.base.ends_with("_")) {
    info.metadata_in_place = metadata_operators().contains(info.base);
    const std::string base = functional_name(info.base);
    info.twin = find_twin(operators, schema, base, args.size());
    if (!info.twin)
      info.twin = find_named_twin(operators, schema, base, args.size(), info.twin_arguments);
  }
  return info;
}

}  // namespace

const OpInfo& Operators::of(const Operator& op) {
  auto it = known_.find(&op);
  if (it == known_.end()) {
    auto info = std::make_unique<OpInfo>(make(*this, op));  // may recurse for the twin
    it = known_.try_emplace(&op, std::move(info)).first;
  }
  return *it->second;
}

const OpInfo& Operators::named(const std::string& name) {
  auto it = by_name_.find(name);
  if (it == by_name_.end()) {
    auto dot = name.find('.');
    auto op = torch::jit::findOperatorFor(
        {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
    if (!op)
      throw Failure(ExitCode::Unsupported, "OE4001", "this LibTorch has no operator " + name);
    it = by_name_.emplace(name, &of(*op)).first;
  }
  return *it->second;
}

}  // namespace oe::capture
