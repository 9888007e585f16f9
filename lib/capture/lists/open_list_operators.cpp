// Operators that take open lists as a whole, or give one.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <functional>
#include <limits>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"
#include "lib/capture/lists/open_lists.h"

namespace oe::capture {

AbstractValue OpenLists::output(const AbstractValue& list, const std::string& name) {
  const AbstractValue content = ex_.places.copied(list.list()->open);
  if (content.is(K::Tuple))
    throw Failure(ExitCode::Unsupported, "OE4043",
                  "output '" + name +
                      "' is a list of tuples, lists or objects whose length depends on the input",
                  "return one list for each field");
  const bool tensors = list.list()->element->kind() == c10::TypeKind::TensorType;
  return content.is(K::Tensor) && tensors ? ex_.contents.sequence_from(content) : content;
}

c10::IValue OpenLists::value(const AbstractValue& content, const c10::TypePtr& type, size_t w) {
  if (content.is(K::Sequence)) return ex_.apply.value(content, w);
  if (content.is(K::ViewList)) return ex_.places.value(content, w);
  c10::impl::GenericList list(type);
  const AbstractValue* column = &content;
  while (column->is(K::Tuple)) column = &column->tuple().at(0);
  const c10::IValue first = ex_.apply.value(*column, w);
  const int64_t n =
      first.isTensor() ? first.toTensor().size(0) : static_cast<int64_t>(first.toListRef().size());
  const std::function<c10::IValue(const AbstractValue&, const c10::TypePtr&, int64_t)> at =
      [&](const AbstractValue& s, const c10::TypePtr& t, int64_t i) -> c10::IValue {
    if (s.is(K::Tuple)) {
      std::vector<c10::IValue> items;
      const auto types = column_types(t, s.tuple().size());
      for (size_t k = 0; k < s.tuple().size(); ++k)
        items.push_back(at(s.tuple()[k], types.at(k), i));
      if (t->kind() == c10::TypeKind::ListType) {
        c10::impl::GenericList inner(t->containedType(0));
        for (c10::IValue& v : items) inner.push_back(std::move(v));
        return inner;
      }
      if (t->kind() != c10::TypeKind::TupleType)
        ex_.site.refuse("OE4038",
                        "a list of objects whose length depends on the input is used as a whole");
      return c10::ivalue::Tuple::create(std::move(items));
    }
    if (s.is(K::Sequence)) return ex_.apply.value(s, w).toListRef()[static_cast<size_t>(i)];
    const at::Tensor e = ex_.apply.value(s, w).toTensor().select(0, i);
    switch (t->kind()) {
      case c10::TypeKind::IntType:
        return e.item<int64_t>();
      case c10::TypeKind::FloatType:
        return e.item<double>();
      case c10::TypeKind::BoolType:
        return e.item<bool>();
      default:
        return e;
    }
  };
  for (int64_t i = 0; i < n; ++i) list.push_back(at(content, type, i));
  return list;
}

// split, chunk and unbind of a dynamic axis: how many pieces there are is not known.
bool OpenLists::cuts_dynamic_axis(const OpInfo& op, const std::vector<AbstractValue>& args) {
  const bool unbind = op.base == "aten::unbind";
  if (!unbind && op.name != "aten::split.Tensor" && op.name != "aten::split" &&
      op.base != "aten::unsafe_split" && op.base != "aten::chunk" &&
      op.base != "aten::unsafe_chunk")
    return false;
  if (ex_.worlds.alone() || !args[0].is(K::Tensor)) return false;
  const auto dim = op.schema->argumentIndexWithName("dim");
  const TensorValuePtr t = ex_.views.read(args[0].tensor());
  if (!dim || !t->ranked || t->axes.empty()) return false;
  const AbstractValue& d = args[static_cast<size_t>(*dim)];
  if (!d.is_constant_number()) return false;
  const int64_t at = d.c.at(0).toInt();
  const auto rank = static_cast<int64_t>(t->axes.size());
  if (at < -rank || at >= rank) return false;
  return !t->axes[static_cast<size_t>(at < 0 ? at + rank : at)].is_static() ||
         (!unbind && args[1].taint != Taint::Constant);
}

AbstractValue OpenLists::split(const OpInfo& op, const std::vector<AbstractValue>& args) {
  AbstractValue l = ex_.values.list({}, c10::TensorType::get());
  if (ex_.plan.places) {
    l.list()->open = ex_.places.cut(op, args);
    return l;
  }
  const AbstractValue& dim = args[static_cast<size_t>(*op.schema->argumentIndexWithName("dim"))];
  if (op.base == "aten::unbind") {
    l.list()->open = ex_.apply("aten::movedim.int", {args[0], dim, AbstractValue::of(int64_t{0})});
  } else {
    const TensorValuePtr t = ex_.views.read(args[0].tensor());
    TensorValue element = *t;
    const int64_t at = dim.c.at(0).toInt();
    const size_t axis = at < 0 ? static_cast<size_t>(at) + t->axes.size() : static_cast<size_t>(at);
    element.axes[axis] = {Taint::Data, 0};
    PerWorld c = ex_.worlds.map([&](size_t w) -> c10::IValue {
      try {
        torch::jit::Stack stack;
        for (const AbstractValue& a : args) stack.push_back(ex_.apply.value(a, w));
        op.op->getOperation()(stack);
        c10::impl::GenericList list(c10::TensorType::get());
        for (const c10::IValue& v : stack[0].toListRef()) list.push_back(v);
        return list;
      } catch (const c10::Error& e) {
        ex_.apply.fail(w, e.what_without_backtrace());
        return {};
      }
    });
    program::Arg recorded;
    if (ex_.recorder.on()) {
      program::Args all;
      for (const AbstractValue& a : args) all.push_back(ex_.apply.arg(a));
      program::Node* n = ex_.recorder.record(op.recorded, std::move(all), ex_.site.here());
      recorded = {ex_.recorder.add_output(n, program::Type::list(ex_.recorder.type_of(element)))};
    }
    l.list()->open = ex_.contents.sequence(recorded, std::move(c), std::move(element));
  }
  Heap::share(*storage_of(l.list()->open), *args[0].tensor()->storage);
  return l;
}

// The numbers of an open list are one tensor; so are its tensors, where it is no sequence.
struct OpenLists::Operators {
  Executor& ex;
  const std::vector<AbstractValue>& args;
  const ListCell& list = *args[0].list();
  const AbstractValue& content = list.open;

  using Outputs = std::optional<std::vector<AbstractValue>>;
  static Outputs one(AbstractValue s) { return std::vector<AbstractValue>{std::move(s)}; }
  bool elements_are(c10::TypeKind kind) const { return list.element->kind() == kind; }
  bool numbers() const { return !elements_are(c10::TypeKind::TensorType); }

  Outputs tensor() {
    if (!numbers()) return std::nullopt;
    AbstractValue type = args[1];
    if (type.is(K::None))
      type = AbstractValue::of(
          static_cast<int64_t>(elements_are(c10::TypeKind::FloatType)
                                   ? c10::get_default_dtype_as_scalartype()
                                   : example(*ex.views.read(content.tensor())).scalar_type()));
    return one(ex.apply("aten::to.dtype", {content, type, AbstractValue::of(false),
                                           AbstractValue::of(true), AbstractValue::none()}));
  }
  // A number is true where it is not 0; NaN is.
  Outputs logical(const char* op) {
    if (!numbers()) return std::nullopt;
    const AbstractValue held =
        elements_are(c10::TypeKind::BoolType)
            ? content
            : ex.apply("aten::ne.Scalar", {content, AbstractValue::of(int64_t{0})});
    return one(ex.apply("aten::Bool.Tensor", {ex.apply(op, {held})}));
  }
  Outputs any() { return logical("aten::any"); }
  Outputs all() { return logical("aten::all"); }
  Outputs sum() {
    if (!numbers()) return std::nullopt;
    const c10::TypePtr type =
        elements_are(c10::TypeKind::BoolType) ? c10::IntType::get() : list.element;
    return one(
        ex.open_lists.number_in(ex.apply("aten::sum", {content, AbstractValue::none()}), type));
  }
  // NaN counts only where it is the first.
  Outputs extreme(const char* op, double beyond) {
    if (!numbers() || args.size() > 1) return std::nullopt;  // two lists: one of them
    if (elements_are(c10::TypeKind::BoolType))
      return logical(beyond < 0 ? "aten::any" : "aten::all");
    if (elements_are(c10::TypeKind::IntType))
      return one(ex.open_lists.number_in(ex.apply(op, {content}), list.element));
    const AbstractValue counted =
        ex.apply("aten::masked_fill.Scalar",
                 {content, ex.apply("aten::isnan", {content}), AbstractValue::of(beyond)});
    const AbstractValue found = ex.apply(op, {counted}), zero = AbstractValue::of(int64_t{0});
    const AbstractValue first = ex.apply("aten::select.int", {content, zero, zero});
    const AbstractValue isnan = ex.apply("aten::isnan", {first});
    return one(
        ex.open_lists.number_in(ex.apply("aten::where.self", {isnan, first, found}), list.element));
  }
  Outputs max() { return extreme("aten::max", -std::numeric_limits<double>::infinity()); }
  Outputs min() { return extreme("aten::min", std::numeric_limits<double>::infinity()); }
  Outputs stack() {
    if (numbers()) return std::nullopt;
    if (content.is(K::Sequence)) return ex.apply(ex.operators.named("aten::stack"), args);
    const auto rank = static_cast<int64_t>(ex.views.read(content.tensor())->axes.size());
    const int64_t dim = ex.apply.known_int(args[1], "dim"), at = dim < 0 ? dim + rank : dim;
    return one(at == 0 ? ex.values.tensor(ex.views.read(content.tensor())) : front_to(at));
  }
  Outputs cat() {
    if (numbers()) return std::nullopt;
    if (content.is(K::Sequence)) return ex.apply(ex.operators.named("aten::cat"), args);
    const auto rank = static_cast<int64_t>(ex.views.read(content.tensor())->axes.size());
    const int64_t dim = ex.apply.known_int(args[1], "dim"), at = dim < 0 ? dim + rank - 1 : dim;
    return one(ex.apply(
        "aten::flatten.using_ints",
        {at == 0 ? content : front_to(at), AbstractValue::of(at), AbstractValue::of(at + 1)}));
  }
  AbstractValue front_to(int64_t at) {
    return ex.apply("aten::movedim.int",
                    {content, AbstractValue::of(int64_t{0}), AbstractValue::of(at)});
  }
};

std::optional<std::vector<AbstractValue>> OpenLists::call(const OpInfo& op,
                                                          const std::vector<AbstractValue>& args) {
  using L = Operators;
  struct Method {
    std::string_view name;
    L::Outputs (L::*run)();
  };
  static constexpr Method methods[] = {
      {"aten::tensor", &L::tensor},  {"aten::any", &L::any}, {"aten::all", &L::all},
      {"prim::max", &L::max},        {"prim::min", &L::min}, {"aten::sum", &L::sum},
      {"aten::stack", &L::stack},    {"aten::cat", &L::cat}, {"aten::concat", &L::cat},
      {"aten::concatenate", &L::cat}};
  const Method* method = row_named(methods, op.base);
  if (!method || args[0].list()->open.is(K::Tuple)) return std::nullopt;
  L call{ex_, args};
  return (call.*method->run)();
}

}  // namespace oe::capture
