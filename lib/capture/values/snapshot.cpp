// Freezing and comparing of abstract values.
#include "lib/capture/values/snapshot.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
const void* identity(const AbstractValue& s) {
  switch (s.kind) {
    case K::Tensor:
      return s.tensor().get();
    case K::List:
      return s.list().get();
    case K::Dict:
      return s.dict().get();
    case K::Object:
      return s.object().get();
    default:
      return nullptr;
  }
}

bool container(const AbstractValue& s) {
  return s.is(K::Tuple) || s.is(K::List) || s.is(K::Dict) || s.is(K::Object) || s.is(K::Maybe) ||
         s.is(K::ViewList);
}

const char* describe(const AbstractValue& s) {
  switch (s.kind) {
    case K::None:
      return "None";
    case K::Tensor:
      return "a tensor";
    case K::Int:
    case K::Float:
    case K::Bool:
      return "a number";
    case K::List:
      return "a list";
    case K::Dict:
      return "a dict";
    case K::Tuple:
      return "a tuple";
    case K::Object:
      return "an object";
    case K::Maybe:
      return "None or a value";
    default:
      return "a value";
  }
}

program::Arg leaf_arg(Executor& ex, const Snapshot& f) {
  if (f.tensor) return {ex.recorder.value(f.tensor)};
  return ex.apply.arg(f.sym);
}

bool leafy(const AbstractValue& s) { return s.is(K::Tensor) || s.is_number() || s.is(K::Sequence); }

AbstractValue thaw(Executor& ex, const Snapshot& f) {
  if (f.tensor) return ex.values.tensor(f.tensor);
  if (f.sym.is(K::ViewList)) return ex.places.with(f.sym, thaw(ex, f.items[0]));
  const c10::TypePtr columns = f.open ? nullptr : columns_of(f.sym);
  if (!columns && !f.sym.is(K::Tuple)) return f.sym;
  std::vector<AbstractValue> items;
  for (const Snapshot& e : f.items) items.push_back(thaw(ex, e));
  return AbstractValue::of_tuple(std::move(items), columns ? columns : f.sym.type());
}

void add_samples(Executor& ex, const Snapshot& list, std::vector<Sample>& out) {
  for (const Snapshot& e : list.items) out.push_back({thaw(ex, e), list.open});
  // In front: those that tell what an element is.
  std::ranges::stable_partition(out, [](const Sample& s) { return !s.sym.is(K::ViewList); });
}

Cell* cell_of(const AbstractValue& s) {
  return s.is(K::List)     ? static_cast<Cell*>(s.list().get())
         : s.is(K::Dict)   ? static_cast<Cell*>(s.dict().get())
         : s.is(K::Object) ? static_cast<Cell*>(s.object().get())
                           : nullptr;
}

Cell* memory_of(const AbstractValue& s) {
  return s.tensor() && s.is(K::Tensor)       ? s.tensor()->storage.get()
         : s.sequence() && s.is(K::Sequence) ? s.sequence()->storage.get()
                                             : cell_of(s);
}

Snapshot as_maybe(const Snapshot& f) {
  if (f.sym.is(K::Maybe)) return f;
  Snapshot present, value = f;
  present.sym = AbstractValue::of(!f.sym.is(K::None));
  if (f.sym.is(K::None)) value = Snapshot{};
  Snapshot out;
  out.sym = AbstractValue::maybe(present.sym, value.sym);
  out.items = {std::move(present), std::move(value)};
  return out;
}

bool has_sequence(const AbstractValue& content) {
  if (content.is(K::Tuple)) return std::ranges::any_of(content.tuple(), has_sequence);
  return content.is(K::Sequence) || content.is(K::ViewList);
}

Form common_form(Executor& ex, const std::vector<Sample>& samples) {
  if (samples.empty()) return Form::None;
  bool stack = true, columns = true;
  const Sample* element = nullptr;  // one that is no stack, if there is any
  for (const Sample& s : samples) {
    stack = stack && !has_sequence(s.sym);
    if (!s.stacked && !element) element = &s;
  }
  if (!element) element = &samples[0];
  for (const Sample& s : samples) {
    stack = stack && ex.contents.stackable(*element, s);
    columns = columns && ex.contents.same_columns(*element, s);
  }
  return stack ? Form::Stack : columns ? Form::Sequence : Form::None;
}

std::optional<Snapshot> opened(Executor& ex, const Snapshot& list, Form form,
                               const Sample& sample) {
  std::optional<AbstractValue> content;
  if (list.open) {
    content = ex.places.copied(thaw(ex, list.items[0]));
    if (form == Form::Sequence)
      content = ex.contents.as_sequences(*content, list.sym.list()->element);
  } else {
    std::vector<AbstractValue> items;
    for (const Snapshot& e : list.items) items.push_back(thaw(ex, e));
    content = form == Form::Sequence
                  ? ex.contents.sequences_of(items, sample, list.sym.list()->element)
              : items.empty() ? ex.contents.empty_stack(sample.sym, sample.stacked)
                              : ex.contents.stack_items(items);
  }
  if (!content) return std::nullopt;
  const bool tensors = list.sym.list()->element->kind() == c10::TypeKind::TensorType;
  if (tensors && !list.open && list.items.empty() && content->is(K::Tensor))
    content->tensor()->storage->owns_elements = true;
  const std::function<void(const AbstractValue&, const Snapshot&)> holds =
      [&](const AbstractValue& c, const Snapshot& f) {
        if (!c.is(K::Tuple) || f.items.size() != c.tuple().size()) return hold(c, f.sym);
        for (size_t i = 0; i < f.items.size(); ++i) holds(c.tuple()[i], f.items[i]);
        if (Cell* cell = cell_of(f.sym)) Heap::share(*first_memory(c), *cell);
      };
  for (const Snapshot& e : list.items) holds(*content, e);
  Snapshot out = list;
  out.open = true;
  out.items = {freeze(ex, *content)};
  return out;
}

bool same_structure(Executor& ex, const Snapshot& a, const Snapshot& b) {
  if (a.sym.kind != b.sym.kind || a.items.size() != b.items.size()) return false;
  if (a.names != b.names || a.keys.size() != b.keys.size()) return false;
  for (size_t i = 0; i < a.keys.size(); ++i)
    if (!equal_constants(a.keys[i], b.keys[i])) return false;
  if (a.open != b.open) return false;
  if (a.sym.is(K::ViewList)) return ex.places.same(*a.sym.places(), *b.sym.places());
  if (!a.open) return true;
  if (a.items[0].sym.is(K::ViewList) || b.items[0].sym.is(K::ViewList))
    return same_structure(ex, a.items[0], b.items[0]);
  return ex.contents.one_form(thaw(ex, a.items[0]), thaw(ex, b.items[0]));
}

namespace {

void freeze_list(Executor& ex, const ListCell& list, Snapshot& f) {
  f.open = list.is_open();
  if (f.open) f.items.push_back(freeze(ex, list.open));
  for (const AbstractValue& e : list.items) f.items.push_back(freeze(ex, e));
}

}  // namespace

Snapshot freeze(Executor& ex, const AbstractValue& s) {
  Snapshot f;
  f.sym = s;
  switch (s.kind) {
    case K::Tensor:
      f.tensor = ex.views.read(s.tensor());
      break;
    case K::Tuple:
      for (const AbstractValue& e : s.tuple()) f.items.push_back(freeze(ex, e));
      break;
    case K::Maybe:
      for (const AbstractValue& e : s.tuple()) f.items.push_back(freeze(ex, e));
      break;
    case K::List:
      freeze_list(ex, *s.list(), f);
      break;
    case K::ViewList:
      f.items.push_back(freeze(ex, s.places()->positions));
      break;
    case K::Dict:
      f.unordered = s.dict()->unordered;
      for (const auto& [k, v] : s.dict()->items) {
        f.keys.push_back(k);
        f.items.push_back(freeze(ex, v));
      }
      break;
    case K::Object:
      if (s.object()->object) break;  // the model's own: changes are found by its cell
      for (const auto& [k, v] : s.object()->attributes) {
        f.names.push_back(k);
        f.items.push_back(freeze(ex, v));
      }
      break;
    default:
      break;
  }
  return f;
}

Snapshot freeze_cell(Executor& ex, Cell& c) {
  Snapshot f;
  if (auto* storage = dynamic_cast<StorageCell*>(&c)) {
    f.sym.kind = K::Tensor;
    f.tensor = storage->base;
  } else if (auto* handle = dynamic_cast<TensorHandle*>(&c)) {
    f.tensor = ex.views.read(std::static_pointer_cast<TensorHandle>(c.shared_from_this()));
    f.sym = AbstractValue::of(ex.heap.bare_place(*handle));
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    f.sym = AbstractValue::of(std::static_pointer_cast<ListCell>(c.shared_from_this()));
    freeze_list(ex, *list, f);
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    f.sym = AbstractValue::of(std::static_pointer_cast<DictCell>(c.shared_from_this()));
    f.unordered = dict->unordered;
    for (const auto& [k, v] : dict->items) {
      f.keys.push_back(k);
      f.items.push_back(freeze(ex, v));
    }
  } else if (auto* object = dynamic_cast<ObjectCell*>(&c)) {
    f.sym = AbstractValue::of(std::static_pointer_cast<ObjectCell>(c.shared_from_this()));
    for (const auto& [k, v] : object->attributes) {
      f.names.push_back(k);
      f.items.push_back(freeze(ex, v));
    }
  }
  f.content_only = true;
  return f;
}

void set_cell(Executor& ex, Cell& c, const AbstractValue& content) {
  ex.heap.touch(c);
  if (auto* storage = dynamic_cast<StorageCell*>(&c)) {
    ex.heap.set_base(*storage, ex.views.read(content.tensor()));
  } else if (dynamic_cast<TensorHandle*>(&c)) {
    ex.views.look_as(std::static_pointer_cast<TensorHandle>(c.shared_from_this()),
                     *content.tensor());
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    list->items = content.list()->items;
    list->open = content.list()->open;
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    dict->items = content.dict()->items;
    dict->unordered = content.dict()->unordered;
  } else if (auto* object = dynamic_cast<ObjectCell*>(&c)) {
    object->attributes = content.object()->attributes;
  }
}

bool identical(Executor& ex, const Snapshot& a, const Snapshot& b) {
  if (a.sym.kind != b.sym.kind) return false;
  if (a.content_only && b.content_only && a.sym.tensor() && b.sym.tensor())
    return same_place(ex, *a.sym.tensor(), *b.sym.tensor());
  if (!a.content_only && !b.content_only && identity(a.sym)) {
    if (identity(a.sym) == identity(b.sym)) return true;
    if (!a.tensor) return false;
    // Two tensors with one content, both fresh: which of them it is cannot be told.
    return a.tensor == b.tensor && a.sym.tensor()->storage == b.sym.tensor()->storage;
  }
  if (a.tensor) return a.tensor == b.tensor;
  if (container(a.sym)) {
    if (!same_structure(ex, a, b)) return false;
    for (size_t i = 0; i < a.items.size(); ++i)
      if (!identical(ex, a.items[i], b.items[i])) return false;
    return true;
  }
  if (a.sym.is(K::Uninitialized) || a.sym.is(K::None)) return true;
  if (a.sym.is(K::Sequence)) return a.sym.sequence() == b.sym.sequence();
  if (a.sym.recorded) return a.sym.recorded == b.sym.recorded;
  return equal_constants(a.sym, b.sym);
}

TensorValuePtr join_types(Executor& ex, const TensorValue& a, const TensorValue& b, Taint taint) {
  if (example(a).scalar_type() != example(b).scalar_type())
    ex.site.cannot_join("OE4050",
                        std::string("a tensor is ") + c10::toString(example(a).scalar_type()) +
                            " on one path and " + c10::toString(example(b).scalar_type()) +
                            " on another",
                        "convert both to one type with to()");
  auto t = std::make_shared<TensorValue>();
  t->taint = join(taint, join(a.taint, b.taint));
  t->quantizer = ex.quantized.joined(a, b);
  t->ranked = a.ranked && b.ranked && a.axes.size() == b.axes.size();
  if (!t->ranked) return t;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis &x = a.axes[i], &y = b.axes[i];
    const auto at = static_cast<int64_t>(i);
    const bool same = x.is_static() == y.is_static() &&  // an element's own axis has no id either
                      (x.is_static() ? example(a).size(at) == example(b).size(at) : x.id == y.id);
    t->axes.push_back(same ? x : ex.apply.fresh_axis(join(Taint::Shape, join(x.taint, y.taint))));
  }
  return t;
}

program::Arg placeholder(Executor& ex, const Snapshot& like) {
  if (like.sym.is(K::Int)) return {int64_t{0}};
  if (like.sym.is(K::Float)) return {0.0};
  if (like.sym.is(K::Bool)) return {false};
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < like.tensor->axes.size(); ++i)
    sizes.push_back(
        like.tensor->axes[i].is_static() ? example(*like.tensor).size(static_cast<int64_t>(i)) : 1);
  auto t = std::make_shared<TensorValue>();
  t->c = PerWorld::constant(at::zeros(sizes, example(*like.tensor).options()));
  t->axes.resize(sizes.size());
  return {ex.recorder.value(t)};
}

AbstractValue rebuild(Executor& ex, const Snapshot& like, std::vector<AbstractValue> items) {
  switch (like.sym.kind) {
    case K::Tuple:
      return AbstractValue::of_tuple(std::move(items), like.sym.type());
    case K::Maybe:
      return AbstractValue::maybe(std::move(items[0]), std::move(items[1]));
    case K::ViewList:
      return ex.places.with(like.sym, std::move(items[0]));
    case K::List: {
      if (!like.open) return ex.values.list(std::move(items), like.sym.list()->element);
      AbstractValue l = ex.values.list({}, like.sym.list()->element);
      l.list()->open = std::move(items[0]);
      return l;
    }
    case K::Dict: {
      std::vector<std::pair<AbstractValue, AbstractValue>> pairs;
      for (size_t i = 0; i < items.size(); ++i) pairs.emplace_back(like.keys[i], items[i]);
      AbstractValue d =
          ex.values.dict(std::move(pairs), like.sym.dict()->key, like.sym.dict()->value);
      d.dict()->unordered = like.unordered;
      return d;
    }
    default: {
      auto cell = ex.heap.make<ObjectCell>();
      cell->type = like.sym.object()->type;
      cell->path = like.sym.object()->path;
      for (size_t i = 0; i < items.size(); ++i) cell->attributes[like.names[i]] = items[i];
      return AbstractValue::of(std::move(cell));
    }
  }
}

bool same_keys(Snapshot& a, Snapshot& b) {
  if (!a.sym.dict() || !a.sym.dict()->may_lack_entries()) return false;
  auto place = [&](const Snapshot& f, const AbstractValue& key) {
    size_t i = 0;
    while (i < f.keys.size() && !equal_constants(f.keys[i], key)) ++i;
    return i;
  };
  std::vector<AbstractValue> keys = a.keys;
  for (const AbstractValue& key : b.keys)
    if (place(a, key) == a.keys.size()) keys.push_back(key);
  Snapshot absent;
  absent.sym = AbstractValue::none();
  std::vector<Snapshot> x, y;
  for (const AbstractValue& key : keys) {
    const size_t i = place(a, key), k = place(b, key);
    const bool both = i < a.keys.size() && k < b.keys.size();
    x.push_back(both ? a.items[i] : i < a.keys.size() ? as_maybe(a.items[i]) : as_maybe(absent));
    y.push_back(both ? b.items[k] : k < b.keys.size() ? as_maybe(b.items[k]) : as_maybe(absent));
  }
  a.keys = b.keys = std::move(keys);
  a.items = std::move(x);
  b.items = std::move(y);
  a.unordered = b.unordered = true;
  return true;
}

}  // namespace oe::capture
