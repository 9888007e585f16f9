// The methods of lists whose length is known.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"

namespace oe::capture {

// A call of one of them; what a method gives are the results of the call.
struct Containers::ListMethods {
  Executor& ex;
  const std::vector<AbstractValue>& args;
  ListCell& list = *args[0].list();
  std::vector<AbstractValue>& items = list.items;
  const int64_t size = static_cast<int64_t>(items.size());

  using Outputs = std::vector<AbstractValue>;

  size_t position(const AbstractValue& index) {
    int64_t i = ex.apply.known_int(index, "index");
    if (i < 0) i += size;
    if (i < 0 || i >= size)
      ex.worlds.each([&](size_t w) { ex.apply.fail(w, "list index out of range"); });
    return static_cast<size_t>(i);
  }
  // A bound of a slice; `none`: what it is where it is left out.
  int64_t bound(const AbstractValue& s, int64_t none, int64_t least, int64_t most) {
    if (s.is(K::None)) return none;
    int64_t i = ex.apply.known_int(s, "slice");
    if (i < 0) i += size;
    return std::clamp(i, least, most);
  }
  AbstractValue made(std::vector<AbstractValue> elements) {
    return ex.values.list(std::move(elements), list.element);
  }

  Outputs len() { return {AbstractValue::of(size)}; }
  Outputs get_item() { return {items[position(args[1])]}; }
  Outputs set_item() {
    ex.heap.change(list);
    items[position(args[1])] = args[2];
    return {args[0]};
  }
  Outputs append() {
    ex.heap.change(list);
    items.push_back(args[1]);
    return {args[0]};
  }
  Outputs extend() {
    const std::vector<AbstractValue> more = args[1].list()->items;
    ex.heap.change(list);
    items.insert(items.end(), more.begin(), more.end());
    return {args[0]};
  }
  Outputs insert() {
    int64_t at = ex.apply.known_int(args[1], "index");
    if (at < 0) at += size;
    ex.heap.change(list);
    items.insert(items.begin() + std::clamp<int64_t>(at, 0, size), args[2]);
    return {};
  }
  Outputs pop() {
    const size_t at = position(args.size() > 1 ? args[1] : AbstractValue::of(int64_t{-1}));
    Outputs out = {items[at]};
    ex.heap.change(list);
    items.erase(items.begin() + static_cast<long>(at));
    return out;
  }
  Outputs erase() {
    const size_t at = position(args[1]);
    ex.heap.change(list);
    items.erase(items.begin() + static_cast<long>(at));
    return {};
  }
  Outputs clear() {
    ex.heap.change(list);
    items.clear();
    return {};
  }
  Outputs reverse() {
    ex.heap.change(list);
    std::reverse(items.begin(), items.end());
    return {};
  }
  Outputs add() {
    std::vector<AbstractValue> both = items;
    both.insert(both.end(), args[1].list()->items.begin(), args[1].list()->items.end());
    return {made(std::move(both))};
  }
  std::vector<AbstractValue> times() {
    std::vector<AbstractValue> all;
    for (int64_t i = ex.apply.known_int(args[1], "count"); i > 0; --i)
      all.insert(all.end(), items.begin(), items.end());
    return all;
  }
  Outputs mul() { return {made(times())}; }
  Outputs mul_in_place() {
    std::vector<AbstractValue> all = times();
    ex.heap.change(list);
    items = std::move(all);
    return {args[0]};
  }
  Outputs slice() {
    const int64_t step = ex.apply.known_int(args[3], "step");
    std::vector<AbstractValue> part;
    if (step > 0) {
      const int64_t end = bound(args[2], size, 0, size);
      for (int64_t i = bound(args[1], 0, 0, size); i < end; i += step)
        part.push_back(items[static_cast<size_t>(i)]);
    } else {
      // Negative steps walk back from the end; None means beyond the edge.
      const int64_t end = bound(args[2], -1, -1, size - 1);
      for (int64_t i = bound(args[1], size - 1, -1, size - 1); i > end; i += step)
        part.push_back(items[static_cast<size_t>(i)]);
    }
    return {made(std::move(part))};
  }
  Outputs copy() { return {made(items)}; }

  // What makes the result's length, or the place of an element, depend on the input.
  enum class Opens { Never, Index, Bounds, List };
  struct Method {
    std::string_view name;
    Outputs (ListMethods::*run)();
    Opens opens = Opens::Never;
  };
  static const Method* named(std::string_view name);

  // Whether the method is one of a list of unknown length here.
  bool opens(const Method& m) const {
    auto computed = [&](size_t i) {
      return args.size() > i && args[i].is(K::Int) && args[i].taint != Taint::Constant &&
             !ex.worlds.alone();
    };
    switch (m.opens) {
      case Opens::Never:
        return false;
      case Opens::Index:
        return computed(1);
      case Opens::Bounds:
        return computed(1) || computed(2);
      case Opens::List:
        return args.size() > 1 && args[1].is(K::List) && args[1].list()->is_open();
    }
    return false;
  }
};

const Containers::ListMethods::Method* Containers::ListMethods::named(std::string_view name) {
  using L = ListMethods;
  static constexpr Method methods[] = {{"len", &L::len},
                                       {"__getitem__", &L::get_item, Opens::Index},
                                       {"_set_item", &L::set_item, Opens::Index},
                                       {"append", &L::append},
                                       {"extend", &L::extend, Opens::List},
                                       {"add_", &L::extend, Opens::List},
                                       {"insert", &L::insert, Opens::Index},
                                       {"pop", &L::pop, Opens::Index},
                                       {"Delete", &L::erase, Opens::Index},
                                       {"clear", &L::clear},
                                       {"reverse", &L::reverse},
                                       {"add", &L::add, Opens::List},
                                       {"mul", &L::mul, Opens::Index},
                                       {"mul_", &L::mul_in_place, Opens::Index},
                                       {"slice", &L::slice, Opens::Bounds},
                                       {"copy", &L::copy},
                                       {"list", &L::copy}};
  return row_named(methods, name);
}

std::optional<std::vector<AbstractValue>> Containers::list_call(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  ListMethods call{ex_, args};
  const ListMethods::Method* method = ListMethods::named(op.method());
  if (call.list.is_open() || (method && call.opens(*method))) {
    if (auto out = ex_.places.method(op, args)) return out;
    return ex_.open_lists.method(op, args);
  }
  if (!method) return std::nullopt;
  return (call.*method->run)();
}

// A constant list that LibTorch's own operator changes in place (sort, remove, ...).
std::vector<AbstractValue> Containers::change_constant_list(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  torch::jit::Stack stack;
  for (const AbstractValue& a : args) stack.push_back(ex_.apply.value(a, 0));
  const c10::IValue list = stack[0];
  op.op->getOperation()(stack);
  ex_.heap.change(*args[0].list());
  args[0].list()->items.clear();
  for (const c10::IValue& v : list.toListRef())
    args[0].list()->items.push_back(ex_.values.constant(v, ""));
  std::vector<AbstractValue> out;
  for (size_t i = 0; i < op.schema->returns().size(); ++i)
    out.push_back(ex_.values.constant(stack.at(i), ""));
  return out;
}

}  // namespace oe::capture
