// The elements of open lists, whichever form they have: picked, cut out, added, replaced.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/open_lists.h"
#include "lib/capture/values/snapshot.h"

namespace oe::capture {

AbstractValue OpenLists::length(const AbstractValue& content) {
  if (content.is(K::ViewList)) return length(content.places()->positions);
  if (content.is(K::Tuple)) return length(content.tuple().at(0));
  if (content.is(K::Tensor)) return ex_.apply.size_of(content, 0);
  AbstractValue s;
  s.kind = K::Int;
  s.taint = Taint::Data;
  s.c = ex_.worlds.map(content.sequence()->c, [](const c10::IValue& list) {
    return static_cast<int64_t>(list.toListRef().size());
  });
  if (ex_.recorder.on()) {
    program::Node* n =
        ex_.recorder.record("aten::len.t", {{content.sequence()->recorded}}, ex_.site.here());
    s.recorded = ex_.recorder.add_output(n, program::Type::integer());
  }
  return s;
}

AbstractValue OpenLists::number_in(const AbstractValue& tensor, const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::IntType) return ex_.apply("aten::Int.Tensor", {tensor});
  if (type->kind() == c10::TypeKind::FloatType) return ex_.apply("aten::Float.Tensor", {tensor});
  if (type->kind() == c10::TypeKind::BoolType) return ex_.apply("aten::Bool.Tensor", {tensor});
  return tensor;
}

AbstractValue OpenLists::element(const AbstractValue& content, const AbstractValue& index,
                                 const c10::TypePtr& type) {
  if (content.is(K::ViewList)) return ex_.places.element(content, index);
  if (content.is(K::Tuple)) {
    std::vector<AbstractValue> out;
    const auto types = column_types(type, content.tuple().size());
    for (size_t k = 0; k < content.tuple().size(); ++k)
      out.push_back(element(content.tuple()[k], index, types.at(k)));
    if (type->kind() == c10::TypeKind::TupleType)
      return AbstractValue::of_tuple(std::move(out), type);
    // A copy: what it stands for must not be changed through it, nor the other way round.
    AbstractValue e;
    if (type->kind() == c10::TypeKind::ListType) {
      e = ex_.values.list(std::move(out), type->containedType(0));
    } else {
      auto cell = ex_.heap.make<ObjectCell>();
      cell->type = type->expect<c10::ClassType>();
      for (const auto& a : cell->type->getAttributes()) cell->attributes[a.getName()];
      size_t k = 0;
      for (auto& [name, value] : cell->attributes) value = out.at(k++);
      e = AbstractValue::of(std::move(cell));
    }
    Heap::share(*cell_of(e), *first_memory(content));
    return e;
  }
  if (content.is(K::Sequence)) {
    const SequenceValue& seq = *content.sequence();
    auto v = std::make_shared<TensorValue>(seq.element);
    v->taint = Taint::Data;
    v->c = ex_.worlds.map([&](size_t w) -> c10::IValue {
      const bool made_up = ex_.made_up.wanted(w);
      if (!seq.c.has(w) && !made_up) return {};
      const auto list = seq.c.has(w) ? seq.c.at(w).toListRef() : c10::ArrayRef<c10::IValue>();
      const auto n = static_cast<int64_t>(list.size());
      int64_t i = ex_.apply.value(index, w).toInt();
      if (i < 0) i += n;
      if (i >= 0 && i < n) return list[static_cast<size_t>(i)];
      if (made_up) return example(seq.element).clone();
      ex_.apply.fail(w, "list index out of range");
      return {};
    });
    for (Axis& a : v->axes)
      if (!a.is_static() && a.id == 0) a = ex_.apply.fresh_axis(Taint::Data);
    if (ex_.recorder.on()) {
      program::Node* n = ex_.recorder.record(
          "aten::__getitem__.t", {{seq.recorded}, ex_.apply.arg(index)}, ex_.site.here());
      v->recorded = ex_.recorder.add_output(n, ex_.recorder.type_of(*v));
    }
    return tied(ex_.values.tensor(v), content);
  }
  if (owns_elements(content) && type->kind() == c10::TypeKind::TensorType)
    return ex_.interpreter.call_operator("aten::select.int",
                                         {content, AbstractValue::of(int64_t{0}), index});
  const AbstractValue e =
      ex_.apply("aten::select.int", {content, AbstractValue::of(int64_t{0}), index});
  const AbstractValue number = number_in(e, type);
  return number.is(K::Tensor) ? tied(number, content) : number;
}

// Another read of the list may be the same tensor: reading is fine, writing either is not.
AbstractValue OpenLists::tied(AbstractValue e, const AbstractValue& content) {
  Heap::share(*e.tensor()->storage, *storage_of(content));
  return e;
}

bool owns_elements(const AbstractValue& content) {
  return content.is(K::Tensor) && content.tensor() && !content.tensor()->parent &&
         content.tensor()->storage->owns_elements;
}

// Only what an operator has just given here: a variable of a loop or of a branch may be one tensor
// several times, and what is related to another may be that.
bool OpenLists::takes_over(const ListCell& list, const AbstractValue& item) {
  if (!ex_.plan.places || !list.is_open() || !owns_elements(list.open) || !item.is(K::Tensor) ||
      item.tensor()->parent)
    return false;
  StorageCell& s = *item.tensor()->storage;
  if (!s.computed || ex_.heap.found(s) || !s.alternatives.empty() || !s.dependents.empty() ||
      !s.entangled.empty())
    return false;
  s.computed = false;
  return true;
}

void hold(const AbstractValue& content, const AbstractValue& from) {
  if (content.is(K::Tuple) && columns_of(from)) {
    hold(content, as_columns(from));
    Heap::share(*first_memory(content), *cell_of(from));
  } else if (content.is(K::Tuple) && from.is(K::Tuple)) {
    for (size_t i = 0; i < content.tuple().size(); ++i) hold(content.tuple()[i], from.tuple()[i]);
  } else if ((content.is(K::Tensor) || content.is(K::Sequence)) &&
             (from.is(K::Tensor) || from.is(K::Sequence))) {
    Heap::share(*storage_of(content), *storage_of(from));
  }
}

std::shared_ptr<StorageCell> storage_of(const AbstractValue& s) {
  return s.is(K::Sequence) ? s.sequence()->storage : s.tensor()->storage;
}

// The elements from `start` to `end`, as slices of tensors count them.
AbstractValue OpenLists::slice(const AbstractValue& content, const AbstractValue& start,
                               const AbstractValue& end, int64_t step) {
  return each_column(content, [&](const AbstractValue& column, size_t) {
    if (!column.is(K::Sequence))
      return ex_.apply("aten::slice.Tensor", {column, AbstractValue::of(int64_t{0}), start, end,
                                              AbstractValue::of(step)});
    return ex_.contents.rearranged("aten::slice.t", column, {start, end, AbstractValue::of(step)},
                                   [&](const c10::impl::GenericList& list, size_t w) {
                                     torch::jit::Stack stack = {list, ex_.apply.value(start, w),
                                                                ex_.apply.value(end, w), step};
                                     ex_.operators.named("aten::slice.t").op->getOperation()(stack);
                                     return stack[0].toList();
                                   });
  });
}

AbstractValue OpenLists::backwards(const AbstractValue& sequence) {
  return ex_.contents.rearranged("aten::reverse.t", sequence, {},
                                 [](const c10::impl::GenericList& list, size_t) {
                                   c10::impl::GenericList out(list.elementType());
                                   for (size_t i = list.size(); i-- > 0;)
                                     out.push_back(list.get(i));
                                   return out;
                                 });
}

void OpenLists::refuse_kinds() const {
  ex_.site.refuse(
      "OE4036",
      "the elements of a list whose length depends on the input differ in kind; use one list for "
      "each kind");
}

// Content in columns with what `f` makes of each and of that column of `other`.
AbstractValue OpenLists::each_pair(
    const AbstractValue& content, const AbstractValue& other,
    const std::function<AbstractValue(const AbstractValue&, const AbstractValue&)>& f) {
  if (!other.is(K::Tuple) || other.tuple().size() != content.tuple().size()) refuse_kinds();
  std::vector<AbstractValue> out;
  for (size_t k = 0; k < other.tuple().size(); ++k)
    out.push_back(f(content.tuple()[k], other.tuple()[k]));
  return AbstractValue::of_tuple(std::move(out), content.type());
}

AbstractValue OpenLists::concat(AbstractValue a, AbstractValue b) {
  if (a.is(K::Tuple))
    return each_pair(a, b,
                     [&](const AbstractValue& x, const AbstractValue& y) { return concat(x, y); });
  if (!a.is(K::Sequence) && !b.is(K::Sequence) && !ex_.contents.stackable({a, true}, {b, true})) {
    if (!a.is(K::Tensor) || !b.is(K::Tensor)) refuse_kinds();
    a = ex_.contents.sequence_from(a);
  }
  if (a.is(K::Sequence) || b.is(K::Sequence)) {
    if (!a.is(K::Sequence)) a = ex_.contents.sequence_from(a);
    if (!b.is(K::Sequence)) b = ex_.contents.sequence_from(b);
    const AbstractValue both = ex_.contents.rearranged(
        "aten::add.t", a, {b}, [&](const c10::impl::GenericList& list, size_t w) {
          c10::impl::GenericList all = list.copy();
          for (const c10::IValue& v : ex_.apply.value(b, w).toListRef()) all.push_back(v);
          return all;
        });
    auto v = std::make_shared<SequenceValue>(*both.sequence());
    v->element = ex_.contents.join_elements(a.sequence()->element, b.sequence()->element);
    if (v->recorded) v->recorded->type = program::Type::list(ex_.recorder.type_of(v->element));
    return AbstractValue::of(std::shared_ptr<const SequenceValue>(std::move(v)));
  }
  return ex_.apply("aten::cat", {ex_.values.list({a, b}, c10::TensorType::get()),
                                 AbstractValue::of(int64_t{0})});
}

// The content with `element` before position `at` (none: at the end).
AbstractValue OpenLists::insert(AbstractValue content, const AbstractValue& element,
                                const AbstractValue* at) {
  const AbstractValue item = as_columns(element);
  if (content.is(K::Tuple))
    return each_pair(content, item, [&](const AbstractValue& column, const AbstractValue& part) {
      return insert(column, part, at);
    });
  if (!content.is(K::Sequence) && !ex_.contents.stackable({item, false}, {content, true})) {
    if (!content.is(K::Tensor) || !item.is(K::Tensor)) refuse_kinds();
    content = ex_.contents.sequence_from(content);
  }
  if (content.is(K::Sequence)) {
    TensorValue joined =
        ex_.contents.join_elements(content.sequence()->element, *ex_.views.read(item.tensor()));
    auto put = [&](c10::impl::GenericList& list, size_t w) {
      if (!at) return list.push_back(ex_.apply.value(item, w));
      const auto n = static_cast<int64_t>(list.size());
      int64_t i = ex_.apply.value(*at, w).toInt();
      i = std::clamp<int64_t>(i < 0 ? i + n : i, 0, n);
      list.insert(list.begin() + i, ex_.apply.value(item, w));
    };
    return at ? ex_.contents.change_sequence("aten::insert.t", content, {*at, item}, joined, put)
              : ex_.contents.change_sequence("aten::append.t", content, {item}, joined, put);
  }
  const AbstractValue one = ex_.contents.stack_items({item});
  if (!at) return concat(content, one);
  return concat(concat(slice(content, AbstractValue::none(), *at), one),
                slice(content, *at, AbstractValue::none()));
}

AbstractValue OpenLists::erase(const AbstractValue& content, const AbstractValue& index) {
  if (content.is(K::Sequence))
    return ex_.contents.change_sequence("aten::Delete.t", content, {index},
                                        content.sequence()->element,
                                        [&](c10::impl::GenericList& list, size_t w) {
                                          const auto n = static_cast<int64_t>(list.size());
                                          int64_t i = ex_.apply.value(index, w).toInt();
                                          if (i < 0) i += n;
                                          TORCH_CHECK(i >= 0 && i < n, "list index out of range");
                                          list.erase(list.begin() + i);
                                        });
  const bool known = index.is_constant_number(), last = known && index.c.at(0).toInt() == -1;
  const AbstractValue at = known && (last || index.c.at(0).toInt() >= 0)
                               ? index
                               : ex_.apply("aten::remainder.int", {index, length(content)});
  if (content.is(K::Tuple))
    return each_column(content,
                       [&](const AbstractValue& column, size_t) { return erase(column, at); });
  const AbstractValue before = slice(content, AbstractValue::none(), at);
  if (last) return before;
  return concat(before,
                slice(content, ex_.apply("aten::add.int", {at, AbstractValue::of(int64_t{1})}),
                      AbstractValue::none()));
}

AbstractValue OpenLists::replace(const AbstractValue& content, const AbstractValue& index,
                                 const AbstractValue& element) {
  const AbstractValue item = as_columns(element);
  if (content.is(K::Tuple))
    return each_pair(content, item, [&](const AbstractValue& column, const AbstractValue& part) {
      return replace(column, index, part);
    });
  if (content.is(K::Sequence) || !ex_.contents.stackable({item, false}, {content, true})) {
    const AbstractValue at = ex_.apply("aten::remainder.int", {index, length(content)});
    return insert(erase(content, at), item, &at);
  }
  const AbstractValue value =
      item.is_number() ? ex_.apply("prim::NumToTensor.Scalar", {item}) : item;
  return ex_.apply("aten::select_scatter", {content, value, AbstractValue::of(int64_t{0}), index});
}

// The content of a list, made open when it is not; `why` says what needs that.
AbstractValue OpenLists::content_of(const ListCell& list, const char* why) {
  if (list.is_open()) return list.open;
  if (auto content = ex_.contents.of(list.items, list.element)) return *content;
  ex_.site.refuse(
      "OE4030", std::string("a list is used with ") + why,
      "its elements differ in kind or shape, so no tensor or ONNX sequence can hold them: use "
      "elements of one kind and shape");
}

void OpenLists::set_open(ListCell& list, AbstractValue content,
                         const std::vector<AbstractValue>& added) {
  ex_.heap.change(list);
  // The elements are copies now: writing an original would have to change them too.
  for (const AbstractValue& item : added) hold(content, item);
  for (const AbstractValue& item : list.items) hold(content, item);
  if (list.is_open()) hold(content, list.open);
  list.items.clear();
  list.open = std::move(content);
}

}  // namespace oe::capture
