// Open lists: lists whose length is not known at export, because a kept loop or a branch decides
// it or because they come from cutting a dynamic axis.
//
// Elements of one shape are stacked on a new axis 0 (numbers in a 1-D tensor, tuples column by
// column), so that every list operator is a tensor operator and works at every opset. Elements
// whose shapes differ are an ONNX sequence.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <limits>

#include "lib/capture/executor.h"
#include "lib/capture/join.h"

namespace oe::capture {
namespace {

using K = Sym::Kind;

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

// A list of known length, or an object, as an element: its parts. Others stay what they are.
Sym as_columns(const Sym& s) {
  const c10::TypePtr type = columns_of(s);
  if (!type && !s.is(K::Tuple)) return s;
  std::vector<Sym> parts;
  if (s.is(K::Object)) {
    for (const auto& [name, value] : s.object->attributes) parts.push_back(as_columns(value));
  } else {
    for (const Sym& e : s.is(K::List) ? s.list->items : *s.tuple) parts.push_back(as_columns(e));
  }
  return Sym::of_tuple(std::move(parts), type ? type : s.type);
}

// The types of the columns that elements of this type have.
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

}  // namespace

c10::TypePtr columns_of(const Sym& s) {
  if (s.is(K::List) && !s.list->is_open() && !s.list->items.empty())
    return c10::ListType::create(s.list->element);
  if (s.is(K::Object) && !s.object->object && !s.object->attributes.empty() &&
      s.object->attributes.size() == s.object->type->numAttributes())
    return s.object->type;
  return nullptr;
}

Cell* first_memory(const Sym& content) {
  const Sym* s = &content;
  while (s->is(K::Tuple)) s = &s->tuple->at(0);
  return memory_of(*s);
}

// Whether the two can be elements of one stack; either may be a whole stack already.
bool Executor::stackable(const Sym& a, const Sym& b, bool a_stacked, bool b_stacked) {
  if (columns_of(a) || columns_of(b))
    return stackable(as_columns(a), as_columns(b), a_stacked, b_stacked);
  if (a.is(K::Tuple)) {
    if (!b.is(K::Tuple) || a.tuple->size() != b.tuple->size()) return false;
    for (size_t i = 0; i < a.tuple->size(); ++i)
      if (!stackable((*a.tuple)[i], (*b.tuple)[i], a_stacked, b_stacked)) return false;
    return true;
  }
  if (a.is_number() || b.is_number())  // a stack beside it is one of the same list's numbers
    return (a.is_number() || (a_stacked && a.is(K::Tensor))) &&
           (b.is_number() || (b_stacked && b.is(K::Tensor))) &&
           (a_stacked || b_stacked || a.kind == b.kind);
  if (!a.is(K::Tensor) || !b.is(K::Tensor)) return false;
  const TensorValuePtr x = read(a.tensor), y = read(b.tensor);
  return x->ranked && y->ranked && example(*x).scalar_type() == example(*y).scalar_type() &&
         same_axes(*x, x->axes, *y, y->axes, a_stacked ? 1 : 0, b_stacked ? 1 : 0);
}

TensorValue Executor::element_type(const Sample& s) {
  if (s.sym.is(K::Sequence)) return s.sym.sequence->element;
  TensorValue t = *read(s.sym.tensor);
  if (!s.stacked) return t;
  t.axes.erase(t.axes.begin());
  const at::Tensor all = example(t);
  t.c = PerWorld::constant(all.size(0) ? all.select(0, 0) : all.new_zeros(all.sizes().slice(1)));
  return t;
}

Sym Executor::stack_items(const std::vector<Sym>& elements) {
  std::vector<Sym> items;
  for (const Sym& s : elements) items.push_back(as_columns(s));
  if (items[0].is(K::Tuple)) {
    std::vector<Sym> columns;
    for (size_t k = 0; k < items[0].tuple->size(); ++k) {
      std::vector<Sym> column;
      for (const Sym& s : items) column.push_back((*s.tuple)[k]);
      columns.push_back(stack_items(column));
    }
    return Sym::of_tuple(std::move(columns), items[0].type);
  }
  std::vector<Sym> tensors;
  for (const Sym& s : items)
    tensors.push_back(s.is(K::Tensor) ? s : apply1("prim::NumToTensor.Scalar", {s}));
  return apply1("aten::stack",
                {make_list(std::move(tensors), c10::TensorType::get()), Sym::of(int64_t{0})});
}

// A stack without elements, for elements like `element`. Nothing where a size they have is not
// known outside of the block that made it.
std::optional<Sym> Executor::empty_stack(const Sym& like, bool stacked) {
  const Sym element = as_columns(like);
  if (element.is(K::Tuple)) {
    std::vector<Sym> columns;
    for (const Sym& e : *element.tuple) {
      auto column = empty_stack(e, stacked);
      if (!column) return std::nullopt;
      columns.push_back(*column);
    }
    return Sym::of_tuple(std::move(columns), element.type);
  }
  std::vector<Sym> sizes = {Sym::of(int64_t{0})};
  c10::ScalarType type = element.is(K::Int)     ? c10::ScalarType::Long
                         : element.is(K::Float) ? c10::ScalarType::Double
                                                : c10::ScalarType::Bool;
  if (element.is(K::Tensor)) {
    const TensorValuePtr t = read(element.tensor);
    type = example(*t).scalar_type();
    for (size_t i = stacked ? 1 : 0; i < t->axes.size(); ++i) {
      if (t->axes[i].is_static()) {
        sizes.push_back(Sym::of(example(*t).size(static_cast<int64_t>(i))));
        continue;
      }
      Sym n;
      n.kind = K::Int;
      n.taint = t->axes[i].taint;
      n.axis_id = t->axes[i].id;
      n.c = PerWorld::sized(worlds_);
      for (size_t w = 0; w < worlds_; ++w)
        if (t->c.has(w)) n.c.set(w, t->c.at(w).toTensor().size(static_cast<int64_t>(i)));
      if (recorder_.on()) {
        n.recorded = recorder_.size_of(n.axis_id);
        if (!n.recorded) {
          const auto [source, axis] = recorder_.axis_source(n.axis_id);
          if (!source) return std::nullopt;
          program::Node* node =
              recorder_.record("aten::size.int", {{source}, {static_cast<int64_t>(axis)}}, here());
          n.recorded = recorder_.add_output(node, program::Type::integer());
          recorder_.remember_size(n.axis_id, n.recorded);
        }
      }
      sizes.push_back(n);
    }
  }
  return apply1("aten::zeros",
                {make_list(std::move(sizes), c10::IntType::get()),
                 Sym::of(static_cast<int64_t>(type)), Sym::none(), Sym::none(), Sym::none()});
}

// --- sequences

Sym Executor::sequence(program::Arg recorded, PerWorld c, TensorValue element) {
  auto v = std::make_shared<SequenceValue>();
  v->c = std::move(c);
  element.taint = Taint::Data;
  element.number = nullptr;
  element.recorded = nullptr;
  v->element = std::move(element);
  v->recorded = recorded.value();
  Sym s;
  s.kind = K::Sequence;
  s.sequence = std::move(v);
  return s;
}

TensorValue Executor::join_elements(const TensorValue& a, const TensorValue& b) {
  TensorValue t = *join_types(*this, a, b, Taint::Data);
  t.c = a.c;
  for (size_t i = 0; i < t.axes.size(); ++i)
    if (!t.axes[i].is_static() && (t.axes[i].id != a.axes[i].id || t.axes[i].id != b.axes[i].id))
      t.axes[i] = {Taint::Data, 0};
  return t;
}

// Runs `change` on the list of every world and records the operator that does the same.
Sym Executor::change_sequence(const std::string& op, const Sym& s, const std::vector<Sym>& args,
                              TensorValue element,
                              const std::function<void(c10::impl::GenericList&, size_t)>& change) {
  PerWorld c = PerWorld::sized(worlds_);
  for (size_t w = 0; w < worlds_; ++w) {
    if (!active(w) || !s.sequence->c.has(w)) continue;
    c10::impl::GenericList list = s.sequence->c.at(w).toList().copy();
    try {
      change(list, w);
    } catch (const c10::Error& e) {
      world_failed(w, e.what_without_backtrace());
      continue;
    }
    c.set(w, list);
  }
  program::Arg recorded;
  if (recorder_.on()) {
    program::Args all = {{s.sequence->recorded}};
    for (const Sym& a : args) all.push_back(to_arg(a));
    program::Node* n = recorder_.record(op, std::move(all), here());
    recorded = {recorder_.add_output(n, program::Type::list(recorder_.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

Sym Executor::rearranged(
    const std::string& op, const Sym& s, const std::vector<Sym>& args,
    const std::function<c10::impl::GenericList(const c10::impl::GenericList&, size_t)>& f) {
  return change_sequence(op, s, args, s.sequence->element,
                         [&](c10::impl::GenericList& list, size_t w) { list = f(list, w); });
}

// `like` gives the element type of an empty sequence.
Sym Executor::sequence_of(const std::vector<Sym>& items, const TensorValue* like) {
  PerWorld c = PerWorld::sized(worlds_);
  for (size_t w = 0; w < worlds_; ++w) {
    if (!active(w)) continue;
    c10::impl::GenericList list(c10::TensorType::get());
    for (const Sym& e : items) list.push_back(to_ivalue(e, w));
    c.set(w, list);
  }
  TensorValue element = like ? *like : *read(items[0].tensor);
  for (const Sym& e : items) element = join_elements(element, *read(e.tensor));
  program::Arg recorded;
  if (recorder_.on()) {
    program::Args args;
    for (const Sym& e : items) args.push_back(to_arg(e));
    program::Node* n = recorder_.record("prim::ListConstruct", std::move(args), here());
    recorded = {recorder_.add_output(n, program::Type::list(recorder_.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

// A stack as a sequence.
Sym Executor::sequence_from(const Sym& stack) {
  const TensorValuePtr t = read(stack.tensor);
  TensorValue element = element_type({stack, true});
  PerWorld c = PerWorld::sized(worlds_);
  for (size_t w = 0; w < worlds_; ++w) {
    if (!t->c.has(w)) continue;
    c10::impl::GenericList list(c10::TensorType::get());
    const at::Tensor& all = t->c.at(w).toTensor();
    for (int64_t i = 0; i < all.size(0); ++i) list.push_back(all.select(0, i));
    c.set(w, list);
  }
  program::Arg recorded;
  if (recorder_.on()) {
    program::Node* n =
        recorder_.record("aten::unbind.int", {{recorder_.value(t)}, {int64_t{0}}}, here());
    recorded = {recorder_.add_output(n, program::Type::list(recorder_.type_of(element)))};
  }
  return sequence(recorded, std::move(c), std::move(element));
}

// --- the elements, whichever form they have

// The content of an open list with these elements. Nothing when no form holds them all.
std::optional<Sym> Executor::open_content(const std::vector<Sym>& items) {
  std::vector<Sample> samples;
  for (const Sym& e : items) samples.push_back({e, false});
  switch (common_form(*this, samples)) {
    case Form::Stack:
      return stack_items(items);
    case Form::Sequence:
      return sequence_of(items, nullptr);
    default:
      return std::nullopt;
  }
}

Sym Executor::open_length(const Sym& content) {
  if (content.is(K::Tuple)) return open_length(content.tuple->at(0));
  if (content.is(K::Tensor)) return size_of(content, 0);
  Sym s;
  s.kind = K::Int;
  s.taint = Taint::Data;
  s.c = PerWorld::sized(worlds_);
  for (size_t w = 0; w < worlds_; ++w)
    if (content.sequence->c.has(w))
      s.c.set(w, static_cast<int64_t>(content.sequence->c.at(w).toListRef().size()));
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
      e.object = std::make_shared<ObjectCell>();
      e.object->type = type->expect<c10::ClassType>();
      for (const auto& a : e.object->type->getAttributes()) e.object->attributes[a.getName()];
      size_t k = 0;
      for (auto& [name, value] : e.object->attributes) value = out.at(k++);
    }
    share(*cell_of(e), *first_memory(content));
    return e;
  }
  if (content.is(K::Sequence)) {
    const SequenceValue& seq = *content.sequence;
    auto v = std::make_shared<TensorValue>(seq.element);
    v->taint = Taint::Data;
    v->c = PerWorld::sized(worlds_);
    for (size_t w = 0; w < worlds_; ++w) {
      if (!active(w) || !seq.c.has(w)) continue;
      const auto& list = seq.c.at(w).toListRef();
      const auto n = static_cast<int64_t>(list.size());
      int64_t i = to_ivalue(index, w).toInt();
      if (i < 0) i += n;
      if (i < 0 || i >= n)
        world_failed(w, "list index out of range");
      else
        v->c.set(w, list[static_cast<size_t>(i)]);
    }
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
  share(*e.tensor->storage, *storage_of(content));
  return e;
}

void Executor::hold(const Sym& content, const Sym& from) {
  if (content.is(K::Tuple) && columns_of(from)) {
    hold(content, as_columns(from));
    share(*first_memory(content), *cell_of(from));
  } else if (content.is(K::Tuple) && from.is(K::Tuple)) {
    for (size_t i = 0; i < content.tuple->size(); ++i) hold((*content.tuple)[i], (*from.tuple)[i]);
  } else if ((content.is(K::Tensor) || content.is(K::Sequence)) &&
             (from.is(K::Tensor) || from.is(K::Sequence))) {
    share(*storage_of(content), *storage_of(from));
  }
}

std::shared_ptr<StorageCell> Executor::storage_of(const Sym& s) {
  return s.is(K::Sequence) ? s.sequence->storage : s.tensor->storage;
}

namespace {

// Applies `f` to every column of a stack.
Sym each_column(const Sym& content, const std::function<Sym(const Sym&, size_t)>& f, size_t k = 0) {
  if (!content.is(K::Tuple)) return f(content, k);
  std::vector<Sym> out;
  for (size_t i = 0; i < content.tuple->size(); ++i)
    out.push_back(each_column((*content.tuple)[i], f, i));
  return Sym::of_tuple(std::move(out), content.type);
}

bool is_sequence(const Sym& content) { return content.is(K::Sequence); }

}  // namespace

// The elements from `start` to `end`, as slices of tensors count them.
Sym Executor::open_slice(const Sym& content, const Sym& start, const Sym& end, int64_t step) {
  if (is_sequence(content))
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
  if (!is_sequence(a) && !is_sequence(b) && !stackable(a, b, true, true)) {
    if (!a.is(K::Tensor) || !b.is(K::Tensor))
      refuse("OE4036", "the elements of a list whose length depends on the input differ in kind");
    a = sequence_from(a);
  }
  if (is_sequence(a) || is_sequence(b)) {
    if (!is_sequence(a)) a = sequence_from(a);
    if (!is_sequence(b)) b = sequence_from(b);
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
  if (!is_sequence(content) && !stackable(item, content, false, true)) {
    if (!content.is(K::Tensor) || !item.is(K::Tensor))
      refuse("OE4036", "the elements of a list whose length depends on the input differ in kind");
    content = sequence_from(content);
  }
  if (is_sequence(content)) {
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
  if (is_sequence(content))
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
  if (is_sequence(content) || !stackable(item, content, false, true)) {
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
  change(list);
  // The elements are copies now: writing an original would have to change them too.
  for (const Sym& item : added) hold(content, item);
  for (const Sym& item : list.items) hold(content, item);
  if (list.is_open()) hold(content, list.open);
  list.items.clear();
  list.open = std::move(content);
}

bool Executor::open_list_call(const OpInfo& op, const std::vector<Sym>& args,
                              std::vector<Sym>& out) {
  ListCell& list = *args[0].list;
  const std::string name = op.base.substr(op.base.find("::") + 2);
  const Sym last = Sym::of(int64_t{-1});
  auto content = [&](const char* why = "a computed index") { return content_of(list, why); };
  // Another list with elements of this one.
  auto made = [&](Sym c) {
    for (const Sym& item : list.items) hold(c, item);
    if (list.is_open()) hold(c, list.open);
    Sym l = make_list({}, list.element);
    l.list->open = std::move(c);
    return l;
  };
  // A list of known length keeps it: its elements are taken out of the content again.
  auto store = [&](const Sym& c, const std::vector<Sym>& involved, size_t length) {
    const bool open = list.is_open() || is_sequence(c);
    set_open(list, c, involved);
    if (open) return;
    for (size_t i = 0; i < length; ++i)
      list.items.push_back(open_element(c, Sym::of(static_cast<int64_t>(i)), list.element));
    list.open = Sym{};
    for (const Sym& e : list.items)
      for (const Sym& other : involved) hold(e, other);
  };
  if (name == "len") {
    out = {open_length(list.open)};
  } else if (name == "__getitem__") {
    Sym c = content();
    out = {open_element(c, args[1], list.element)};
    if (!list.is_open())  // the stack is no part of the list: the elements themselves are
      for (const Sym& item : list.items) hold(out[0], item);
  } else if (name == "_set_item") {
    std::vector<Sym> all = list.items;
    all.push_back(args[2]);
    store(open_replace(content(), args[1], args[2]), all, list.items.size());
    out = {args[0]};
  } else if (name == "append") {
    set_open(list, open_insert(content(), args[1], nullptr), {args[1]});
    out = {args[0]};
  } else if (name == "insert") {
    std::vector<Sym> all = list.items;
    all.push_back(args[2]);
    store(open_insert(content(), args[2], &args[1]), all, all.size());
  } else if (name == "extend" || name == "add_" || name == "add") {
    const ListCell& more = *args[1].list;
    Sym c;
    std::vector<Sym> added = list.items;
    if (!list.is_open() && list.items.empty()) {
      c = more.open;
    } else if (!more.is_open()) {
      c = content();
      for (const Sym& e : more.items) {
        c = open_insert(c, e, nullptr);
        added.push_back(e);
      }
    } else {
      c = open_concat(content("another list added to it"), more.open);
    }
    if (name == "add") {
      out = {made(c)};
      for (const Sym& e : added) hold(c, e);
      if (more.is_open()) hold(c, more.open);
    } else {
      if (more.is_open()) added.push_back(more.open);
      set_open(list, c, added);
      out = {args[0]};
    }
  } else if (name == "pop" || name == "Delete") {
    const Sym index = args.size() > 1 ? args[1] : last;
    const std::vector<Sym> all = list.items;
    Sym c = content();
    if (name == "pop") {
      out = {open_element(c, index, list.element)};
      for (const Sym& item : all) hold(out[0], item);
    }
    store(open_erase(c, index), all, all.size() - 1);
  } else if (name == "clear") {
    change(list);
    list.open = Sym{};
    list.items.clear();
  } else if (name == "reverse") {
    if (is_sequence(list.open)) {
      set_open(list, backwards(list.open), {});
      return true;
    }
    set_open(list,
             each_column(list.open,
                         [&](const Sym& t, size_t) {
                           return apply1("aten::flip", {t, make_list({Sym::of(int64_t{0})},
                                                                     c10::IntType::get())});
                         }),
             {});
  } else if (name == "slice") {
    const int64_t step = known_int(args[3], "step");
    Sym c = content("computed bounds");
    if (step > 0) {
      out = {made(open_slice(c, args[1], args[2], step))};
    } else if (step == -1 && args[1].is(K::None) && args[2].is(K::None) && is_sequence(c)) {
      out = {made(backwards(c))};
    } else if (step == -1 && args[1].is(K::None) && args[2].is(K::None)) {
      out = {made(each_column(c, [&](const Sym& t, size_t) {
        return apply1("aten::flip", {t, make_list({Sym::of(int64_t{0})}, c10::IntType::get())});
      }))};
    } else {
      return false;
    }
  } else if (name == "mul") {
    Sym c = content("a computed count");
    if (is_sequence(c)) return false;
    out = {made(each_column(c, [&](const Sym& t, size_t) {
      std::vector<Sym> repeats(read(t.tensor)->axes.size(), Sym::of(int64_t{1}));
      repeats[0] = apply1("prim::max.int", {args[1], Sym::of(int64_t{0})});
      return apply1("aten::repeat", {t, make_list(std::move(repeats), c10::IntType::get())});
    }))};
  } else if (name == "copy" || name == "list") {
    out = {made(list.open)};
  } else if (name == "__contains__" && list.open.is(K::Tensor) && args[1].is_number()) {
    Sym same = apply1("aten::eq.Scalar", {list.open, args[1]});
    out = {apply1("aten::Bool.Tensor", {apply1("aten::any", {same})})};
  } else {
    return false;
  }
  return true;
}

Sym Executor::open_output(const Sym& list, const std::string& name) {
  const Sym& content = list.list->open;
  if (content.is(K::Tuple))
    throw Failure(ExitCode::Unsupported, "OE4043",
                  "output " + name +
                      " is a list of tuples, lists or objects whose length depends on the input",
                  "return one list for each field");
  const bool tensors = list.list->element->kind() == c10::TypeKind::TensorType;
  return content.is(K::Tensor) && tensors ? sequence_from(content) : content;
}

c10::IValue Executor::open_ivalue(const Sym& content, const c10::TypePtr& type, size_t w) {
  if (content.is(K::Sequence)) return to_ivalue(content, w);
  c10::impl::GenericList list(type);
  const Sym* column = &content;
  while (column->is(K::Tuple)) column = &column->tuple->at(0);
  const int64_t n = to_ivalue(*column, w).toTensor().size(0);
  const std::function<c10::IValue(const Sym&, const c10::TypePtr&, int64_t)> at =
      [&](const Sym& s, const c10::TypePtr& t, int64_t i) -> c10::IValue {
    if (s.is(K::Tuple)) {
      std::vector<c10::IValue> items;
      const auto types = column_types(t, s.tuple->size());
      for (size_t k = 0; k < s.tuple->size(); ++k)
        items.push_back(at((*s.tuple)[k], types.at(k), i));
      if (t->kind() == c10::TypeKind::ListType) {
        c10::impl::GenericList inner(t->containedType(0));
        for (c10::IValue& v : items) inner.push_back(std::move(v));
        return inner;
      }
      if (t->kind() != c10::TypeKind::TupleType)
        refuse("OE4038", "a list of objects whose length depends on the input is used as a whole");
      return c10::ivalue::Tuple::create(std::move(items));
    }
    const at::Tensor e = to_ivalue(s, w).toTensor().select(0, i);
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
bool Executor::cuts_dynamic_axis(const OpInfo& op, const std::vector<Sym>& args) {
  const bool unbind = op.base == "aten::unbind";
  if (!unbind && op.name != "aten::split.Tensor" && op.name != "aten::split" &&
      op.base != "aten::unsafe_split" && op.base != "aten::chunk" &&
      op.base != "aten::unsafe_chunk")
    return false;
  if (concrete_ >= 0 || !args[0].is(K::Tensor)) return false;
  const auto dim = op.schema->argumentIndexWithName("dim");
  const TensorValuePtr t = read(args[0].tensor);
  if (!dim || !t->ranked || t->axes.empty()) return false;
  const Sym& d = args[static_cast<size_t>(*dim)];
  if (!d.is_constant_number()) return false;
  const int64_t at = d.c.at(0).toInt();
  const auto rank = static_cast<int64_t>(t->axes.size());
  if (at < -rank || at >= rank) return false;
  return !t->axes[static_cast<size_t>(at < 0 ? at + rank : at)].is_static() ||
         (!unbind && args[1].taint != Taint::Constant);
}

Sym Executor::open_split(const OpInfo& op, const std::vector<Sym>& args) {
  Sym l = make_list({}, c10::TensorType::get());
  const Sym& dim = args[static_cast<size_t>(*op.schema->argumentIndexWithName("dim"))];
  if (op.base == "aten::unbind") {
    l.list->open = apply1("aten::movedim.int", {args[0], dim, Sym::of(int64_t{0})});
  } else {
    const TensorValuePtr t = read(args[0].tensor);
    TensorValue element = *t;
    const int64_t at = dim.c.at(0).toInt();
    const size_t axis = at < 0 ? static_cast<size_t>(at) + t->axes.size() : static_cast<size_t>(at);
    element.axes[axis] = {Taint::Data, 0};
    PerWorld c = PerWorld::sized(worlds_);
    for (size_t w = 0; w < worlds_; ++w) {
      if (!active(w)) continue;
      try {
        torch::jit::Stack stack;
        for (const Sym& a : args) stack.push_back(to_ivalue(a, w));
        op.op->getOperation()(stack);
        c10::impl::GenericList list(c10::TensorType::get());
        for (const c10::IValue& v : stack[0].toListRef()) list.push_back(v);
        c.set(w, list);
      } catch (const c10::Error& e) {
        world_failed(w, e.what_without_backtrace());
      }
    }
    program::Arg recorded;
    if (recorder_.on()) {
      program::Args all;
      for (const Sym& a : args) all.push_back(to_arg(a));
      program::Node* n = recorder_.record(op.name, std::move(all), here());
      recorded = {recorder_.add_output(n, program::Type::list(recorder_.type_of(element)))};
    }
    l.list->open = sequence(recorded, std::move(c), std::move(element));
  }
  share(*storage_of(l.list->open), *args[0].tensor->storage);
  return l;
}

// Operators on whole open lists that are operators on their stack.
std::optional<std::vector<Sym>> Executor::call_on_open(const OpInfo& op,
                                                       const std::vector<Sym>& args) {
  const Sym& content = args[0].list->open;
  if (content.is(K::Tuple)) return std::nullopt;
  const bool numbers = args[0].list->element->kind() != c10::TypeKind::TensorType;
  const Sym zero = Sym::of(int64_t{0});
  if (numbers && op.base == "aten::tensor") {
    const bool floats = args[0].list->element->kind() == c10::TypeKind::FloatType;
    Sym type = args[1];
    if (type.is(K::None))
      type = Sym::of(static_cast<int64_t>(floats ? c10::get_default_dtype_as_scalartype()
                                                 : example(*read(content.tensor)).scalar_type()));
    return {
        {apply1("aten::to.dtype", {content, type, Sym::of(false), Sym::of(true), Sym::none()})}};
  }
  if (op.base == "aten::any" || op.base == "aten::all") {
    const bool bools = args[0].list->element->kind() == c10::TypeKind::BoolType;
    if (!bools) return std::nullopt;
    return {{apply1("aten::Bool.Tensor", {apply1(op.base, {content})})}};
  }
  if (numbers && (op.base == "prim::max" || op.base == "prim::min" || op.base == "aten::sum")) {
    const bool ints = args[0].list->element->kind() == c10::TypeKind::IntType;
    Sym t;
    if (op.base == "aten::sum") {
      t = apply1("aten::sum", {content, Sym::none()});
    } else {
      const bool max = op.base == "prim::max";
      Sym counted = content;  // NaN counts only where it is the first
      if (!ints)
        counted = apply1("aten::masked_fill.Scalar",
                         {content, apply1("aten::isnan", {content}),
                          Sym::of(max ? -std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::infinity())});
      t = apply1(max ? "aten::max" : "aten::min", {counted});
      if (!ints) {
        const Sym first =
            apply1("aten::select.int", {content, Sym::of(int64_t{0}), Sym::of(int64_t{0})});
        t = apply1("aten::where.self", {apply1("aten::isnan", {first}), first, t});
      }
    }
    return {{number_in(t, args[0].list->element)}};
  }
  if (numbers || (op.base != "aten::stack" && op.base != "aten::cat" && op.base != "aten::concat"))
    return std::nullopt;
  if (is_sequence(content))
    return apply(op_named(op.base == "aten::stack" ? "aten::stack" : "aten::cat"), args);
  const auto rank = static_cast<int64_t>(read(content.tensor)->axes.size());
  int64_t dim = known_int(args[1], "dim");
  if (op.base == "aten::stack") {
    if (dim < 0) dim += rank;
    if (dim == 0) return {{fresh_tensor(read(content.tensor))}};
    return {{apply1("aten::movedim.int", {content, zero, Sym::of(dim)})}};
  }
  if (dim < 0) dim += rank - 1;
  Sym t = dim == 0 ? content : apply1("aten::movedim.int", {content, zero, Sym::of(dim)});
  return {{apply1("aten::flatten.using_ints", {t, Sym::of(dim), Sym::of(dim + 1)})}};
}

}  // namespace oe::capture
