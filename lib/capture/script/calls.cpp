// Operators as the model calls them: known without running, in place, composite, or functional.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/operators/composites.h"

namespace oe::capture {

// What is known of a tensor without running the operator on it.
std::optional<AbstractValue> Interpreter::known_of_tensor(const OpInfo& op,
                                                          const std::vector<AbstractValue>& args) {
  if (args.empty() || !args[0].is(K::Tensor)) return std::nullopt;
  if (op.name == "aten::size.int" && args[1].is_constant_number())
    return ex_.apply.size_of(args[0], args[1].c.at(0).toInt());
  if (op.name == "aten::size" || op.base == "prim::shape") return ex_.apply.sizes_of(args[0]);
  if (op.name == "aten::len.Tensor") return ex_.apply.size_of(args[0], 0);
  if (op.name == "aten::numel" && args.size() == 1) return ex_.apply.numel_of(args[0]);
  if (op.base == "aten::stride" &&
      axes_taint(*ex_.views.read(args[0].tensor())) != Taint::Constant) {
    std::vector<AbstractValue> strides = ex_.views.strides_of(args[0]);
    if (op.name == "aten::stride") return ex_.values.list(std::move(strides), c10::IntType::get());
    const auto rank = static_cast<int64_t>(strides.size());
    const int64_t axis = ex_.apply.known_int(args[1], "the axis of stride()");
    if (axis >= -rank && axis < rank)
      return strides[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }
  if (op.name == "aten::dim")
    if (auto known = ex_.apply.rank_of(args[0])) return known;
  if (op.base == "aten::is_contiguous")
    if (auto known = ex_.views.contiguity_of(args[0])) return known;
  // A number that became a tensor and a number again is that number (traced sizes).
  TensorValuePtr t = ex_.views.read(args[0].tensor());
  if (t->number && ((t->number->is(K::Int) &&
                     (op.name == "aten::Int.Tensor" || op.name == "aten::IntImplicit")) ||
                    op.name == "aten::ScalarImplicit" || op.name == "aten::item"))
    return *t->number;
  return std::nullopt;
}

namespace {

// Not the numbers that `tile` calls `dims`; nor where -1 is not the last axis but none.
bool names_axis(const std::string& op, const std::string& parameter) {
  if (op == "aten::tile" || op == "aten::_weight_norm" || op == "aten::norm_except_dim")
    return false;
  return parameter == "dim" || parameter == "dims" || parameter == "dim0" || parameter == "dim1";
}

// How many elements a list result has to have; -1: any number.
int unpacked_length(const torch::jit::Node* n) {
  if (!n || n->outputs().size() != 1) return -1;
  const auto& uses = n->output()->uses();
  if (uses.size() != 1 || uses[0].user->kind() != c10::prim::ListUnpack) return -1;
  return static_cast<int>(uses[0].user->outputs().size());
}

}  // namespace

// Whether the table that an operator searches is a constant and sorted, without NaN.
bool Interpreter::knows_sorted_table(const OpInfo& op, const std::vector<AbstractValue>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& name = op.schema->arguments()[i].name();
    if (name == "sorter" && !args[i].is(K::None)) return false;
    if (name != "sorted_sequence" && name != "boundaries") continue;
    if (ex_.apply.taint_of(args[i]) != Taint::Constant) return false;
    const at::Tensor table = example(*ex_.views.read(args[i].tensor()));
    const int64_t n = table.size(-1);
    if (!table.eq(table).all().item<bool>()) return false;
    if (n > 1 && !table.narrow(-1, 0, n - 1).le(table.narrow(-1, 1, n - 1)).all().item<bool>())
      return false;
  }
  return true;
}

// What stands for the operator because of what its arguments are; null: nothing does.
torch::jit::Function* Interpreter::composite_for(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args) {
  if (ex_.quantized.among(args)) return composite_of(CompositeOf::Quantized, op.name);
  if (torch::jit::Function* f = composite_of(CompositeOf::Computed, op.name))
    for (const AbstractValue& a : args)
      if (!a.is(K::Tensor) && ex_.apply.taint_of(a) != Taint::Constant) return f;
  if (torch::jit::Function* f = composite_of(CompositeOf::Unsorted, op.name))
    if (!knows_sorted_table(op, args)) return f;
  const auto type_of = [&](const AbstractValue& a) {
    const bool list = a.is(K::List) && !a.list()->items.empty();
    const AbstractValue& s = list ? a.list()->items[0] : a;
    if (!s.is(K::Tensor)) return at::ScalarType::Undefined;
    const TensorValuePtr t = ex_.views.read(s.tensor());
    return t->c.empty() ? at::ScalarType::Undefined : example(*t).scalar_type();
  };
  if (torch::jit::Function* f = composite_of(CompositeOf::Complex, op.name))
    for (size_t i = 0; i < args.size(); ++i) {
      const bool named =
          op.schema->arguments()[i].name() == "dtype" && args[i].is_constant_number();
      if (c10::isComplexType(named ? static_cast<at::ScalarType>(args[i].c.at(0).toInt())
                                   : type_of(args[i])))
        return f;
    }
  if (torch::jit::Function* f = composite_of(CompositeOf::Integers, op.name))
    if (!args.empty() && c10::isIntegralType(type_of(args[0]), false)) return f;
  return nullptr;
}

std::optional<std::vector<AbstractValue>> Interpreter::call_composite(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  torch::jit::Function* f = op.composite;
  torch::jit::Function* special = composite_for(op, args);
  if (special)
    f = special;
  else if (!op.users && ex_.plan.writable(op.recorded))
    return std::nullopt;  // a rule says how
  const bool writes = op.schema->is_mutable();
  const bool folds = !writes && !op.random && ex_.apply.content_taint(op, args) == Taint::Constant;
  if (!f || folds) return std::nullopt;
  // Where LibTorch's own refuses, what it is made of might not (Euclid's algorithm on floats).
  if (!writes && !ex_.site.held() && (special || f == composite(op.name)))
    ex_.apply.attempt(op, args);
  const Site::Held held(ex_.site);
  const auto run = [&] {
    const AbstractValue result = run_function(*f, args, ex_.site.path(), ex_.site.call());
    return result.is(K::Tuple) ? result.tuple() : std::vector<AbstractValue>{result};
  };
  return ex_.gradient.has_rules(op, args) ? ex_.gradient.whole(op, args, run) : run();
}

// The operator along one of the axes that a tensor has: one after the other as an If. Nothing where
// the axis is known, and for sizes, which are numbers of the graph whichever axis it is.
std::optional<std::vector<AbstractValue>> Interpreter::along_computed_axis(
    const OpInfo& op, const std::vector<AbstractValue>& args, JitNode* n) {
  if (ex_.worlds.alone() || args.empty() || op.base == "aten::size") return std::nullopt;
  const AbstractValue* tensor = &args[0];
  if (tensor->is(K::List) && !tensor->list()->is_open() && !tensor->list()->items.empty())
    tensor = &tensor->list()->items[0];
  if (!tensor->is(K::Tensor) || !ex_.views.read(*tensor)->ranked) return std::nullopt;
  const auto& parameters = op.schema->arguments();
  for (size_t i = 1; i < args.size() && i < parameters.size(); ++i) {
    if (!names_axis(op.base, parameters[i].name())) continue;  // not dim_size of a scatter
    const bool listed =
        args[i].is(K::List) && !args[i].list()->is_open() && args[i].list()->items.size() == 1;
    const AbstractValue axis = listed ? args[i].list()->items[0] : args[i];
    if (!axis.is(K::Int) || axis.taint == Taint::Constant) continue;
    const bool adds = op.base.starts_with("aten::unsqueeze") || op.base == "aten::stack" ||
                      op.base == "aten::diag_embed";
    const size_t axes = ex_.views.read(*tensor)->axes.size() + (adds ? 1 : 0);
    const AbstractValue wrapped =
        ex_.apply("aten::remainder.int",
                  {axis, AbstractValue::of(static_cast<int64_t>(std::max<size_t>(axes, 1)))});
    std::function<std::vector<AbstractValue>(size_t)> from = [&](size_t d) {
      const auto along = [&, d] {
        std::vector<AbstractValue> known = args;
        const AbstractValue number = AbstractValue::of(static_cast<int64_t>(d));
        known[i] = listed ? ex_.values.list({number}, args[i].list()->element) : number;
        return call_operator(op, known, n);
      };
      if (d + 1 >= axes) return along();
      const AbstractValue here =
          ex_.apply("aten::eq.int", {wrapped, AbstractValue::of(static_cast<int64_t>(d))});
      return *ex_.control.kept_branches(
          here, [&, d](size_t k) { return k == 0 ? along() : from(d + 1); }, {false, false}, true);
    };
    return from(0);
  }
  return std::nullopt;
}

// The operator with a computed flag (is_causal, descending, train): as an If, with the one and with
// the other.
std::optional<std::vector<AbstractValue>> Interpreter::by_computed_flag(
    const OpInfo& op, const std::vector<AbstractValue>& args, JitNode* n) {
  if (ex_.worlds.alone() || args.empty() || !args[0].is(K::Tensor)) return std::nullopt;
  const auto& parameters = op.schema->arguments();
  for (size_t i = 1; i < args.size() && i < parameters.size(); ++i) {
    if (parameters[i].type()->kind() != c10::TypeKind::BoolType || !args[i].is(K::Bool) ||
        args[i].taint == Taint::Constant)
      continue;
    const auto with = [&](size_t k) {
      std::vector<AbstractValue> known = args;
      known[i] = AbstractValue::of(k == 0);
      return call_operator(op, known, n);
    };
    return *ex_.control.kept_branches(args[i], with, {false, false}, true);
  }
  return std::nullopt;
}

AbstractValue Interpreter::call_operator(const std::string& op,
                                         const std::vector<AbstractValue>& args) {
  return call_operator(ex_.operators.named(op), args).at(0);
}

std::vector<AbstractValue> Interpreter::call_operator(const OpInfo& op,
                                                      const std::vector<AbstractValue>& args,
                                                      JitNode* n) {
  if (op.missing) ex_.site.refuse("OE0122", op.base + " is not registered", "", Need::Operators);
  if (op.base == "aten::grad" || op.base == "aten::backward" || op.base == "prim::grad")
    return ex_.gradient.call(op, args);
  if (auto known = known_of_tensor(op, args)) return {*known};
  if (auto known = known_by_bounds(op, args)) return {*known};
  if (auto out = call_squeeze(op, args)) return *out;
  // An argument that may be None: the operator with it, and without it.
  for (size_t i = 0; i < args.size() && !ex_.worlds.alone(); ++i)
    if (args[i].is(K::Maybe)) {
      const AbstractValue present = args[i].tuple().at(0), value = args[i].tuple().at(1);
      return *ex_.control.kept_branches(
          present,
          [&](size_t k) {
            std::vector<AbstractValue> known = args;
            known[i] = k == 0 ? value : AbstractValue::none();
            return call_operator(op, known, n);
          },
          {false, false}, true);
    }
  if (auto out = call_by_rank(op, args, n)) return *out;
  if (auto out = call_by_number(op, args)) return *out;
  if (auto out = call_like_other(op, args)) return *out;
  if (auto out = call_pool(op, args)) return *out;
  if (auto chosen = along_computed_axis(op, args, n)) return *chosen;
  if (auto chosen = by_computed_flag(op, args, n)) return *chosen;
  if (auto written = ex_.writes.call(op, args)) return *written;
  if (op.base.starts_with("aten::as_strided")) return {ex_.views.as_strided(op, args)};
  const int length = unpacked_length(n);
  if (length < 0 && ex_.open_lists.cuts_dynamic_axis(op, args))
    return {ex_.open_lists.split(op, args)};
  if (auto made = call_composite(op, args)) return *made;
  std::vector<AbstractValue> out = ex_.apply(op, args, length);
  ex_.views.alias_outputs(op, args, out);
  return out;
}

}  // namespace oe::capture
