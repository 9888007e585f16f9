// Freezing, comparing and merging of abstract values.
#include "lib/capture/join.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace oe::capture {
namespace {

using K = Sym::Kind;

bool container(const Sym& s) {
  return s.is(K::Tuple) || s.is(K::List) || s.is(K::Dict) || s.is(K::Object);
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
    default:
      return "a value";
  }
}

const at::Tensor& example(const TensorValue& t) {
  size_t w = 0;
  while (!t.c.has(w)) ++w;
  return t.c.at(w).toTensor();
}

// The argument for a frozen leaf, whose value was recorded in the block that has just ended.
program::Arg leaf_arg(Executor& ex, const Frozen& f) {
  if (f.tensor) return {ex.recorder().value(f.tensor)};
  return ex.to_arg(f.sym);
}

Sym unset_number(K kind) {
  return kind == K::Int ? Sym::of(int64_t{0}) : kind == K::Float ? Sym::of(0.0) : Sym::of(false);
}

bool leafy(const Sym& s) { return s.is(K::Tensor) || s.is_number(); }

}  // namespace

bool same_structure(Executor& ex, const Frozen& a, const Frozen& b) {
  if (a.sym.kind != b.sym.kind || a.items.size() != b.items.size()) return false;
  if (a.names != b.names || a.keys.size() != b.keys.size()) return false;
  for (size_t i = 0; i < a.keys.size(); ++i)
    if (!ex.equal_constants(a.keys[i], b.keys[i])) return false;
  return true;
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
    case K::List:
      for (const Sym& e : s.list->items) f.items.push_back(freeze(e));
      break;
    case K::Dict:
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

Frozen Executor::freeze_cell(Cell& c) {
  Frozen f;
  if (auto* storage = dynamic_cast<StorageCell*>(&c)) {
    f.sym.kind = K::Tensor;
    f.tensor = storage->base;
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    f.sym.kind = K::List;
    f.sym.list = std::static_pointer_cast<ListCell>(c.shared_from_this());
    for (const Sym& e : list->items) f.items.push_back(freeze(e));
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    f.sym.kind = K::Dict;
    f.sym.dict = std::static_pointer_cast<DictCell>(c.shared_from_this());
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
  } else if (auto* list = dynamic_cast<ListCell*>(&c)) {
    list->items = content.list->items;
  } else if (auto* dict = dynamic_cast<DictCell*>(&c)) {
    dict->items = content.dict->items;
  } else if (auto* object = dynamic_cast<ObjectCell*>(&c)) {
    object->attributes = content.object->attributes;
  }
}

bool identical(Executor& ex, const Frozen& a, const Frozen& b) {
  if (a.sym.kind != b.sym.kind) return false;
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
  if (a.sym.recorded) return a.sym.recorded == b.sym.recorded;
  return ex.equal_constants(a.sym, b.sym);
}

TensorValuePtr join_types(Executor& ex, const TensorValue& a, const TensorValue& b, Taint taint) {
  if (example(a).scalar_type() != example(b).scalar_type())
    ex.cannot_join("OE4050",
              std::string("a tensor is ") + c10::toString(example(a).scalar_type()) +
                  " on one path and " + c10::toString(example(b).scalar_type()) + " on another",
              "convert both to one type with to()");
  auto t = std::make_shared<TensorValue>();
  t->taint = join(taint, join(a.taint, b.taint));
  t->ranked = a.ranked && b.ranked && a.axes.size() == b.axes.size();
  if (!t->ranked) return t;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    const Axis &x = a.axes[i], &y = b.axes[i];
    const auto at = static_cast<int64_t>(i);
    const bool same = x.is_static() && y.is_static() ? example(a).size(at) == example(b).size(at)
                                                     : x.id == y.id;
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
    sizes.push_back(like.tensor->axes[i].is_static()
                        ? example(*like.tensor).size(static_cast<int64_t>(i))
                        : 1);
  auto t = std::make_shared<TensorValue>();
  t->c = PerWorld::constant(at::zeros(sizes, example(*like.tensor).options()));
  t->axes.resize(sizes.size());
  return {ex.recorder().value(t)};
}

Sym rebuild(Executor& ex, const Frozen& like, std::vector<Sym> items) {
  switch (like.sym.kind) {
    case K::Tuple:
      return Sym::of_tuple(std::move(items), like.sym.type);
    case K::List:
      return ex.make_list(std::move(items), like.sym.list->element);
    case K::Dict: {
      std::vector<std::pair<Sym, Sym>> pairs;
      for (size_t i = 0; i < items.size(); ++i) pairs.emplace_back(like.keys[i], items[i]);
      return ex.make_dict(std::move(pairs), like.sym.dict->key, like.sym.dict->value);
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
    TensorValuePtr t = a_unset || b_unset ? std::make_shared<TensorValue>(*known.tensor)
                                          : join_types(ex, *a.tensor, *b.tensor, cond.taint);
    t->taint = join(t->taint, cond.taint);
    t->c = a_unset ? pick(b.tensor->c, b.tensor->c)
           : b_unset ? pick(a.tensor->c, a.tensor->c)
                     : pick(a.tensor->c, b.tensor->c);
    t->number = nullptr;
    returns(0, a, a_unset);
    returns(1, b, b_unset);
    t->recorded = ex.recorder().add_output(node, ex.recorder().type_of(*t));
    Sym s = ex.fresh_tensor(t);
    for (const Frozen* f : {&a, &b})
      if (f->sym.tensor && f->sym.tensor->storage->serial < scope_start) {
        s.tensor->storage->entangled.push_back(f->sym.tensor->storage);
        f->sym.tensor->storage->entangled.push_back(s.tensor->storage);
      }
    return s;
  }
  if (!a_unset && !b_unset && known.sym.is(K::Bool) && a.sym.is_constant_number() &&
      b.sym.is_constant_number())  // the two differ: it is the condition, or its opposite
    return a.sym.c.at(0).toBool() ? cond : ex.apply1("aten::__not__", {cond});
  Sym s;
  s.kind = known.sym.kind;
  s.taint = join(cond.taint, join(a.sym.taint, b.sym.taint));
  s.c = a_unset ? pick(b.sym.c, b.sym.c) : b_unset ? pick(a.sym.c, a.sym.c) : pick(a.sym.c, b.sym.c);
  if (!a_unset && !b_unset && a.sym.axis_id == b.sym.axis_id) s.axis_id = a.sym.axis_id;
  returns(0, a, a_unset);
  returns(1, b, b_unset);
  s.recorded = ex.recorder().add_output(node, s.is(K::Int)     ? program::Type::integer()
                                              : s.is(K::Float) ? program::Type::floating()
                                                               : program::Type::boolean());
  return s;
}

Sym Joiner::merge(const Frozen& a, const Frozen& b) {
  if (identical(ex, a, b)) return a.sym.is(K::Tensor) && !a.sym.tensor ? ex.fresh_tensor(a.tensor) : a.sym;
  const bool a_unset = a.sym.is(K::Uninitialized), b_unset = b.sym.is(K::Uninitialized);
  if ((a_unset && !leafy(b.sym)) || (b_unset && leafy(a.sym) == false)) {
    // An unset container: the set branch's structure, each piece unset in the other.
    const Frozen& set = a_unset ? b : a;
    if (!container(set.sym)) return set.sym;
    std::vector<Sym> items;
    for (const Frozen& e : set.items) items.push_back(a_unset ? merge(Frozen{}, e) : merge(e, Frozen{}));
    return rebuild(ex, set, std::move(items));
  }
  if (a_unset || b_unset || (leafy(a.sym) && a.sym.kind == b.sym.kind)) return leaf(a, b);
  if (a.sym.kind != b.sym.kind)
    ex.cannot_join("OE4051", std::string("a value is ") + describe(a.sym) + " in one branch and " +
                            describe(b.sym) + " in the other",
              "give both branches the same kind of value");
  if (container(a.sym)) {
    if (!same_structure(ex, a, b))
      ex.cannot_join("OE4052", std::string(describe(a.sym)) +
                              " has another length or other keys in the two branches of a condition "
                              "that depends on the input",
                "build containers of one shape in both branches");
    std::vector<Sym> items;
    for (size_t i = 0; i < a.items.size(); ++i) items.push_back(merge(a.items[i], b.items[i]));
    return rebuild(ex, a, std::move(items));
  }
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

bool Slot::widen(Executor& ex, const Frozen& end) {
  auto check_kind = [&] {
    if (init.sym.kind != end.sym.kind && !init.sym.is(K::Uninitialized))
      ex.refuse("OE4053", std::string("a value starts a loop as ") + describe(init.sym) +
                              " and ends its body as " + describe(end.sym),
                "give it the same kind of value before the loop");
  };
  auto check_structure = [&] {
    if (!same_structure(ex, init, end))
      ex.refuse("OE4054",
                std::string(describe(init.sym)) +
                    " changes its length or keys in a loop whose trip count depends on the input",
                "collect the values in a tensor of known size instead");
  };
  if (kind == Kind::Same) {
    if (identical(ex, init, end)) return false;
    check_kind();
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
    check_structure();
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
    return end.tensor && widen_tensor(ex, *end.tensor);
  }
  check_structure();
  bool changed = false;
  for (size_t i = 0; i < items.size(); ++i) changed |= items[i].widen(ex, end.items[i]);
  return changed;
}

Sym Slot::enter(Executor& ex, program::Block* body) {
  switch (kind) {
    case Kind::Same:
      return init.sym;
    case Kind::Items: {
      std::vector<Sym> out;
      for (Slot& s : items) out.push_back(s.enter(ex, body));
      return rebuild(ex, init, std::move(out));
    }
    case Kind::Leaf:
      break;
  }
  program::Program& p = ex.recorder().program();
  auto parameter = [&](program::Type t) {
    body->params.push_back(p.new_value(std::move(t)));
    return body->params.back();
  };
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    t->recorded = parameter(ex.recorder().type_of(*t));
    Sym s = ex.fresh_tensor(t);
    // In the first iteration this is the tensor from before the loop, in later ones it is not.
    if (init.sym.tensor && !init.content_only) {
      s.tensor->storage->entangled.push_back(init.sym.tensor->storage);
      init.sym.tensor->storage->entangled.push_back(s.tensor->storage);
    }
    return s;
  }
  Sym s = init.sym.is(K::Uninitialized) ? unset_number(number) : init.sym;
  s.taint = Taint::Data;
  s.axis_id = 0;
  s.recorded = parameter(s.is(K::Int)     ? program::Type::integer()
                         : s.is(K::Float) ? program::Type::floating()
                                          : program::Type::boolean());
  return s;
}

void Slot::initial(Executor& ex, program::Args& args) const {
  if (kind == Kind::Leaf) {
    Frozen like = init;
    if (init.sym.is(K::Uninitialized)) {
      like.tensor = type;
      like.sym.kind = number;
    }
    args.push_back(init.sym.is(K::Uninitialized) ? placeholder(ex, like) : leaf_arg(ex, init));
  }
  for (const Slot& s : items) s.initial(ex, args);
}

void Slot::returned(Executor& ex, const Frozen& end, program::Args& returns) const {
  if (kind == Kind::Leaf) returns.push_back(leaf_arg(ex, end));
  for (size_t i = 0; i < items.size(); ++i) items[i].returned(ex, end.items[i], returns);
}

std::vector<const Frozen*> Slot::nth(const std::vector<const Frozen*>& finals, size_t i) const {
  std::vector<const Frozen*> out;
  for (const Frozen* f : finals)
    out.push_back(f && i < f->items.size() ? &f->items[i] : nullptr);
  return out;
}

Sym Slot::leave(Executor& ex, program::Node* node, const std::vector<const Frozen*>& finals) const {
  if (kind == Kind::Same)
    return init.sym.is(K::Tensor) && !init.sym.tensor ? ex.fresh_tensor(init.tensor) : init.sym;
  if (kind == Kind::Items) {
    std::vector<Sym> out;
    for (size_t i = 0; i < items.size(); ++i)
      out.push_back(items[i].leave(ex, node, nth(finals, i)));
    return rebuild(ex, init, std::move(out));
  }
  PerWorld c = PerWorld::sized(finals.size());
  for (size_t w = 0; w < finals.size(); ++w) {
    if (!finals[w]) continue;
    const PerWorld& from = finals[w]->tensor ? finals[w]->tensor->c : finals[w]->sym.c;
    if (from.has(w)) c.set(w, from.at(w));
  }
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    t->c = std::move(c);
    for (Axis& a : t->axes)
      if (own_axes.contains(a.id)) a = ex.fresh_axis(Taint::Data);
    t->recorded = ex.recorder().add_output(node, ex.recorder().type_of(*t));
    Sym s = ex.fresh_tensor(t);
    if (init.sym.tensor && !init.content_only) {  // the same tensor when the loop ran no iteration
      s.tensor->storage->entangled.push_back(init.sym.tensor->storage);
      init.sym.tensor->storage->entangled.push_back(s.tensor->storage);
    }
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
