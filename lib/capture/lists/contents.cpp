// Open lists: lists whose length is not known at export, because a kept loop or a branch decides
// it or because they come from cutting a dynamic axis.
//
// Elements of one shape are stacked on a new axis 0 (numbers in a 1-D tensor, tuples column by
// column), so that every list operator is a tensor operator and works at every opset. Elements
// whose shapes differ are an ONNX sequence.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include "lib/capture/executor.h"
#include "lib/capture/lists/open_lists.h"
#include "lib/capture/values/snapshot.h"

namespace oe::capture {
namespace {

bool same_axes(const TensorValue& a, const std::vector<Axis>& a_axes, const TensorValue& b,
               const std::vector<Axis>& b_axes, size_t skip_a, size_t skip_b) {
  if (a_axes.size() - skip_a != b_axes.size() - skip_b) return false;
  for (size_t i = 0; i + skip_a < a_axes.size(); ++i) {
    const Axis &x = a_axes[i + skip_a], &y = b_axes[i + skip_b];
    if (x.is_static() != y.is_static() || x.id != y.id) return false;
    if (x.is_static() && example(a).size(static_cast<int64_t>(i + skip_a)) !=
                             example(b).size(static_cast<int64_t>(i + skip_b)))
      return false;
  }
  return true;
}

}  // namespace

c10::TypePtr columns_of(const AbstractValue& s) {
  if (s.is(K::List) && !s.list()->is_open() && !s.list()->items.empty())
    return c10::ListType::create(s.list()->element);
  if (s.is(K::Object) && !s.object()->object && !s.object()->attributes.empty() &&
      s.object()->attributes.size() == s.object()->type->numAttributes())
    return s.object()->type;
  return nullptr;
}

AbstractValue as_columns(const AbstractValue& s) {
  const c10::TypePtr type = columns_of(s);
  if (!type && !s.is(K::Tuple)) return s;
  std::vector<AbstractValue> parts;
  if (s.is(K::Object)) {
    for (const auto& [name, value] : s.object()->attributes) parts.push_back(as_columns(value));
  } else {
    for (const AbstractValue& e : s.is(K::List) ? s.list()->items : s.tuple())
      parts.push_back(as_columns(e));
  }
  return AbstractValue::of_tuple(std::move(parts), type ? type : s.type());
}

std::vector<c10::TypePtr> column_types(const c10::TypePtr& type, size_t columns) {
  if (type->kind() == c10::TypeKind::ListType)
    return std::vector<c10::TypePtr>(columns, type->containedType(0));
  if (auto cls = type->cast<c10::ClassType>()) {
    std::map<std::string, c10::TypePtr> by_name;
    for (const auto& a : cls->getAttributes()) by_name[a.getName()] = a.getType();
    std::vector<c10::TypePtr> types;
    for (const auto& [name, t] : by_name) types.push_back(t);
    return types;
  }
  return type->containedTypes().vec();
}

AbstractValue each_column(const AbstractValue& content,
                          const std::function<AbstractValue(const AbstractValue&, size_t)>& f,
                          size_t k) {
  if (!content.is(K::Tuple)) return f(content, k);
  std::vector<AbstractValue> out;
  for (size_t i = 0; i < content.tuple().size(); ++i)
    out.push_back(each_column(content.tuple()[i], f, i));
  return AbstractValue::of_tuple(std::move(out), content.type());
}

Cell* first_memory(const AbstractValue& content) {
  const AbstractValue* s = &content;
  while (s->is(K::Tuple)) s = &s->tuple().at(0);
  return memory_of(*s);
}

// Whether the two can be elements of one list, where `tensors` judges two tensors.
bool Contents::alike(const Sample& one, const Sample& other, const TensorsAlike& tensors) {
  const AbstractValue a = as_columns(one.sym), b = as_columns(other.sym);
  if (a.is(K::Tuple)) {
    if (!b.is(K::Tuple) || a.tuple().size() != b.tuple().size()) return false;
    for (size_t i = 0; i < a.tuple().size(); ++i)
      if (!alike({a.tuple()[i], one.stacked}, {b.tuple()[i], other.stacked}, tensors)) return false;
    return true;
  }
  if (a.is_number() || b.is_number())  // a stack beside it is one of the same list's numbers
    return (a.is_number() || (one.stacked && a.is(K::Tensor))) &&
           (b.is_number() || (other.stacked && b.is(K::Tensor))) &&
           (one.stacked || other.stacked || a.kind == b.kind);
  return tensors({a, one.stacked}, {b, other.stacked});
}

bool Contents::stackable(const Sample& a, const Sample& b) {
  return alike(a, b, [&](const Sample& one, const Sample& other) {
    if (!one.sym.is(K::Tensor) || !other.sym.is(K::Tensor)) return false;
    const TensorValuePtr x = ex_.views.read(one.sym.tensor()),
                         y = ex_.views.read(other.sym.tensor());
    return x->ranked && y->ranked && example(*x).scalar_type() == example(*y).scalar_type() &&
           same_axes(*x, x->axes, *y, y->axes, one.stacked ? 1 : 0, other.stacked ? 1 : 0);
  });
}

bool Contents::one_form(const AbstractValue& a, const AbstractValue& b) {
  if (a.is(K::Tuple) && b.is(K::Tuple) && a.tuple().size() == b.tuple().size()) {
    for (size_t k = 0; k < a.tuple().size(); ++k)
      if (!one_form(a.tuple()[k], b.tuple()[k])) return false;
    return true;
  }
  return (a.is(K::Sequence) && b.is(K::Sequence)) || stackable({a, true}, {b, true});
}

bool Contents::same_columns(const Sample& a, const Sample& b) {
  auto tensor = [](const AbstractValue& s) {
    return s.is(K::Tensor) || s.is(K::Sequence) || s.is(K::ViewList);
  };
  return alike(a, b, [&](const Sample& one, const Sample& other) {
    return tensor(one.sym) && tensor(other.sym);
  });
}

TensorValue Contents::element_type(const Sample& s) {
  if (s.sym.is(K::Sequence)) return s.sym.sequence()->element;
  if (s.sym.is(K::ViewList)) return ex_.places.element_type(s.sym);
  TensorValue t = *ex_.views.read(s.sym.tensor());
  if (!s.stacked) return t;
  t.axes.erase(t.axes.begin());
  const at::Tensor all = example(t);
  t.c = PerWorld::constant(all.size(0) ? all.select(0, 0) : all.new_zeros(all.sizes().slice(1)));
  return t;
}

AbstractValue Contents::stack_items(const std::vector<AbstractValue>& elements) {
  std::vector<AbstractValue> items;
  for (const AbstractValue& s : elements) items.push_back(as_columns(s));
  if (items[0].is(K::Tuple)) {
    std::vector<AbstractValue> columns;
    for (size_t k = 0; k < items[0].tuple().size(); ++k) {
      std::vector<AbstractValue> column;
      for (const AbstractValue& s : items) column.push_back(s.tuple()[k]);
      columns.push_back(stack_items(column));
    }
    return AbstractValue::of_tuple(std::move(columns), items[0].type());
  }
  std::vector<AbstractValue> tensors;
  for (const AbstractValue& s : items)
    tensors.push_back(s.is(K::Tensor) ? s : ex_.apply("prim::NumToTensor.Scalar", {s}));
  return ex_.apply("aten::stack", {ex_.values.list(std::move(tensors), c10::TensorType::get()),
                                   AbstractValue::of(int64_t{0})});
}

// A stack without elements, for elements like `element`. Nothing where a size they have is not
// known outside of the block that made it.
std::optional<AbstractValue> Contents::empty_stack(const AbstractValue& like, bool stacked) {
  const AbstractValue element = as_columns(like);
  if (element.is(K::Tuple)) {
    std::vector<AbstractValue> columns;
    for (const AbstractValue& e : element.tuple()) {
      auto column = empty_stack(e, stacked);
      if (!column) return std::nullopt;
      columns.push_back(*column);
    }
    return AbstractValue::of_tuple(std::move(columns), element.type());
  }
  std::vector<AbstractValue> sizes = {AbstractValue::of(int64_t{0})};
  c10::ScalarType type = element.is(K::Int)     ? c10::ScalarType::Long
                         : element.is(K::Float) ? c10::ScalarType::Double
                                                : c10::ScalarType::Bool;
  if (element.is(K::Tensor)) {
    const TensorValuePtr t = ex_.views.read(element.tensor());
    type = example(*t).scalar_type();
    for (size_t i = stacked ? 1 : 0; i < t->axes.size(); ++i) {
      if (t->axes[i].is_static()) {
        sizes.push_back(AbstractValue::of(example(*t).size(static_cast<int64_t>(i))));
        continue;
      }
      AbstractValue n;
      n.kind = K::Int;
      n.taint = t->axes[i].taint;
      n.axis_id = t->axes[i].id;
      n.c = ex_.worlds.map(
          t->c, [&](const c10::IValue& v) { return v.toTensor().size(static_cast<int64_t>(i)); });
      if (ex_.recorder.on()) {
        n.recorded = ex_.recorder.size_of(n.axis_id);
        if (!n.recorded) {
          const auto [source, axis] = ex_.recorder.axis_source(n.axis_id);
          if (!source) return std::nullopt;
          program::Node* node = ex_.recorder.record(
              "aten::size.int", {{source}, {static_cast<int64_t>(axis)}}, ex_.site.here());
          n.recorded = ex_.recorder.add_output(node, program::Type::integer());
          ex_.recorder.remember_size(n.axis_id, n.recorded);
        }
      }
      sizes.push_back(n);
    }
  }
  return ex_.apply("aten::zeros",
                   {ex_.values.list(std::move(sizes), c10::IntType::get()),
                    AbstractValue::of(static_cast<int64_t>(type)), AbstractValue::none(),
                    AbstractValue::none(), AbstractValue::none()});
}

// --- sequences

AbstractValue Contents::sequence(program::Arg recorded, PerWorld c, TensorValue element) {
  auto v = std::make_shared<SequenceValue>();
  v->c = std::move(c);
  element.taint = Taint::Data;
  element.number = nullptr;
  element.choice = nullptr;
  element.sizes_of = nullptr;
  element.recorded = nullptr;
  v->element = std::move(element);
  v->recorded = recorded.value();
  v->storage = ex_.heap.make<StorageCell>();
  return AbstractValue::of(std::shared_ptr<const SequenceValue>(std::move(v)));
}

TensorValue Contents::join_elements(const TensorValue& a, const TensorValue& b) {
  TensorValue t = *join_types(ex_, a, b, Taint::Data);
  t.c = a.c;
  for (size_t i = 0; i < t.axes.size(); ++i)
    if (!t.axes[i].is_static() && (t.axes[i].id != a.axes[i].id || t.axes[i].id != b.axes[i].id))
      t.axes[i] = {Taint::Data, 0};
  return t;
}

// Runs `change` on the list of every world and records the operator that does the same.
AbstractValue Contents::change_sequence(
    const std::string& op, const AbstractValue& s, const std::vector<AbstractValue>& args,
    TensorValue element, const std::function<void(c10::impl::GenericList&, size_t)>& change) {
  PerWorld c = ex_.worlds.map([&](size_t w) -> c10::IValue {
    if (!s.sequence()->c.has(w)) return {};
    c10::impl::GenericList list = s.sequence()->c.at(w).toList().copy();
    try {
      change(list, w);
    } catch (const c10::Error& e) {
      ex_.apply.fail(w, e.what_without_backtrace());
      return {};
    }
    return list;
  });
  program::Arg recorded;
  if (ex_.recorder.on()) {
    program::Args all = {{s.sequence()->recorded}};
    for (const AbstractValue& a : args) all.push_back(ex_.apply.arg(a));
    program::Node* n = ex_.recorder.record(op, std::move(all), ex_.site.here());
    recorded = {ex_.recorder.add_output(n, program::Type::list(ex_.recorder.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

AbstractValue Contents::rearranged(
    const std::string& op, const AbstractValue& s, const std::vector<AbstractValue>& args,
    const std::function<c10::impl::GenericList(const c10::impl::GenericList&, size_t)>& f) {
  return change_sequence(op, s, args, s.sequence()->element,
                         [&](c10::impl::GenericList& list, size_t w) { list = f(list, w); });
}

// `like` gives the element type of an empty sequence.
AbstractValue Contents::sequence_of(const std::vector<AbstractValue>& items,
                                    const TensorValue* like) {
  PerWorld c = ex_.worlds.map([&](size_t w) {
    c10::impl::GenericList list(c10::TensorType::get());
    for (const AbstractValue& e : items) list.push_back(ex_.apply.value(e, w));
    return list;
  });
  TensorValue element = like ? *like : *ex_.views.read(items[0].tensor());
  for (const AbstractValue& e : items)
    element = join_elements(element, *ex_.views.read(e.tensor()));
  program::Arg recorded;
  if (ex_.recorder.on()) {
    program::Args args;
    for (const AbstractValue& e : items) args.push_back(ex_.apply.arg(e));
    program::Node* n = ex_.recorder.record("prim::ListConstruct", std::move(args), ex_.site.here());
    recorded = {ex_.recorder.add_output(n, program::Type::list(ex_.recorder.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

// Elements of that type with a sequence for every column of tensors, and stacks of numbers. `like`
// tells what a tensor is.
std::optional<AbstractValue> Contents::sequences_of(const std::vector<AbstractValue>& elements,
                                                    const Sample& like, const c10::TypePtr& type) {
  std::vector<AbstractValue> items;
  for (const AbstractValue& s : elements) items.push_back(as_columns(s));
  const AbstractValue one = as_columns(like.sym);
  if (one.is(K::Tuple)) {
    const auto types = column_types(type, one.tuple().size());
    std::vector<AbstractValue> columns;
    for (size_t k = 0; k < one.tuple().size(); ++k) {
      std::vector<AbstractValue> column;
      for (const AbstractValue& s : items) column.push_back(s.tuple().at(k));
      auto made = sequences_of(column, {one.tuple()[k], like.stacked}, types.at(k));
      if (!made) return std::nullopt;
      columns.push_back(std::move(*made));
    }
    return AbstractValue::of_tuple(std::move(columns), one.type());
  }
  if (type->kind() != c10::TypeKind::TensorType)
    return items.empty() ? empty_stack(one, like.stacked) : stack_items(items);
  const TensorValue element = element_type(like);
  return sequence_of(items, &element);
}

// The same of content that is there.
AbstractValue Contents::as_sequences(const AbstractValue& content, const c10::TypePtr& element) {
  if (content.is(K::Tuple)) {
    const auto types = column_types(element, content.tuple().size());
    std::vector<AbstractValue> columns;
    for (size_t k = 0; k < types.size(); ++k)
      columns.push_back(as_sequences(content.tuple().at(k), types[k]));
    return AbstractValue::of_tuple(std::move(columns), content.type());
  }
  return content.is(K::Tensor) && element->kind() == c10::TypeKind::TensorType
             ? sequence_from(content)
             : content;
}

// A stack as a sequence.
AbstractValue Contents::sequence_from(const AbstractValue& stack) {
  const TensorValuePtr t = ex_.views.read(stack.tensor());
  TensorValue element = element_type({stack, true});
  PerWorld c = ex_.worlds.map(t->c, [](const c10::IValue& all) {
    c10::impl::GenericList list(c10::TensorType::get());
    for (int64_t i = 0; i < all.toTensor().size(0); ++i)
      list.push_back(all.toTensor().select(0, i));
    return list;
  });
  program::Arg recorded;
  if (ex_.recorder.on()) {
    program::Node* n = ex_.recorder.record(
        "aten::unbind.int", {{ex_.recorder.value(t)}, {int64_t{0}}}, ex_.site.here());
    recorded = {ex_.recorder.add_output(n, program::Type::list(ex_.recorder.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

// The content of an open list with these elements of that type. Nothing when no form holds them
// all.
std::optional<AbstractValue> Contents::of(const std::vector<AbstractValue>& items,
                                          const c10::TypePtr& type) {
  std::vector<Sample> samples;
  for (const AbstractValue& e : items) samples.push_back({e, false});
  switch (common_form(ex_, samples)) {
    case Form::Stack:
      return stack_items(items);
    case Form::Sequence:
      return sequences_of(items, samples[0], type);
    default:
      return std::nullopt;
  }
}

}  // namespace oe::capture
