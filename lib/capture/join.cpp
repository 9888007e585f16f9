// Freezing, comparing and merging of abstract values.
#include "lib/capture/join.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace oe::capture {
namespace {

using K = Sym::Kind;

bool container(const Sym& s) {
  return s.is(K::Tuple) || s.is(K::List) || s.is(K::Dict) || s.is(K::Object) || s.is(K::Maybe);
}

const void* identity(const Sym& s) {
  switch (s.kind) {
    case K::Tensor:
      return s.tensor.get();
    case K::List:
      return s.list.get();
    case K::Dict:
      return s.dict.get();
    case K::Object:
      return s.object.get();
    default:
      return nullptr;
  }
}

const char* describe(const Sym& s) {
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

// The argument for a frozen leaf, whose value was recorded in the block that has just ended.
program::Arg leaf_arg(Executor& ex, const Frozen& f) {
  if (f.tensor) return {ex.recorder().value(f.tensor)};
  return ex.to_arg(f.sym);
}

Sym unset_number(K kind) {
  return kind == K::Int ? Sym::of(int64_t{0}) : kind == K::Float ? Sym::of(0.0) : Sym::of(false);
}

bool leafy(const Sym& s) { return s.is(K::Tensor) || s.is_number() || s.is(K::Sequence); }

// The value again, as it was when it was frozen.
Sym thaw(Executor& ex, const Frozen& f) {
  if (f.tensor) return ex.fresh_tensor(f.tensor);
  const c10::TypePtr columns = f.open ? nullptr : columns_of(f.sym);
  if (!columns && !f.sym.is(K::Tuple)) return f.sym;
  std::vector<Sym> items;
  for (const Frozen& e : f.items) items.push_back(thaw(ex, e));
  return Sym::of_tuple(std::move(items), columns ? columns : f.sym.type);
}

void add_samples(Executor& ex, const Frozen& list, std::vector<Sample>& out) {
  for (const Frozen& e : list.items) out.push_back({thaw(ex, e), list.open});
}

}  // namespace

const at::Tensor& example(const TensorValue& t) {
  size_t w = 0;
  while (w < 64 && !t.c.has(w)) ++w;
  return t.c.at(w).toTensor();
}

Cell* cell_of(const Sym& s) {
  return s.is(K::List)     ? static_cast<Cell*>(s.list.get())
         : s.is(K::Dict)   ? static_cast<Cell*>(s.dict.get())
         : s.is(K::Object) ? static_cast<Cell*>(s.object.get())
                           : nullptr;
}

Cell* memory_of(const Sym& s) {
  return s.tensor && s.is(K::Tensor)       ? s.tensor->storage.get()
         : s.sequence && s.is(K::Sequence) ? s.sequence->storage.get()
                                           : cell_of(s);
}

Frozen as_maybe(const Frozen& f) {
  if (f.sym.is(K::Maybe)) return f;
  Frozen present, value = f;
  present.sym = Sym::of(!f.sym.is(K::None));
  if (f.sym.is(K::None)) value = Frozen{};
  Frozen out;
  out.sym = Sym::maybe(present.sym, value.sym);
  out.items = {std::move(present), std::move(value)};
  return out;
}

bool Joiner::same_keys(Executor& ex, Frozen& a, Frozen& b) {
  if (!a.sym.dict || !a.sym.dict->may_lack_entries()) return false;
  auto place = [&](const Frozen& f, const Sym& key) {
    size_t i = 0;
    while (i < f.keys.size() && !ex.equal_constants(f.keys[i], key)) ++i;
    return i;
  };
  std::vector<Sym> keys = a.keys;
  for (const Sym& key : b.keys)
    if (place(a, key) == a.keys.size()) keys.push_back(key);
  Frozen absent;
  absent.sym = Sym::none();
  std::vector<Frozen> x, y;
  for (const Sym& key : keys) {
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

Form common_form(Executor& ex, const std::vector<Sample>& samples) {
  bool sequence = false, tensors = true, stack = !samples.empty();
  const Sample* element = nullptr;  // one that is no stack, if there is any
  for (const Sample& s : samples) {
    sequence = sequence || s.sym.is(K::Sequence);
    tensors = tensors && (s.sym.is(K::Tensor) || s.sym.is(K::Sequence));
    if (!s.stacked && !element) element = &s;
  }
  if (!element && !samples.empty()) element = &samples[0];
  for (const Sample& s : samples)
    stack = stack && !sequence && ex.stackable(element->sym, s.sym, element->stacked, s.stacked);
  return stack ? Form::Stack : tensors && !samples.empty() ? Form::Sequence : Form::None;
}

// The list in that form, made in the current block. Nothing where it has no elements and their
// sizes are not known here.
std::optional<Frozen> opened(Executor& ex, const Frozen& list, Form form, const Sample& sample) {
  std::optional<Sym> content;
  if (list.open) {
    content = thaw(ex, list.items[0]);
    if (form == Form::Sequence && content->is(K::Tensor)) content = ex.sequence_from(*content);
  } else {
    std::vector<Sym> items;
    for (const Frozen& e : list.items) items.push_back(thaw(ex, e));
    if (form == Form::Sequence) {
      const TensorValue like = ex.element_type(sample);
      content = ex.sequence_of(items, &like);
    } else {
      content = items.empty() ? ex.empty_stack(sample.sym, sample.stacked) : ex.stack_items(items);
    }
  }
  if (!content) return std::nullopt;
  const std::function<void(const Sym&, const Frozen&)> hold = [&](const Sym& c, const Frozen& f) {
    if (!c.is(K::Tuple) || f.items.size() != c.tuple->size()) return Executor::hold(c, f.sym);
    for (size_t i = 0; i < f.items.size(); ++i) hold((*c.tuple)[i], f.items[i]);
    if (Cell* cell = cell_of(f.sym)) Executor::share(*first_memory(c), *cell);
  };
  for (const Frozen& e : list.items) hold(*content, e);
  Frozen out = list;
  out.open = true;
  out.items = {ex.freeze(*content)};
  return out;
}

bool same_structure(Executor& ex, const Frozen& a, const Frozen& b) {
  if (a.sym.kind != b.sym.kind || a.items.size() != b.items.size()) return false;
  if (a.names != b.names || a.keys.size() != b.keys.size()) return false;
  for (size_t i = 0; i < a.keys.size(); ++i)
    if (!ex.equal_constants(a.keys[i], b.keys[i])) return false;
  if (a.open != b.open) return false;
  if (!a.open) return true;
  const Sym x = thaw(ex, a.items[0]), y = thaw(ex, b.items[0]);
  return (x.is(K::Sequence) && y.is(K::Sequence)) || ex.stackable(x, y, true, true);
}

Frozen Executor::freeze(const Sym& s) {
  Frozen f;
  f.sym = s;
  switch (s.kind) {
    case K::Tensor:
      f.tensor = read(s.tensor);
      break;
    case K::Tuple:
      for (const Sym& e : *s.tuple) f.items.push_back(freeze(e));
      break;
    case K::Maybe:
      for (const Sym& e : *s.tuple) f.items.push_back(freeze(e));
      break;
    case K::List:
      freeze_list(*s.list, f);
      break;
    case K::Dict:
      f.unordered = s.dict->unordered;
      for (const auto& [k, v] : s.dict->items) {
        f.keys.push_back(k);
        f.items.push_back(freeze(v));
      }
      break;
    case K::Object:
      if (s.object->object) break;  // the model's own: changes are found by its cell
      for (const auto& [k, v] : s.object->attributes) {
        f.names.push_back(k);
        f.items.push_back(freeze(v));
      }
      break;
    default:
      break;
  }
  return f;
}

void Executor::freeze_list(const ListCell& list, Frozen& f) {
  f.open = list.is_open();
  if (f.open) f.items.push_back(freeze(list.open));
  for (const Sym& e : list.items) f.items.push_back(freeze(e));
}

Frozen Executor::freeze_cell(Cell& c) {
  Frozen f;
  if (auto* storage = dynamic_cast<StorageCell*>(&c)) {
    f.sym.kind = K::Tensor;
    f.tensor = storage->base;
  } else if (auto* handle = dynamic_cast<TensorHandle*>(&c)) {
    f.sym.kind = K::Tensor;
    f.tensor = read(std::static_pointer_cast<TensorHandle>(c.shared_from_this()));
    f.sym.tensor = bare_place(*handle);
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    f.sym.kind = K::List;
    f.sym.list = std::static_pointer_cast<ListCell>(c.shared_from_this());
    freeze_list(*list, f);
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    f.sym.kind = K::Dict;
    f.sym.dict = std::static_pointer_cast<DictCell>(c.shared_from_this());
    f.unordered = dict->unordered;
    for (const auto& [k, v] : dict->items) {
      f.keys.push_back(k);
      f.items.push_back(freeze(v));
    }
  } else if (auto* object = dynamic_cast<ObjectCell*>(&c)) {
    f.sym.kind = K::Object;
    f.sym.object = std::static_pointer_cast<ObjectCell>(c.shared_from_this());
    for (const auto& [k, v] : object->attributes) {
      f.names.push_back(k);
      f.items.push_back(freeze(v));
    }
  }
  f.content_only = true;
  return f;
}

void Executor::set_cell(Cell& c, const Sym& content) {
  touch(c);
  if (auto* storage = dynamic_cast<StorageCell*>(&c)) {
    storage->base = read(content.tensor);
    storage->version = next_version_++;
  } else if (dynamic_cast<TensorHandle*>(&c)) {
    look_as(std::static_pointer_cast<TensorHandle>(c.shared_from_this()), *content.tensor);
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    list->items = content.list->items;
    list->open = content.list->open;
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    dict->items = content.dict->items;
    dict->unordered = content.dict->unordered;
  } else if (auto* object = dynamic_cast<ObjectCell*>(&c)) {
    object->attributes = content.object->attributes;
  }
}

bool identical(Executor& ex, const Frozen& a, const Frozen& b) {
  if (a.sym.kind != b.sym.kind) return false;
  if (a.content_only && b.content_only && a.sym.tensor && b.sym.tensor)
    return same_place(ex, *a.sym.tensor, *b.sym.tensor);
  if (!a.content_only && !b.content_only && identity(a.sym)) {
    if (identity(a.sym) == identity(b.sym)) return true;
    if (!a.tensor) return false;
    // Two tensors with one content, both fresh: which of them it is cannot be told.
    return a.tensor == b.tensor && a.sym.tensor->storage == b.sym.tensor->storage;
  }
  if (a.tensor) return a.tensor == b.tensor;
  if (container(a.sym)) {
    if (!same_structure(ex, a, b)) return false;
    for (size_t i = 0; i < a.items.size(); ++i)
      if (!identical(ex, a.items[i], b.items[i])) return false;
    return true;
  }
  if (a.sym.is(K::Uninitialized) || a.sym.is(K::None)) return true;
  if (a.sym.is(K::Sequence)) return a.sym.sequence == b.sym.sequence;
  if (a.sym.recorded) return a.sym.recorded == b.sym.recorded;
  return ex.equal_constants(a.sym, b.sym);
}

TensorValuePtr join_types(Executor& ex, const TensorValue& a, const TensorValue& b, Taint taint) {
  if (example(a).scalar_type() != example(b).scalar_type())
    ex.cannot_join("OE4050",
                   std::string("a tensor is ") + c10::toString(example(a).scalar_type()) +
                       " on one path and " + c10::toString(example(b).scalar_type()) +
                       " on another",
                   "convert both to one type with to()");
  auto t = std::make_shared<TensorValue>();
  t->taint = join(taint, join(a.taint, b.taint));
  t->ranked = a.ranked && b.ranked && a.axes.size() == b.axes.size();
  if (!t->ranked) return t;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis &x = a.axes[i], &y = b.axes[i];
    const auto at = static_cast<int64_t>(i);
    const bool same =
        x.is_static() && y.is_static() ? example(a).size(at) == example(b).size(at) : x.id == y.id;
    t->axes.push_back(same ? x : ex.fresh_axis(join(Taint::Shape, join(x.taint, y.taint))));
  }
  return t;
}

program::Arg placeholder(Executor& ex, const Frozen& like) {
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
  return {ex.recorder().value(t)};
}

Sym rebuild(Executor& ex, const Frozen& like, std::vector<Sym> items) {
  switch (like.sym.kind) {
    case K::Tuple:
      return Sym::of_tuple(std::move(items), like.sym.type);
    case K::Maybe:
      return Sym::maybe(std::move(items[0]), std::move(items[1]));
    case K::List: {
      if (!like.open) return ex.make_list(std::move(items), like.sym.list->element);
      Sym l = ex.make_list({}, like.sym.list->element);
      l.list->open = std::move(items[0]);
      return l;
    }
    case K::Dict: {
      std::vector<std::pair<Sym, Sym>> pairs;
      for (size_t i = 0; i < items.size(); ++i) pairs.emplace_back(like.keys[i], items[i]);
      Sym d = ex.make_dict(std::move(pairs), like.sym.dict->key, like.sym.dict->value);
      d.dict->unordered = like.unordered;
      return d;
    }
    default: {
      Sym s;
      s.kind = K::Object;
      s.object = std::make_shared<ObjectCell>();
      s.object->type = like.sym.object->type;
      s.object->path = like.sym.object->path;
      for (size_t i = 0; i < items.size(); ++i) s.object->attributes[like.names[i]] = items[i];
      return s;
    }
  }
}

// --- If

PerWorld Joiner::pick(const PerWorld& a, const PerWorld& b) const {
  PerWorld c = PerWorld::sized(branch.size());
  for (size_t w = 0; w < branch.size(); ++w) {
    const PerWorld &first = branch[w] == 1 ? b : a, &second = branch[w] == 1 ? a : b;
    if (first.has(w))
      c.set(w, first.at(w));
    else if (second.has(w))
      c.set(w, second.at(w));
  }
  return c;
}

Sym Joiner::leaf(const Frozen& a, const Frozen& b) {
  const bool a_unset = a.sym.is(K::Uninitialized), b_unset = b.sym.is(K::Uninitialized);
  const Frozen& known = a_unset ? b : a;
  auto returns = [&](size_t k, const Frozen& f, bool unset) {
    node->blocks[k]->returns.push_back(unset ? placeholder(ex, known) : leaf_arg(ex, f));
  };
  if (known.tensor) {
    const TensorHandle *x = a.sym.tensor.get(), *y = b.sym.tensor.get();
    for (const Merged& m : merged)
      if (x && y && m.a == x && m.b == y) return m.value;
    TensorValuePtr t = a_unset || b_unset ? std::make_shared<TensorValue>(*known.tensor)
                                          : join_types(ex, *a.tensor, *b.tensor, cond.taint);
    t->taint = join(t->taint, cond.taint);
    t->c = a_unset   ? pick(b.tensor->c, b.tensor->c)
           : b_unset ? pick(a.tensor->c, a.tensor->c)
                     : pick(a.tensor->c, b.tensor->c);
    t->number = nullptr;
    returns(0, a, a_unset);
    returns(1, b, b_unset);
    program::Type type = ex.recorder().type_of(*t);
    if ((a_unset || b_unset) && type.shape)  // the other branch gives anything: no axis has a name
      for (Dim& d : *type.shape)
        if (!d.is_number()) d = Dim::unknown();
    t->recorded = ex.recorder().add_output(node, std::move(type));
    Sym s = ex.fresh_tensor(t);
    if (x) relate(s, 0, *x);
    if (y) relate(s, 1, *y);
    if (x && y) merged.push_back({x, y, s});
    return s;
  }
  if (!a_unset && !b_unset && known.sym.is(K::Bool) && a.sym.is_constant_number() &&
      b.sym.is_constant_number())  // the two differ: it is the condition, or its opposite
    return a.sym.c.at(0).toBool() ? cond : ex.apply1("aten::__not__", {cond});
  Sym s;
  s.kind = known.sym.kind;
  s.taint = join(cond.taint, join(a.sym.taint, b.sym.taint));
  s.c = a_unset   ? pick(b.sym.c, b.sym.c)
        : b_unset ? pick(a.sym.c, a.sym.c)
                  : pick(a.sym.c, b.sym.c);
  if (!a_unset && !b_unset && a.sym.axis_id == b.sym.axis_id) s.axis_id = a.sym.axis_id;
  returns(0, a, a_unset);
  returns(1, b, b_unset);
  s.recorded = ex.recorder().add_output(node, s.is(K::Int)     ? program::Type::integer()
                                              : s.is(K::Float) ? program::Type::floating()
                                                               : program::Type::boolean());
  return s;
}

Sym Joiner::sequence_leaf(const Frozen& a, const Frozen& b) {
  if (!a.sym.is(K::Sequence) || !b.sym.is(K::Sequence))
    ex.cannot_join("OE4051", "a list is set in one branch only", "set it before the condition");
  const SequenceValue &x = *a.sym.sequence, &y = *b.sym.sequence;
  TensorValue element = ex.join_elements(x.element, y.element);
  node->blocks[0]->returns.emplace_back(x.recorded);
  node->blocks[1]->returns.emplace_back(y.recorded);
  program::Value* out =
      ex.recorder().add_output(node, program::Type::list(ex.recorder().type_of(element)));
  Sym s = ex.sequence({out}, pick(x.c, y.c), std::move(element));
  for (const auto& storage : {x.storage, y.storage})
    Executor::share(*s.sequence->storage, *storage);
  relate_held(*s.sequence->storage, 0, *x.storage);
  relate_held(*s.sequence->storage, 1, *y.storage);
  return s;
}

void Joiner::inside(size_t k, const std::function<void()>& f) {
  ex.recorder().enter(node->blocks[k].get());
  try {
    ex.in_worlds(ex.active_, 0, f);
  } catch (...) {
    ex.recorder().leave();
    throw;
  }
  ex.recorder().leave();
}

// Two lists of different lengths become open lists of one form, each in its own branch.
bool Joiner::open_lists(Frozen& a, Frozen& b) {
  std::vector<Sample> samples;
  add_samples(ex, a, samples);
  add_samples(ex, b, samples);
  Form form = common_form(ex, samples);
  for (; form != Form::None; form = form == Form::Stack ? Form::Sequence : Form::None) {
    std::optional<Frozen> x, y;
    inside(0, [&] { x = opened(ex, a, form, samples[0]); });
    inside(1, [&] { y = opened(ex, b, form, samples[0]); });
    if (!x || !y) continue;
    a = std::move(*x);
    b = std::move(*y);
    return true;
  }
  return false;
}

Sym Joiner::merge(const Frozen& a, const Frozen& b) {
  if (identical(ex, a, b) && a.content_only && container(a.sym)) {
    // Both branches left the same in it: the cell itself is back to what it was before them.
    std::vector<Sym> items;
    for (const Frozen& e : a.items) items.push_back(merge(e, e));
    return rebuild(ex, a, std::move(items));
  }
  if (identical(ex, a, b))
    return a.sym.is(K::Tensor) && !a.sym.tensor ? ex.fresh_tensor(a.tensor) : a.sym;
  const bool a_unset = a.sym.is(K::Uninitialized), b_unset = b.sym.is(K::Uninitialized);
  if ((a_unset && !leafy(b.sym)) || (b_unset && leafy(a.sym) == false)) {
    // An unset container: the set branch's structure, each piece unset in the other.
    const Frozen& set = a_unset ? b : a;
    if (!container(set.sym)) return set.sym;
    std::vector<Sym> items;
    for (const Frozen& e : set.items)
      items.push_back(a_unset ? merge(Frozen{}, e) : merge(e, Frozen{}));
    return rebuild(ex, set, std::move(items));
  }
  if (a.sym.is(K::Sequence) || b.sym.is(K::Sequence)) return sequence_leaf(a, b);
  if (a_unset || b_unset || (leafy(a.sym) && a.sym.kind == b.sym.kind)) return leaf(a, b);
  const bool optional = a.sym.is(K::Maybe) || b.sym.is(K::Maybe) ||
                        (permissive && (a.sym.is(K::None) || b.sym.is(K::None)));
  if (a.sym.kind != b.sym.kind && optional) return merge(as_maybe(a), as_maybe(b));
  if (a.sym.kind != b.sym.kind)
    ex.cannot_join("OE4051",
                   std::string("a value is ") + describe(a.sym) + " in one branch and " +
                       describe(b.sym) + " in the other",
                   "give both branches the same kind of value");
  if (container(a.sym)) {
    if (!same_structure(ex, a, b)) {
      Frozen x = a, y = b;
      if (a.sym.is(K::List) && (permissive || a.open || b.open) && open_lists(x, y)) {
        return merge(x, y);
      }
      if (a.sym.is(K::Dict) && permissive && same_keys(ex, x, y)) return merge(x, y);
      ex.cannot_join("OE4052",
                     std::string(describe(a.sym)) +
                         " has another length or other keys in the two branches of a condition "
                         "that depends on the input",
                     "build containers of one shape in both branches");
    }
    Cell *x = a.content_only ? nullptr : cell_of(a.sym),
         *y = b.content_only ? nullptr : cell_of(b.sym);
    bool chosen = false;  // from cells that have other names too
    for (const MergedCells& m : merged_cells) {
      if (x && y && m.a.get() == x && m.b.get() == y) return m.value;
      chosen = chosen || (x && m.a.get() == x) || (y && m.b.get() == y);
    }
    if (x && y)
      for (Cell* c : {x, y})
        for (const auto& r : near(*c)) chosen = chosen || r->serial < scope_start;
    if (chosen && !permissive)
      ex.cannot_join("OE4057",
                     std::string("one of two different ") + describe(a.sym) +
                         "s is chosen by a condition that depends on the input",
                     "make a new one in both branches");
    std::vector<Sym> items;
    for (size_t i = 0; i < a.items.size(); ++i) items.push_back(merge(a.items[i], b.items[i]));
    Frozen like = a;
    like.unordered = a.unordered || b.unordered;
    Sym out = rebuild(ex, like, std::move(items));
    if (x && y) {
      for (Cell* c : {x, y}) Executor::share(*cell_of(out), *c);
      for (const MergedCells& m : merged_cells)
        if (m.a.get() == x || m.b.get() == y) Executor::share(*cell_of(out), *cell_of(m.value));
      merged_cells.push_back({x->shared_from_this(), y->shared_from_this(), out});
    }
    return out;
  }
  if (!permissive)  // nothing in the graph can stand for both, but each branch can go on with its
                    // own
    ex.cannot_join("OE4051",
                   "a string, type or object that ONNX has no value for is chosen by a "
                   "condition that depends on the input",
                   "choose between the results instead");
  Sym s;
  s.kind = a.sym.kind;
  s.taint = join(cond.taint, join(a.sym.taint, b.sym.taint));
  s.c = pick(a.sym.c, b.sym.c);
  return s;
}

// --- Loop

bool Slot::widen_tensor(Executor& ex, const TensorValue& end) {
  const at::Tensor &start_example = example(*type), &end_example = example(end);
  if (start_example.scalar_type() != end_example.scalar_type())
    ex.refuse("OE4050",
              std::string("a tensor is ") + c10::toString(start_example.scalar_type()) +
                  " before an iteration and " + c10::toString(end_example.scalar_type()) +
                  " after it",
              "convert it to one type before the loop");
  if (!type->ranked) return false;
  if (!end.ranked || end.axes.size() != type->axes.size()) {
    type->ranked = false;
    type->axes.clear();
    return true;
  }
  bool changed = false;
  for (size_t i = 0; i < type->axes.size(); ++i) {
    Axis& mine = type->axes[i];
    const Axis& other = end.axes[i];
    const auto at = static_cast<int64_t>(i);
    if (mine.is_static() ? other.is_static() && start_example.size(at) == end_example.size(at)
                         : own_axes.contains(mine.id) || mine.id == other.id)
      continue;
    mine = ex.fresh_axis(Taint::Data);
    own_axes.insert(mine.id);
    changed = true;
  }
  return changed;
}

// A list whose length changes from iteration to iteration.
bool Slot::widen_list(Executor& ex, const Frozen& end) {
  std::vector<Sample> samples;
  add_samples(ex, init, samples);
  add_samples(ex, end, samples);
  reopen = common_form(ex, samples);
  if (reopen == Form::None) return false;
  sample = samples[0];
  return true;
}

Frozen Slot::conform(Executor& ex, const Frozen& end) const {
  if (init.sym.is(K::Maybe) && !end.sym.is(K::Uninitialized) && !end.sym.is(K::Maybe))
    return conform(ex, as_maybe(end));
  Frozen out = end;
  if (init.open && end.sym.is(K::List) && !same_structure(ex, init, end)) {
    std::vector<Sample> samples = {{thaw(ex, init.items[0]), true}};
    add_samples(ex, end, samples);
    const Form form = samples[0].sym.is(K::Sequence) ? Form::Sequence : Form::Stack;
    if (common_form(ex, samples) == form)
      if (auto same = opened(ex, end, form, samples[0])) return *same;
  }
  if (init.sym.is(K::Dict) && end.sym.is(K::Dict) && !same_structure(ex, init, end)) {
    Frozen wanted = init, given = end;
    if (Joiner::same_keys(ex, wanted, given) && wanted.keys.size() == init.keys.size()) out = given;
  }
  if (kind == Kind::Items && out.items.size() == items.size())
    for (size_t i = 0; i < items.size(); ++i) out.items[i] = items[i].conform(ex, out.items[i]);
  return out;
}

void Slot::settle(Executor& ex) {
  if (reopen != Form::None) {
    std::optional<Frozen> list = opened(ex, init, reopen, sample);
    if (!list) list = opened(ex, init, Form::Sequence, sample);
    init = std::move(*list);
    kind = Kind::Items;
    items.assign(1, Slot{});
    items[0].init = init.items[0];
    reopen = Form::None;
    return;
  }
  for (Slot& s : items) s.settle(ex);
}

bool Slot::widen(Executor& ex, const Frozen& end) {
  if (reopen != Form::None) return true;
  if (end.sym.is(K::Uninitialized)) return false;  // left on a path that does not come back
  if (init.sym.is(K::Uninitialized) && kind == Kind::Same && container(end.sym)) {
    // Set inside only: the structure of what is set, every piece unset.
    init = end;
    init.content_only = true;
    for (Frozen& e : init.items) e = Frozen{};
    kind = Kind::Items;
    items.assign(init.items.size(), Slot{});
    for (size_t i = 0; i < items.size(); ++i) items[i].widen(ex, end.items[i]);
    return true;
  }
  auto check_kind = [&] {
    if (init.sym.kind != end.sym.kind && !init.sym.is(K::Uninitialized))
      ex.refuse("OE4053",
                std::string("a value starts a loop as ") + describe(init.sym) +
                    " and ends its body as " + describe(end.sym),
                "give it the same kind of value before the loop");
  };
  auto restructured = [&] {
    if (same_structure(ex, init, end)) return false;
    if (init.sym.is(K::List) && end.sym.is(K::List) && widen_list(ex, end)) return true;
    if (Frozen after = end;
        init.sym.is(K::Dict) && end.sym.is(K::Dict) && Joiner::same_keys(ex, init, after)) {
      kind = Kind::Items;
      items.assign(init.items.size(), Slot{});
      for (size_t i = 0; i < items.size(); ++i) {
        items[i].init = init.items[i];
        items[i].widen(ex, after.items[i]);
      }
      return true;
    }
    const bool nested =
        init.sym.is(K::List) && init.sym.list->element->kind() == c10::TypeKind::ListType;
    ex.refuse("OE4054",
              std::string(describe(init.sym)) +
                  " changes its length or keys in a loop whose trip count depends on the input",
              nested ? "give all its lists one length that is known at export"
                     : "collect values of one kind, or in a tensor of known size");
  };
  const bool optional = init.sym.is(K::None) || end.sym.is(K::None) || end.sym.is(K::Maybe);
  if (optional && init.sym.kind != end.sym.kind && !init.sym.is(K::Maybe) &&
      !init.sym.is(K::Uninitialized)) {
    const Frozen before = as_maybe(init), after = as_maybe(end);
    *this = Slot{};
    init = before;
    kind = Kind::Items;
    items.resize(2);
    for (size_t i = 0; i < 2; ++i) {
      items[i].init = init.items[i];
      items[i].widen(ex, after.items[i]);
    }
    return true;
  }
  if (kind == Kind::Same) {
    if (identical(ex, init, end)) return false;
    check_kind();
    if (end.sym.is(K::Sequence)) {
      if (init.sym.is(K::Uninitialized)) ex.refuse("OE4055", "a list is set in a loop only");
      kind = Kind::Leaf;
      element = ex.join_elements(init.sym.sequence->element, end.sym.sequence->element);
      return true;
    }
    if (leafy(end.sym)) {
      kind = Kind::Leaf;
      number = end.sym.kind;
      if (end.tensor) {
        type = std::make_shared<TensorValue>(init.tensor ? *init.tensor : *end.tensor);
        type->taint = Taint::Data;
        type->number = nullptr;
        type->recorded = nullptr;
        if (!init.tensor)  // set inside only: its axes are the iteration's own
          for (Axis& a : type->axes)
            if (!a.is_static()) own_axes.insert((a = ex.fresh_axis(Taint::Data)).id);
        widen_tensor(ex, *end.tensor);
      }
      return true;
    }
    if (!container(init.sym))
      ex.refuse("OE4055",
                std::string(describe(init.sym)) + " that ONNX cannot carry changes in a loop");
    if (restructured()) return true;
    kind = Kind::Items;
    for (size_t i = 0; i < init.items.size(); ++i) {
      items.emplace_back();
      items.back().init = init.items[i];
      items.back().widen(ex, end.items[i]);
    }
    return true;
  }
  if (kind == Kind::Leaf) {
    check_kind();
    if (element) {
      TensorValue wider = ex.join_elements(*element, end.sym.sequence->element);
      const bool changed =
          wider.ranked != element->ranked || (wider.ranked && !same_axes(wider, *element));
      element = std::move(wider);
      return changed;
    }
    return end.tensor && widen_tensor(ex, *end.tensor);
  }
  if (restructured()) return true;
  bool changed = end.unordered && !init.unordered;
  init.unordered = init.unordered || end.unordered;
  for (size_t i = 0; i < items.size(); ++i) changed |= items[i].widen(ex, end.items[i]);
  return changed;
}

void Slot::relate(Sym now) {
  self = std::move(now);
  Cell* mine = memory_of(self);
  if (!mine || content) return;
  if (Cell* before = init.content_only ? nullptr : memory_of(init.sym))
    Executor::share(*mine, *before);
  for (const auto& o : outer) Executor::share(*mine, *o);
}

void Slot::initial(Executor& ex, program::Args& args) const {
  if (kind == Kind::Leaf) {
    args.push_back(init.sym.is(K::Uninitialized) ? unset_arg(ex) : leaf_arg(ex, init));
  }
  for (const Slot& s : items) s.initial(ex, args);
}

void Slot::returned(Executor& ex, const Frozen& end, program::Args& returns) const {
  const bool unset = end.sym.is(K::Uninitialized);
  if (kind == Kind::Leaf) returns.push_back(unset ? unset_arg(ex) : leaf_arg(ex, end));
  for (size_t i = 0; i < items.size(); ++i)
    items[i].returned(ex, unset ? end : end.items[i], returns);
}

// Something of the right type where the value is not set.
program::Arg Slot::unset_arg(Executor& ex) const {
  if (element) ex.refuse("OE4055", "a list is set in a loop only", "set it before the loop");
  Frozen like;
  like.tensor = type;
  like.sym.kind = type ? K::Tensor : number;
  return placeholder(ex, like);
}

std::vector<const Frozen*> Slot::nth(const std::vector<const Frozen*>& finals, size_t i) const {
  std::vector<const Frozen*> out;
  for (const Frozen* f : finals) out.push_back(f && i < f->items.size() ? &f->items[i] : nullptr);
  return out;
}

namespace {

// A concrete list in the form of an open one, in world w.
Frozen in_form(const Frozen& content, const std::vector<Frozen>& items, size_t w) {
  Frozen out;
  out.sym.kind = content.sym.kind;
  if (content.sym.is(K::Tuple)) {
    for (size_t k = 0; k < content.items.size(); ++k) {
      std::vector<Frozen> column;
      for (const Frozen& e : items) column.push_back(e.items.at(k));
      out.items.push_back(in_form(content.items[k], column, w));
    }
    return out;
  }
  const size_t worlds = w + 1;
  if (content.sym.is(K::Sequence)) {
    c10::impl::GenericList list(c10::TensorType::get());
    for (const Frozen& e : items)
      if (e.tensor->c.has(w)) list.push_back(e.tensor->c.at(w));
    auto seq = std::make_shared<SequenceValue>();
    seq->c = PerWorld::sized(worlds);
    seq->c.set(w, list);
    out.sym.sequence = std::move(seq);
    return out;
  }
  std::vector<at::Tensor> tensors;
  for (const Frozen& e : items) {
    const PerWorld& c = e.tensor ? e.tensor->c : e.sym.c;
    if (!c.has(w)) continue;
    const c10::IValue& v = c.at(w);
    tensors.push_back(v.isTensor()   ? v.toTensor()
                      : v.isInt()    ? at::scalar_tensor(v.toInt(), at::kLong)
                      : v.isDouble() ? at::scalar_tensor(v.toDouble(), at::kDouble)
                                     : at::scalar_tensor(v.toBool(), at::kBool));
  }
  const at::Tensor& like =
      content.tensor->c.has(w) ? content.tensor->c.at(w).toTensor() : example(*content.tensor);
  out.tensor = std::make_shared<TensorValue>(*content.tensor);
  out.tensor->c = PerWorld::sized(worlds);
  std::vector<int64_t> none = like.sizes().vec();
  none[0] = 0;
  out.tensor->c.set(w, tensors.empty() ? at::zeros(none, like.options()) : at::stack(tensors));
  return out;
}

// `c` with what some worlds have instead.
PerWorld replaced(const PerWorld& c, const std::vector<const Frozen*>& by) {
  if (std::ranges::none_of(by, [](const Frozen* f) { return f != nullptr; })) return c;
  PerWorld out = PerWorld::sized(by.size());
  for (size_t w = 0; w < by.size(); ++w) {
    if (c.has(w)) out.set(w, c.at(w));
    if (!by[w]) continue;
    const PerWorld& own = by[w]->tensor                ? by[w]->tensor->c
                          : by[w]->sym.is(K::Sequence) ? by[w]->sym.sequence->c
                                                       : by[w]->sym.c;
    if (own.has(w)) out.set(w, own.at(w));
  }
  return out;
}

}  // namespace

// In its own world a list has a length and an optional is there or not: the loop's form for all.
std::vector<const Frozen*> Slot::in_form_of_loop(Executor& ex,
                                                 const std::vector<const Frozen*>& found,
                                                 std::vector<Frozen>& made) const {
  made.resize(found.size());
  std::vector<const Frozen*> out = found;
  for (size_t w = 0; w < found.size(); ++w) {
    if (!found[w]) continue;
    if (init.sym.is(K::Maybe) && !found[w]->sym.is(K::Maybe)) {
      made[w] = as_maybe(*found[w]);
      out[w] = &made[w];
    } else if (init.open && !found[w]->open) {
      made[w] = *found[w];
      made[w].open = true;
      made[w].items = {in_form(init.items[0], found[w]->items, w)};
      out[w] = &made[w];
    } else if (init.sym.is(K::Dict) && !same_structure(ex, init, *found[w])) {
      Frozen wanted = init;
      made[w] = *found[w];
      const bool same =
          Joiner::same_keys(ex, wanted, made[w]) && wanted.keys.size() == init.keys.size();
      out[w] = same ? &made[w] : nullptr;
    }
  }
  return out;
}

Sym Slot::enter(Executor& ex, program::Block* body, const Sym& first,
                const std::vector<const Frozen*>& found) {
  std::vector<Frozen> made;
  const std::vector<const Frozen*> later = in_form_of_loop(ex, found, made);
  switch (kind) {
    case Kind::Same:
      return init.sym;
    case Kind::Items: {
      std::vector<Sym> out;
      for (size_t i = 0; i < items.size(); ++i)
        out.push_back(items[i].enter(ex, body, first, nth(later, i)));
      Sym now = rebuild(ex, init, std::move(out));
      relate(now);  // in the first iteration it is what was there before, later perhaps not
      return now;
    }
    case Kind::Leaf:
      break;
  }
  program::Program& p = ex.recorder().program();
  auto parameter = [&](program::Type t) {
    body->params.push_back(p.new_value(std::move(t)));
    return body->params.back();
  };
  if (element) {
    program::Value* p = parameter(program::Type::list(ex.recorder().type_of(*element)));
    Sym s = ex.sequence({p}, replaced(init.sym.sequence->c, later), *element);
    relate(s);
    return s;
  }
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    t->c = replaced(t->c, later);
    t->recorded = parameter(ex.recorder().type_of(*t));
    Sym s = ex.fresh_tensor(t);
    ex.relate_slot(*this, s, first);
    return s;
  }
  Sym s = init.sym.is(K::Uninitialized) ? unset_number(number) : init.sym;
  s.taint = Taint::Data;
  s.axis_id = 0;
  s.c = replaced(s.c, later);
  s.recorded = parameter(s.is(K::Int)     ? program::Type::integer()
                         : s.is(K::Float) ? program::Type::floating()
                                          : program::Type::boolean());
  return s;
}

Sym Slot::leave(Executor& ex, program::Node* node, const std::vector<const Frozen*>& found,
                const Sym& none) {
  std::vector<Frozen> made;
  const std::vector<const Frozen*> finals = in_form_of_loop(ex, found, made);
  if (kind == Kind::Same)
    return init.sym.is(K::Tensor) && !init.sym.tensor ? ex.fresh_tensor(init.tensor) : init.sym;
  if (kind == Kind::Items) {
    std::vector<Sym> out;
    for (size_t i = 0; i < items.size(); ++i)
      out.push_back(items[i].leave(ex, node, nth(finals, i), none));
    Sym now = rebuild(ex, init, std::move(out));
    relate(now);
    return now;
  }
  PerWorld c = replaced(PerWorld::sized(finals.size()), finals);
  if (element) {
    program::Value* out =
        ex.recorder().add_output(node, program::Type::list(ex.recorder().type_of(*element)));
    Sym s = ex.sequence({out}, std::move(c), *element);
    relate(s);
    return s;
  }
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    for (size_t w = 0; w < finals.size(); ++w)  // else nobody reads it: the example stays
      if (c.has(w)) {
        t->c = c;
        break;
      }
    for (Axis& a : t->axes)
      if (own_axes.contains(a.id)) a = ex.fresh_axis(Taint::Data);
    t->recorded = ex.recorder().add_output(node, ex.recorder().type_of(*t));
    Sym s = ex.fresh_tensor(t);
    unused = false;
    ex.relate_slot(*this, s, none);
    return s;
  }
  Sym s = init.sym;
  s.kind = number;
  s.taint = Taint::Data;
  s.axis_id = 0;
  s.c = std::move(c);
  s.recorded = ex.recorder().add_output(node, s.is(K::Int)     ? program::Type::integer()
                                              : s.is(K::Float) ? program::Type::floating()
                                                               : program::Type::boolean());
  return s;
}

}  // namespace oe::capture
