// Operators that take lists, dicts and tuples.
#include <algorithm>
#include <bit>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"

namespace oe::capture {

int64_t Apply::known_int(const AbstractValue& s, const char* what) {
  if (s.is(K::Int) && s.taint == Taint::Constant) return s.c.at(0).toInt();
  if (s.is(K::Int) && ex_.worlds.alone()) return value(s, *ex_.worlds.alone()).toInt();
  ex_.site.refuse("OE4030", std::string("a list is used with a computed ") + what,
                  "ONNX cannot choose an element of this list at run time; use a tensor");
}

bool equal_constants(const AbstractValue& a, const AbstractValue& b) {
  auto plain = [](const AbstractValue& s) {
    return (s.is_number() || s.is(K::String) || s.is(K::Opaque)) && s.taint == Taint::Constant;
  };
  if (a.is(K::None) && b.is(K::None)) return true;
  if (!plain(a) || !plain(b) || a.kind != b.kind) return false;
  const c10::IValue &x = a.c.at(0), &y = b.c.at(0);
  if (x.isDouble() && y.isDouble())  // -0.0 and nan are not interchangeable with 0.0 and nan
    return std::bit_cast<uint64_t>(x.toDouble()) == std::bit_cast<uint64_t>(y.toDouble());
  return x == y;
}

AbstractValue Containers::tolist(const std::vector<AbstractValue>& args, JitNode* n) {
  const TensorValuePtr t = ex_.views.read(args[0].tensor());
  if (!t->ranked)
    ex_.site.refuse(
        "OE4015",
        "tolist() of a tensor whose rank depends on the input; reshape it to a fixed number of axes");
  ex_.worlds.each([&](size_t w) {
    if (!t->c.has(w)) return;
    try {
      torch::jit::Stack stack;
      for (const AbstractValue& a : args) stack.push_back(ex_.apply.value(a, w));
      n->getOperation()(stack);
    } catch (const c10::Error& e) {
      ex_.apply.fail(w, e.what_without_backtrace());
    }
  });
  auto row = [&](const AbstractValue& s, int64_t dim, int64_t i) {
    return ex_.apply("aten::select.int", {s, AbstractValue::of(dim), AbstractValue::of(i)});
  };
  // A stack of what the rows along axis 0 become.
  const std::function<AbstractValue(const AbstractValue&, const c10::TypePtr&)> columns =
      [&](const AbstractValue& s, const c10::TypePtr& type) -> AbstractValue {
    if (type->kind() != c10::TypeKind::ListType) {
      const auto number = type->kind() == c10::TypeKind::IntType     ? c10::ScalarType::Long
                          : type->kind() == c10::TypeKind::FloatType ? c10::ScalarType::Double
                                                                     : c10::ScalarType::Bool;
      return ex_.apply("aten::to.dtype",
                       {s, AbstractValue::of(static_cast<int64_t>(number)),
                        AbstractValue::of(false), AbstractValue::of(true), AbstractValue::none()});
    }
    const TensorValuePtr now = ex_.views.read(s.tensor());
    const int64_t size = now->c.at(ex_.worlds.first()).toTensor().size(1);
    if (!now->axes[1].is_static() || size == 0)
      ex_.site.refuse("OE4038", "tolist() of a tensor with more than one axis of unknown size",
                      "take its rows in a loop, or work on the tensor itself");
    std::vector<AbstractValue> parts;
    for (int64_t i = 0; i < size; ++i)
      parts.push_back(columns(row(s, 1, i), type->containedType(0)));
    return AbstractValue::of_tuple(std::move(parts), type);
  };
  const std::function<AbstractValue(const AbstractValue&, const c10::TypePtr&)> list =
      [&](const AbstractValue& s, const c10::TypePtr& type) -> AbstractValue {
    if (type->kind() != c10::TypeKind::ListType) return ex_.open_lists.number_in(s, type);
    const TensorValuePtr now = ex_.views.read(s.tensor());
    AbstractValue l = ex_.values.list({}, type->containedType(0));
    if (!now->axes[0].is_static() && !ex_.worlds.alone()) {
      l.list()->open = columns(s, type->containedType(0));
      return l;
    }
    const size_t w = ex_.worlds.alone().value_or(ex_.worlds.first());
    for (int64_t i = 0; i < now->c.at(w).toTensor().size(0); ++i)
      l.list()->items.push_back(list(row(s, 0, i), type->containedType(0)));
    return l;
  };
  return list(args[0], n->output()->type());
}

// --- operators

// A call of an operator that LibTorch has for its containers alone. Nothing: its arguments are
// none of the ones it is meant for here.
struct Containers::Operators {
  Executor& ex;
  const OpInfo& op;
  const std::vector<AbstractValue>& args;
  JitNode* node;

  using Outputs = std::optional<std::vector<AbstractValue>>;
  static Outputs one(AbstractValue s) { return std::vector<AbstractValue>{std::move(s)}; }

  bool same() const {
    if (args[0].is(K::None) || args[1].is(K::None))
      return args[0].is(K::None) && args[1].is(K::None);
    if (identity(args[0])) return identity(args[0]) == identity(args[1]);
    if (args[0].is(K::Opaque) && args[1].is(K::Opaque) && args[0].taint == Taint::Constant &&
        args[1].taint == Taint::Constant)
      return args[0].c.at(0).is(args[1].c.at(0));
    return equal_constants(args[0], args[1]);
  }
  // The one that may be None, compared with None; null where both are known.
  const AbstractValue* perhaps_none() const {
    if (!args[0].is(K::Maybe) && !args[1].is(K::Maybe)) return nullptr;
    if (!args[0].is(K::None) && !args[1].is(K::None))
      ex.site.refuse(
          "OE4037",
          "two values that may be None are compared with 'is'; compare each of them with None");
    return args[0].is(K::Maybe) ? &args[0] : &args[1];
  }
  Outputs is() {
    if (const AbstractValue* s = perhaps_none())
      return one(ex.apply("aten::__not__", {s->tuple().at(0)}));
    return one(AbstractValue::of(same()));
  }
  Outputs is_not() {
    if (const AbstractValue* s = perhaps_none()) return one(s->tuple().at(0));
    return one(AbstractValue::of(!same()));
  }
  Outputs unwrap() {
    if (!args[0].is(K::Maybe)) return std::nullopt;
    ex.assumed.say("a value that may be None is there");
    return one(args[0].tuple().at(1));
  }
  Outputs tuple_index() {
    const int64_t i = ex.apply.known_int(args[1], "index");
    const auto size = static_cast<int64_t>(args[0].tuple().size());
    return one(args[0].tuple().at(static_cast<size_t>(i < 0 ? i + size : i)));
  }
  Outputs itself() { return one(args[0]); }
  Outputs tolist() { return one(ex.containers.tolist(args, node)); }
  // dict() and dict([(key, value), ...]).
  Outputs dict() {
    if (!args.empty() && !args[0].is(K::List)) return std::nullopt;
    auto type = node->output()->type()->expect<c10::DictType>();
    AbstractValue d = ex.values.dict({}, type->getKeyType(), type->getValueType());
    if (!args.empty())
      for (const AbstractValue& e : args[0].list()->items)
        d.dict()->items.emplace_back(e.tuple()[0], e.tuple()[1]);
    return one(d);
  }
  // n * [x]
  Outputs mul() {
    if (args.size() < 2 || !args[1].is(K::List) || !args[0].is(K::Int)) return std::nullopt;
    return ex.containers.list_call(op, {args[1], args[0]});
  }
};

std::optional<std::vector<AbstractValue>> Containers::call(const OpInfo& op,
                                                           const std::vector<AbstractValue>& args,
                                                           JitNode* n) {
  using C = Operators;
  struct Method {
    std::string_view name;
    C::Outputs (C::*run)();
  };
  static constexpr Method methods[] = {{"aten::__is__", &C::is},
                                       {"aten::__isnot__", &C::is_not},
                                       {"aten::_unwrap_optional", &C::unwrap},
                                       {"prim::TupleIndex", &C::tuple_index},
                                       {"prim::data", &C::itself},
                                       {"aten::data", &C::itself},
                                       {"prim::tolist", &C::tolist},
                                       {"aten::dict", &C::dict},
                                       {"aten::mul", &C::mul}};
  if (const Method* method = row_named(methods, op.base)) {
    C call{ex_, op, args, n};
    if (auto out = (call.*method->run)()) return out;
  }
  if (args.empty()) return std::nullopt;
  if (args[0].is(K::Dict)) {
    if (auto out = dict_call(op, args)) return out;
    ex_.site.refuse("OE4034", "dict operation " + op.base + " is not supported");
  }
  if (!args[0].is(K::List)) return std::nullopt;
  if (auto out = list_call(op, args)) return out;
  return list_operator(op, args);
}

// An operator on a list that is none of its methods.
std::optional<std::vector<AbstractValue>> Containers::list_operator(
    const OpInfo& op, const std::vector<AbstractValue>& given) {
  const std::vector<AbstractValue> args = ex_.places.copied(given, op.schema->is_mutable());
  const bool open = std::ranges::any_of(
      args, [](const AbstractValue& s) { return s.is(K::List) && s.list()->is_open(); });
  Taint taint = Taint::Constant;
  for (const AbstractValue& a : args) taint = join(taint, ex_.apply.taint_of(a));
  if (!open && taint == Taint::Constant) {
    if (op.schema->is_mutable()) return change_constant_list(op, args);
    return std::nullopt;
  }
  // In one world alone LibTorch has all values, but not the list that it would change.
  if (open || !ex_.worlds.alone() || op.schema->is_mutable())
    if (auto out = by_value(op, args)) return out;
  if (!args[0].list()->is_open()) return std::nullopt;
  if (auto out = ex_.open_lists.call(op, args)) return out;
  const bool tensors = args[0].list()->element->kind() == c10::TypeKind::TensorType;
  ex_.site.refuse(
      "OE4038", op.base + " of a list whose length depends on the input",
      tensors ? "ONNX has no such operator on lists of unknown length: stack the tensors first"
              : "ONNX has no such operator on lists of unknown length: store the values in a "
                "tensor, and extend it with torch.cat");
}

}  // namespace oe::capture
