// Lists, dicts, tuples, strings and objects: cells with identity, resolved while running.
#include <algorithm>
#include <bit>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {
using K = Sym::Kind;
}

Sym Executor::make_list(std::vector<Sym> items, c10::TypePtr element) {
  Sym s;
  s.kind = K::List;
  s.list = std::make_shared<ListCell>();
  s.list->items = std::move(items);
  s.list->element = std::move(element);
  return s;
}

Sym Executor::make_dict(std::vector<std::pair<Sym, Sym>> items, c10::TypePtr key,
                        c10::TypePtr value) {
  Sym s;
  s.kind = K::Dict;
  s.dict = std::make_shared<DictCell>();
  s.dict->items = std::move(items);
  s.dict->key = std::move(key);
  s.dict->value = std::move(value);
  return s;
}

int64_t Executor::known_int(const Sym& s, const char* what) {
  if (s.is(K::Int) && s.taint == Taint::Constant) return s.c.at(0).toInt();
  if (s.is(K::Int) && concrete_ >= 0) return to_ivalue(s, static_cast<size_t>(concrete_)).toInt();
  refuse("OE4030", std::string("a list is used with a computed ") + what,
         "ONNX has no list whose elements are picked at run time here; use a tensor");
}

bool Executor::equal_constants(const Sym& a, const Sym& b) {
  auto plain = [](const Sym& s) {
    return (s.is_number() || s.is(K::String) || s.is(K::Opaque)) && s.taint == Taint::Constant;
  };
  if (a.is(K::None) && b.is(K::None)) return true;
  if (!plain(a) || !plain(b) || a.kind != b.kind) return false;
  const c10::IValue &x = a.c.at(0), &y = b.c.at(0);
  if (x.isDouble() && y.isDouble())  // -0.0 and nan are not interchangeable with 0.0 and nan
    return std::bit_cast<uint64_t>(x.toDouble()) == std::bit_cast<uint64_t>(y.toDouble());
  return x == y;
}

// All attributes of one of the model's objects: what is changed later is then told from the rest.
void Executor::load_attributes(ObjectCell& o) {
  if (!o.object) return;
  Sym s;
  s.kind = K::Object;
  s.object = std::static_pointer_cast<ObjectCell>(o.shared_from_this());
  for (const auto& a : o.type->getAttributes())
    if (!o.object->getAttr(a.getName()).isNone() || a.getType()->kind() != c10::TypeKind::NoneType)
      get_attribute(s, a.getName());
}

Sym Executor::get_attribute(const Sym& s, const std::string& name) {
  if (!s.is(K::Object)) refuse("OE4031", "attribute '" + name + "' of a value that is no object");
  auto& attributes = s.object->attributes;
  auto it = attributes.find(name);
  if (it != attributes.end()) return it->second;
  if (auto slot = s.object->type->findAttributeSlot(name); slot && s.object->object) {
    const std::string path = s.object->path.empty() ? name : s.object->path + "." + name;
    return attributes[name] = wrap_constant(s.object->object->getSlot(*slot), path);
  }
  if (s.object->type->hasConstant(name))
    return attributes[name] = wrap_constant(s.object->type->getConstant(name), name);
  refuse("OE4032", "attribute '" + name + "' is read before it is set");
}

bool Executor::list_call(const OpInfo& op, const std::vector<Sym>& args, std::vector<Sym>& out) {
  ListCell& list = *args[0].list;
  auto& items = list.items;
  const std::string name = op.base.substr(op.base.find("::") + 2);
  const auto size = static_cast<int64_t>(items.size());
  auto position = [&](const Sym& index, const char* what = "index") {
    int64_t i = known_int(index, what);
    if (i < 0) i += size;
    if (i < 0 || i >= size) {
      for (size_t w = 0; w < worlds_; ++w)
        if (active(w)) world_failed(w, "list index out of range");
    }
    return static_cast<size_t>(i);
  };
  auto clamped = [&](const Sym& s, int64_t fallback) {
    if (s.is(K::None)) return fallback;
    int64_t i = known_int(s, "slice");
    if (i < 0) i += size;
    return std::clamp<int64_t>(i, 0, size);
  };
  auto computed = [&](size_t i) {
    return args.size() > i && args[i].is(K::Int) && args[i].taint != Taint::Constant &&
           concrete_ < 0;
  };
  const bool indexed = name == "__getitem__" || name == "_set_item" || name == "insert" ||
                       name == "pop" || name == "Delete" || name == "slice" || name == "mul";
  const bool joined = name == "extend" || name == "add_" || name == "add";
  if (list.is_open() || (indexed && (computed(1) || (name == "slice" && computed(2)))) ||
      (joined && args.size() > 1 && args[1].is(K::List) && args[1].list->is_open()))
    return open_list_call(op, args, out);
  if (name == "len") {
    out = {Sym::of(size)};
  } else if (name == "__getitem__") {
    out = {items[position(args[1])]};
  } else if (name == "_set_item") {
    change(list);
    items[position(args[1])] = args[2];
    out = {args[0]};
  } else if (name == "append") {
    change(list);
    items.push_back(args[1]);
    out = {args[0]};
  } else if (name == "extend" || name == "add_") {
    const std::vector<Sym> more = args[1].list->items;
    change(list);
    items.insert(items.end(), more.begin(), more.end());
    out = {args[0]};
  } else if (name == "insert") {
    int64_t at = known_int(args[1], "index");
    if (at < 0) at += size;
    change(list);
    items.insert(items.begin() + std::clamp<int64_t>(at, 0, size), args[2]);
  } else if (name == "pop") {
    const size_t at = position(args.size() > 1 ? args[1] : Sym::of(int64_t{-1}));
    out = {items[at]};
    change(list);
    items.erase(items.begin() + static_cast<long>(at));
  } else if (name == "Delete") {
    const size_t at = position(args[1]);
    change(list);
    items.erase(items.begin() + static_cast<long>(at));
  } else if (name == "clear") {
    change(list);
    items.clear();
  } else if (name == "reverse") {
    change(list);
    std::reverse(items.begin(), items.end());
  } else if (name == "add") {
    std::vector<Sym> both = items;
    both.insert(both.end(), args[1].list->items.begin(), args[1].list->items.end());
    out = {make_list(std::move(both), list.element)};
  } else if (name == "mul" || name == "mul_") {
    const int64_t times = known_int(args[1], "count");
    std::vector<Sym> all;
    for (int64_t i = 0; i < times; ++i) all.insert(all.end(), items.begin(), items.end());
    if (name == "mul_") {
      change(list);
      items = std::move(all);
      out = {args[0]};
    } else {
      out = {make_list(std::move(all), list.element)};
    }
  } else if (name == "slice") {
    const int64_t step = known_int(args[3], "step");
    std::vector<Sym> part;
    if (step > 0) {
      for (int64_t i = clamped(args[1], 0), e = clamped(args[2], size); i < e; i += step)
        part.push_back(items[static_cast<size_t>(i)]);
    } else {
      // Negative steps walk back from the end; None means beyond the edge.
      auto edge = [&](const Sym& s, int64_t none) {
        if (s.is(K::None)) return none;
        int64_t i = known_int(s, "slice");
        if (i < 0) i += size;
        return std::clamp<int64_t>(i, -1, size - 1);
      };
      for (int64_t i = edge(args[1], size - 1), e = edge(args[2], -1); i > e; i += step)
        part.push_back(items[static_cast<size_t>(i)]);
    }
    out = {make_list(std::move(part), list.element)};
  } else if (name == "copy" || name == "list") {
    out = {make_list(items, list.element)};
  } else {
    return false;
  }
  return true;
}

bool Executor::dict_call(const OpInfo& op, const std::vector<Sym>& args, std::vector<Sym>& out) {
  DictCell& dict = *args[0].dict;
  auto& items = dict.items;
  const std::string name = op.base.substr(op.base.find("::") + 2);
  auto find = [&](const Sym& key) {
    if (taint_of(key) != Taint::Constant && concrete_ < 0)
      refuse("OE4033", "a dict is used with a key that depends on the input");
    return std::find_if(items.begin(), items.end(),
                        [&](const auto& e) { return equal_constants(e.first, key); });
  };
  auto missing = [&](const Sym* flag) {
    for (size_t w = 0; w < worlds_; ++w)
      if (active(w) && (!flag || (real_ >> w & 1 && !to_ivalue(*flag, w).toBool())))
        world_failed(w, "KeyError in a dict");
  };
  struct Entry {
    bool there = false;
    std::optional<Sym> flag;  // set where that depends on the input
    Sym value;
  };
  auto entry_of = [&](const Sym& value, const DictCell& d) -> Entry {
    if (!value.is(K::Maybe) || !d.may_lack_entries()) return {true, std::nullopt, value};
    const Sym &flag = value.tuple->at(0), &content = value.tuple->at(1);
    if (auto known = known_condition(flag)) return {*known, std::nullopt, content};
    return {true, flag, content};
  };
  auto look = [&](const Sym& key) {
    auto it = find(key);
    return it == items.end() ? Entry{} : entry_of(it->second, dict);
  };
  // The entry, where the model relies on it.
  auto demanded = [&](const Sym& key) {
    Entry e = look(key);
    if (!e.there) missing(nullptr);
    if (e.flag) {
      missing(&*e.flag);
      assume("a dict has the key that it is asked for");
    }
    return e.value;
  };
  auto either = [&](const Sym& flag, const Sym& value, const Sym& otherwise) {
    return kept_branches(
               flag, [&](size_t k) { return std::vector<Sym>{k == 0 ? value : otherwise}; },
               {false, false}, true)
        ->at(0);
  };
  auto value_or = [&](const Sym& key, const Sym& otherwise) {
    const Entry e = look(key);
    return !e.there ? otherwise : e.flag ? either(*e.flag, e.value, otherwise) : e.value;
  };
  auto put = [&](const Sym& key, const Sym& value) {
    auto it = find(key);
    change(dict);
    if (it == items.end())
      items.emplace_back(key, value);
    else
      it->second = value;
  };
  auto remove = [&](const Sym& key) {
    change(dict);
    if (auto it = find(key); it != items.end()) items.erase(it);
  };
  auto ordered = [&] {
    if (dict.unordered && concrete_ < 0)
      refuse("OE4035", "a dict is looped over whose keys depend on the input",
             "give it the same keys, in one order, whatever the input is");
  };
  if (name == "len") {
    Sym n = Sym::of(int64_t{0});
    for (const auto& [k, v] : items)
      if (const Entry e = entry_of(v, dict); e.there)
        n = apply1("aten::add.int",
                   {n, e.flag ? apply1("aten::Int.bool", {*e.flag}) : Sym::of(int64_t{1})});
    out = {n};
  } else if (name == "__getitem__") {
    out = {demanded(args[1])};
  } else if (name == "__contains__") {
    const Entry e = look(args[1]);
    out = {e.flag ? *e.flag : Sym::of(e.there)};
  } else if (name == "get") {
    const Entry e = look(args[1]);
    if (e.flag && args.size() < 3)
      out = {find(args[1])->second};  // None or the value: the Optional that the model gets
    else
      out = {value_or(args[1], args.size() > 2 ? args[2] : Sym::none())};
  } else if (name == "_set_item") {
    put(args[1], args[2]);
  } else if (name == "setdefault") {
    out = {value_or(args[1], args[2])};
    put(args[1], out[0]);
  } else if (name == "pop") {
    out = {args.size() > 2 ? value_or(args[1], args[2]) : demanded(args[1])};
    remove(args[1]);
  } else if (name == "popitem") {
    if (items.empty()) missing(nullptr);
    ordered();
    change(dict);  // TorchScript's takes the first one
    out = {Sym::of_tuple({items.front().first, items.front().second},
                         c10::TupleType::create({dict.key, dict.value}))};
    items.erase(items.begin());
  } else if (name == "Delete") {
    demanded(args[1]);
    remove(args[1]);
  } else if (name == "clear") {
    change(dict);
    items.clear();
    dict.unordered = false;
  } else if (name == "update") {
    const DictCell more = *args[1].dict;
    for (const auto& [k, v] : more.items) {
      const Entry theirs = entry_of(v, more), mine = look(k);
      if (!theirs.there) continue;
      if (!theirs.flag) {
        put(k, theirs.value);
      } else if (!mine.there) {
        put(k, v);
      } else {
        const Sym both = either(*theirs.flag, theirs.value, mine.value);
        put(k, mine.flag ? Sym::maybe(apply1("aten::__or__.bool", {*theirs.flag, *mine.flag}), both)
                         : both);
      }
    }
    dict.unordered = dict.unordered || more.unordered;
  } else if (name == "copy" || name == "dict") {
    out = {make_dict(items, dict.key, dict.value)};
    out[0].dict->unordered = dict.unordered;
  } else if (name == "keys" || name == "values" || name == "items") {
    ordered();
    std::vector<Sym> list;
    auto pair = c10::TupleType::create({dict.key, dict.value});
    for (const auto& [k, entry] : items) {
      const auto [there, flag, v] = entry_of(entry, dict);
      if (!there) continue;
      list.push_back(name == "keys" ? k : name == "values" ? v : Sym::of_tuple({k, v}, pair));
    }
    out = {make_list(std::move(list), name == "keys"     ? dict.key
                                      : name == "values" ? dict.value
                                                         : c10::TypePtr(pair))};
  } else {
    return false;
  }
  return true;
}

Sym Executor::tolist(const std::vector<Sym>& args, JitNode* n) {
  const TensorValuePtr t = read(args[0].tensor);
  if (!t->ranked) refuse("OE4015", "a tensor whose rank varies is taken as a list");
  for (size_t w = 0; w < worlds_; ++w) {
    if (!active(w) || !t->c.has(w)) continue;
    try {
      torch::jit::Stack stack;
      for (const Sym& a : args) stack.push_back(to_ivalue(a, w));
      n->getOperation()(stack);
    } catch (const c10::Error& e) {
      world_failed(w, e.what_without_backtrace());
    }
  }
  auto row = [&](const Sym& s, int64_t dim, int64_t i) {
    return apply1("aten::select.int", {s, Sym::of(dim), Sym::of(i)});
  };
  // A stack of what the rows along axis 0 become.
  const std::function<Sym(const Sym&, const c10::TypePtr&)> columns =
      [&](const Sym& s, const c10::TypePtr& type) -> Sym {
    if (type->kind() != c10::TypeKind::ListType) {
      const auto number = type->kind() == c10::TypeKind::IntType     ? c10::ScalarType::Long
                          : type->kind() == c10::TypeKind::FloatType ? c10::ScalarType::Double
                                                                     : c10::ScalarType::Bool;
      return apply1("aten::to.dtype", {s, Sym::of(static_cast<int64_t>(number)), Sym::of(false),
                                       Sym::of(true), Sym::none()});
    }
    const TensorValuePtr now = read(s.tensor);
    const int64_t size = now->c.at(first_active()).toTensor().size(1);
    if (!now->axes[1].is_static() || size == 0)
      refuse("OE4038", "tolist() of a tensor with more than one axis of unknown size",
             "take its rows in a loop, or work on the tensor itself");
    std::vector<Sym> parts;
    for (int64_t i = 0; i < size; ++i)
      parts.push_back(columns(row(s, 1, i), type->containedType(0)));
    return Sym::of_tuple(std::move(parts), type);
  };
  const std::function<Sym(const Sym&, const c10::TypePtr&)> list =
      [&](const Sym& s, const c10::TypePtr& type) -> Sym {
    if (type->kind() != c10::TypeKind::ListType) return number_in(s, type);
    const TensorValuePtr now = read(s.tensor);
    Sym l = make_list({}, type->containedType(0));
    if (!now->axes[0].is_static() && concrete_ < 0) {
      l.list->open = columns(s, type->containedType(0));
      return l;
    }
    const size_t w = concrete_ >= 0 ? static_cast<size_t>(concrete_) : first_active();
    for (int64_t i = 0; i < now->c.at(w).toTensor().size(0); ++i)
      l.list->items.push_back(list(row(s, 0, i), type->containedType(0)));
    return l;
  };
  return list(args[0], n->output()->type());
}

bool Executor::container_call(const OpInfo& op, const std::vector<Sym>& args, JitNode* n,
                              std::vector<Sym>& out) {
  const std::string& b = op.base;
  if ((b == "aten::__is__" || b == "aten::__isnot__") &&
      (args[0].is(K::Maybe) || args[1].is(K::Maybe))) {
    const Sym& maybe = args[0].is(K::Maybe) ? args[0] : args[1];
    if (!args[0].is(K::None) && !args[1].is(K::None))
      refuse("OE4037", "two values that may be None are compared for identity");
    const Sym present = maybe.tuple->at(0);
    out = {b == "aten::__isnot__" ? present : apply1("aten::__not__", {present})};
    return true;
  }
  if (b == "aten::_unwrap_optional" && args[0].is(K::Maybe)) {
    assume("a value that may be None is there");
    out = {args[0].tuple->at(1)};
    return true;
  }
  if (b == "aten::__is__" || b == "aten::__isnot__") {
    auto identity = [](const Sym& s) -> const void* {
      return s.tensor   ? static_cast<const void*>(s.tensor.get())
             : s.list   ? static_cast<const void*>(s.list.get())
             : s.dict   ? static_cast<const void*>(s.dict.get())
             : s.object ? static_cast<const void*>(s.object.get())
                        : nullptr;
    };
    const bool same = (args[0].is(K::None) || args[1].is(K::None))
                          ? args[0].is(K::None) && args[1].is(K::None)
                      : identity(args[0]) ? identity(args[0]) == identity(args[1])
                      : args[0].is(K::Opaque) && args[1].is(K::Opaque) &&
                              args[0].taint == Taint::Constant && args[1].taint == Taint::Constant
                          ? args[0].c.at(0).is(args[1].c.at(0))
                          : equal_constants(args[0], args[1]);
    out = {Sym::of(same == (b == "aten::__is__"))};
    return true;
  }
  if (b == "prim::TupleIndex") {
    int64_t i = known_int(args[1], "index");
    const auto size = static_cast<int64_t>(args[0].tuple->size());
    out = {args[0].tuple->at(static_cast<size_t>(i < 0 ? i + size : i))};
    return true;
  }
  if (b == "prim::data" || b == "aten::data") {
    out = {args[0]};
    return true;
  }
  if (b == "prim::tolist") {
    out = {tolist(args, n)};
    return true;
  }
  if (b == "aten::dict" && (args.empty() || args[0].is(K::List))) {
    auto type = n->output()->type()->expect<c10::DictType>();
    Sym d = make_dict({}, type->getKeyType(), type->getValueType());
    if (!args.empty())
      for (const Sym& e : args[0].list->items)
        d.dict->items.emplace_back((*e.tuple)[0], (*e.tuple)[1]);
    out = {d};
    return true;
  }
  if (args.empty()) return false;
  // [x] * n and n * [x]
  if (b == "aten::mul" && args.size() > 1 && args[1].is(K::List) && args[0].is(K::Int))
    return list_call(op, {args[1], args[0]}, out);
  if (args[0].is(K::Dict)) {
    if (dict_call(op, args, out)) return true;
    refuse("OE4034", "dict operation " + b + " is not supported");
  }
  if (!args[0].is(K::List)) return false;
  if (list_call(op, args, out)) return true;
  if (args[0].list->is_open()) {
    if (auto results = call_on_open(op, args)) {
      out = std::move(*results);
      return true;
    }
    refuse("OE4038", op.base + " of a list whose length depends on the input",
           "ONNX has no such operator on lists of unknown length: stack the list first");
  }
  const Taint t = [&] {
    Taint all = Taint::Constant;
    for (const Sym& a : args) all = join(all, taint_of(a));
    return all;
  }();
  // Lists of sizes are compared and searched element by element, in the graph.
  if ((b == "aten::eq" || b == "aten::ne") && args[1].is(K::List) && t != Taint::Constant &&
      args[0].list->element->kind() == c10::TypeKind::IntType) {
    const auto &x = args[0].list->items, &y = args[1].list->items;
    Sym all = Sym::of(x.size() == y.size());
    for (size_t i = 0; x.size() == y.size() && i < x.size(); ++i) {
      if (x[i].is(K::Int) && x[i].axis_id && x[i].axis_id == y[i].axis_id) continue;
      Sym same = apply1("aten::eq.int", {x[i], y[i]});
      all = all.is_constant_number() && all.c.at(0).toBool()
                ? same
                : apply1("aten::__and__.bool", {all, same});
    }
    out = {b == "aten::eq" ? all : apply1("aten::__not__", {all})};
    return true;
  }
  // Searches and orderings of numbers that the graph computes.
  const std::string name = b.substr(b.find("::") + 2);
  const bool numbers = std::all_of(args[0].list->items.begin(), args[0].list->items.end(),
                                   [](const Sym& s) { return s.is_number(); });
  if (t != Taint::Constant && numbers && concrete_ < 0) {
    const auto& items = args[0].list->items;
    auto equal = [&](const Sym& x) {
      return apply1(x.is(K::Int)     ? "aten::eq.int"
                    : x.is(K::Float) ? "aten::eq.float"
                                     : "aten::eq.bool",
                    {x, args[1]});
    };
    if (name == "__contains__") {
      Sym any = Sym::of(false);
      for (const Sym& x : items)
        any = any.is_constant_number() ? equal(x) : apply1("aten::__or__.bool", {any, equal(x)});
      out = {any};
      return true;
    }
    if (name == "count") {
      Sym n = Sym::of(int64_t{0});
      for (const Sym& x : items)
        n = apply1("aten::add.int", {n, apply1("aten::Int.bool", {equal(x)})});
      out = {n};
      return true;
    }
    if ((name == "sort" || name == "sorted") && !items.empty()) {
      const Sym descending = args.size() > 1 ? args[1] : Sym::of(false);
      const Sym sorted =
          apply(op_named("aten::sort"), {stack_items(items), Sym::of(int64_t{-1}), descending})
              .at(0);
      std::vector<Sym> ordered;
      for (size_t i = 0; i < items.size(); ++i)
        ordered.push_back(
            open_element(sorted, Sym::of(static_cast<int64_t>(i)), args[0].list->element));
      if (name == "sorted") {
        out = {make_list(std::move(ordered), args[0].list->element)};
      } else {
        change(*args[0].list);
        args[0].list->items = std::move(ordered);
      }
      return true;
    }
  }
  // A constant list that LibTorch's own operator changes in place (sort, remove, ...).
  if (op.schema->is_mutable() && t == Taint::Constant) {
    torch::jit::Stack stack;
    for (const Sym& a : args) stack.push_back(to_ivalue(a, 0));
    const c10::IValue list = stack[0];
    op.op->getOperation()(stack);
    change(*args[0].list);
    args[0].list->items.clear();
    for (const c10::IValue& v : list.toListRef())
      args[0].list->items.push_back(wrap_constant(v, ""));
    for (size_t i = 0; i < op.schema->returns().size(); ++i)
      out.push_back(wrap_constant(stack.at(i), ""));
    return true;
  }
  return false;
}

}  // namespace oe::capture
