// The elements of open lists, whichever form they have: picked, cut out, added, replaced.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/frozen.h"
#include "lib/capture/open_lists.h"

namespace oe::capture {

using K = Sym::Kind;

Sym Executor::open_length(const Sym& content) {
  if (content.is(K::Tuple)) return open_length(content.tuple->at(0));
  if (content.is(K::Tensor)) return size_of(content, 0);
  Sym s;
  s.kind = K::Int;
  s.taint = Taint::Data;
  s.c = worlds_.map(content.sequence->c, [](const c10::IValue& list) {
    return static_cast<int64_t>(list.toListRef().size());
  });
  if (recorder_.on()) {
    program::Node* n = recorder_.record("aten::len.t", {{content.sequence->recorded}}, here());
    s.recorded = recorder_.add_output(n, program::Type::integer());
  }
  return s;
}

Sym Executor::number_in(const Sym& tensor, const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::IntType) return apply1("aten::Int.Tensor", {tensor});
  if (type->kind() == c10::TypeKind::FloatType) return apply1("aten::Float.Tensor", {tensor});
  if (type->kind() == c10::TypeKind::BoolType) return apply1("aten::Bool.Tensor", {tensor});
  return tensor;
}

Sym Executor::open_element(const Sym& content, const Sym& index, const c10::TypePtr& type) {
  if (content.is(K::Tuple)) {
    std::vector<Sym> out;
    const auto types = column_types(type, content.tuple->size());
    for (size_t k = 0; k < content.tuple->size(); ++k)
      out.push_back(open_element((*content.tuple)[k], index, types.at(k)));
    if (type->kind() == c10::TypeKind::TupleType) return Sym::of_tuple(std::move(out), type);
    // A copy: what it stands for must not be changed through it, nor the other way round.
    Sym e;
    if (type->kind() == c10::TypeKind::ListType) {
      e = make_list(std::move(out), type->containedType(0));
    } else {
      e.kind = K::Object;
      e.object = heap_.make<ObjectCell>();
      e.object->type = type->expect<c10::ClassType>();
      for (const auto& a : e.object->type->getAttributes()) e.object->attributes[a.getName()];
      size_t k = 0;
      for (auto& [name, value] : e.object->attributes) value = out.at(k++);
    }
    Heap::share(*cell_of(e), *first_memory(content));
    return e;
  }
  if (content.is(K::Sequence)) {
    const SequenceValue& seq = *content.sequence;
    auto v = std::make_shared<TensorValue>(seq.element);
    v->taint = Taint::Data;
    v->c = worlds_.map([&](size_t w) -> c10::IValue {
      if (!seq.c.has(w)) return {};
      const auto& list = seq.c.at(w).toListRef();
      const auto n = static_cast<int64_t>(list.size());
      int64_t i = to_ivalue(index, w).toInt();
      if (i < 0) i += n;
      if (i >= 0 && i < n) return list[static_cast<size_t>(i)];
      world_failed(w, "list index out of range");
      return {};
    });
    for (Axis& a : v->axes)
      if (!a.is_static() && a.id == 0) a = fresh_axis(Taint::Data);
    if (recorder_.on()) {
      program::Node* n =
          recorder_.record("aten::__getitem__.t", {{seq.recorded}, to_arg(index)}, here());
      v->recorded = recorder_.add_output(n, recorder_.type_of(*v));
    }
    return tied(fresh_tensor(v), content);
  }
  const Sym e = apply1("aten::select.int", {content, Sym::of(int64_t{0}), index});
  const Sym number = number_in(e, type);
  return number.is(K::Tensor) ? tied(number, content) : number;
}

// Another read of the list may be the same tensor: reading is fine, writing either is not.
Sym Executor::tied(Sym e, const Sym& content) {
  Heap::share(*e.tensor->storage, *storage_of(content));
  return e;
}

void Executor::hold(const Sym& content, const Sym& from) {
  if (content.is(K::Tuple) && columns_of(from)) {
    hold(content, as_columns(from));
    Heap::share(*first_memory(content), *cell_of(from));
  } else if (content.is(K::Tuple) && from.is(K::Tuple)) {
    for (size_t i = 0; i < content.tuple->size(); ++i) hold((*content.tuple)[i], (*from.tuple)[i]);
  } else if ((content.is(K::Tensor) || content.is(K::Sequence)) &&
             (from.is(K::Tensor) || from.is(K::Sequence))) {
    Heap::share(*storage_of(content), *storage_of(from));
  }
}

std::shared_ptr<StorageCell> Executor::storage_of(const Sym& s) {
  return s.is(K::Sequence) ? s.sequence->storage : s.tensor->storage;
}

// The elements from `start` to `end`, as slices of tensors count them.
Sym Executor::open_slice(const Sym& content, const Sym& start, const Sym& end, int64_t step) {
  if (content.is(K::Sequence))
    return rearranged(
        "aten::slice.t", content, {start, end, Sym::of(step)},
        [&](const c10::impl::GenericList& list, size_t w) {
          torch::jit::Stack stack = {list, to_ivalue(start, w), to_ivalue(end, w), step};
          op_named("aten::slice.t").op->getOperation()(stack);
          return stack[0].toList();
        });
  return each_column(content, [&](const Sym& t, size_t) {
    return apply1("aten::slice.Tensor", {t, Sym::of(int64_t{0}), start, end, Sym::of(step)});
  });
}

Sym Executor::backwards(const Sym& sequence) {
  return rearranged("aten::reverse.t", sequence, {},
                    [](const c10::impl::GenericList& list, size_t) {
                      c10::impl::GenericList out(list.elementType());
                      for (size_t i = list.size(); i-- > 0;) out.push_back(list.get(i));
                      return out;
                    });
}

Sym Executor::open_concat(Sym a, Sym b) {
  if (!a.is(K::Sequence) && !b.is(K::Sequence) && !stackable(a, b, true, true)) {
    if (!a.is(K::Tensor) || !b.is(K::Tensor))
      refuse("OE4036", "the elements of a list whose length depends on the input differ in kind");
    a = sequence_from(a);
  }
  if (a.is(K::Sequence) || b.is(K::Sequence)) {
    if (!a.is(K::Sequence)) a = sequence_from(a);
    if (!b.is(K::Sequence)) b = sequence_from(b);
    Sym both = rearranged("aten::add.t", a, {b}, [&](const c10::impl::GenericList& list, size_t w) {
      c10::impl::GenericList all = list.copy();
      for (const c10::IValue& v : to_ivalue(b, w).toListRef()) all.push_back(v);
      return all;
    });
    auto v = std::make_shared<SequenceValue>(*both.sequence);
    v->element = join_elements(a.sequence->element, b.sequence->element);
    if (v->recorded) v->recorded->type = program::Type::list(recorder_.type_of(v->element));
    both.sequence = std::move(v);
    return both;
  }
  if (a.is(K::Tuple)) {
    std::vector<Sym> out;
    for (size_t k = 0; k < a.tuple->size(); ++k)
      out.push_back(open_concat((*a.tuple)[k], (*b.tuple)[k]));
    return Sym::of_tuple(std::move(out), a.type);
  }
  return apply1("aten::cat", {make_list({a, b}, c10::TensorType::get()), Sym::of(int64_t{0})});
}

// The content with `item` before position `at` (none: at the end).
Sym Executor::open_insert(Sym content, const Sym& item, const Sym* at) {
  if (!content.is(K::Sequence) && !stackable(item, content, false, true)) {
    if (!content.is(K::Tensor) || !item.is(K::Tensor))
      refuse("OE4036", "the elements of a list whose length depends on the input differ in kind");
    content = sequence_from(content);
  }
  if (content.is(K::Sequence)) {
    TensorValue element = join_elements(content.sequence->element, *read(item.tensor));
    auto put = [&](c10::impl::GenericList& list, size_t w) {
      if (!at) return list.push_back(to_ivalue(item, w));
      const auto n = static_cast<int64_t>(list.size());
      int64_t i = to_ivalue(*at, w).toInt();
      i = std::clamp<int64_t>(i < 0 ? i + n : i, 0, n);
      list.insert(list.begin() + i, to_ivalue(item, w));
    };
    return at ? change_sequence("aten::insert.t", content, {*at, item}, element, put)
              : change_sequence("aten::append.t", content, {item}, element, put);
  }
  const Sym one = stack_items({item});
  if (!at) return open_concat(content, one);
  return open_concat(open_concat(open_slice(content, Sym::none(), *at), one),
                     open_slice(content, *at, Sym::none()));
}

Sym Executor::open_erase(const Sym& content, const Sym& index) {
  if (content.is(K::Sequence))
    return change_sequence("aten::Delete.t", content, {index}, content.sequence->element,
                           [&](c10::impl::GenericList& list, size_t w) {
                             const auto n = static_cast<int64_t>(list.size());
                             int64_t i = to_ivalue(index, w).toInt();
                             if (i < 0) i += n;
                             TORCH_CHECK(i >= 0 && i < n, "list index out of range");
                             list.erase(list.begin() + i);
                           });
  if (index.is_constant_number() && index.c.at(0).toInt() == -1)
    return open_slice(content, Sym::none(), index);
  Sym at = index;
  if (!index.is_constant_number() || index.c.at(0).toInt() < 0)
    at = apply1("aten::remainder.int", {index, open_length(content)});
  return open_concat(
      open_slice(content, Sym::none(), at),
      open_slice(content, apply1("aten::add.int", {at, Sym::of(int64_t{1})}), Sym::none()));
}

Sym Executor::open_replace(const Sym& content, const Sym& index, const Sym& element) {
  const Sym item = as_columns(element);
  if (content.is(K::Sequence) || !stackable(item, content, false, true)) {
    const Sym at = apply1("aten::remainder.int", {index, open_length(content)});
    return open_insert(open_erase(content, at), item, &at);
  }
  return each_column(content, [&](const Sym& t, size_t k) {
    Sym value = content.is(K::Tuple) ? (*item.tuple)[k] : item;
    if (value.is_number()) value = apply1("prim::NumToTensor.Scalar", {value});
    return apply1("aten::select_scatter", {t, value, Sym::of(int64_t{0}), index});
  });
}

// The content of a list, made open when it is not; `why` says what needs that.
Sym Executor::content_of(const ListCell& list, const char* why) {
  if (list.is_open()) return list.open;
  if (auto content = open_content(list.items)) return *content;
  refuse("OE4030", std::string("a list is used with ") + why,
         "its elements have no one kind and shape that a tensor or an ONNX sequence could hold");
}

void Executor::set_open(ListCell& list, Sym content, const std::vector<Sym>& added) {
  heap_.change(list);
  // The elements are copies now: writing an original would have to change them too.
  for (const Sym& item : added) hold(content, item);
  for (const Sym& item : list.items) hold(content, item);
  if (list.is_open()) hold(content, list.open);
  list.items.clear();
  list.open = std::move(content);
}

}  // namespace oe::capture
