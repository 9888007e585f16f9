// The methods of open lists. A list of known length has them too where an index is computed: it is
// made open, and its elements are taken out again.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"
#include "lib/capture/lists/open_lists.h"

namespace oe::capture {

// A call of one of them; what a method gives are the results of the call, nothing where it has no
// form in the graph.
struct OpenLists::Methods {
  Executor& ex;
  const std::vector<AbstractValue>& args;
  ListCell& list = *args[0].list();

  using Outputs = std::optional<std::vector<AbstractValue>>;
  static Outputs one(AbstractValue s) { return std::vector<AbstractValue>{std::move(s)}; }
  static Outputs none() { return std::vector<AbstractValue>{}; }

  AbstractValue content(const char* why = "a computed index") {
    return ex.open_lists.content_of(list, why);
  }
  // Another list with elements of this one.
  AbstractValue made(AbstractValue c) {
    for (const AbstractValue& item : list.items) hold(c, item);
    if (list.is_open()) hold(c, list.open);
    AbstractValue l = ex.values.list({}, list.element);
    l.list()->open = std::move(c);
    return l;
  }
  // A list of known length keeps it: its elements are taken out of the content again.
  void store(const AbstractValue& c, const std::vector<AbstractValue>& involved, size_t length) {
    const bool open = list.is_open() || has_sequence(c);
    ex.open_lists.set_open(list, c, involved);
    if (open) return;
    for (size_t i = 0; i < length; ++i)
      list.items.push_back(
          ex.open_lists.element(c, AbstractValue::of(static_cast<int64_t>(i)), list.element));
    list.open = AbstractValue{};
    for (const AbstractValue& e : list.items)
      for (const AbstractValue& other : involved) hold(e, other);
  }
  std::vector<AbstractValue> items_and(const AbstractValue& more) const {
    std::vector<AbstractValue> all = list.items;
    all.push_back(more);
    return all;
  }
  AbstractValue reversed(const AbstractValue& c) {
    return each_column(c, [&](const AbstractValue& t, size_t) {
      if (t.is(K::Sequence)) return ex.open_lists.backwards(t);
      return ex.apply("aten::flip",
                      {t, ex.values.list({AbstractValue::of(int64_t{0})}, c10::IntType::get())});
    });
  }

  Outputs len() { return one(ex.open_lists.length(list.open)); }
  Outputs get_item() {
    const AbstractValue e = ex.open_lists.element(content(), args[1], list.element);
    // The stack is no part of the list: the elements themselves are.
    if (!list.is_open() && !ex.places.choose(e, list.items, args[1]))
      for (const AbstractValue& item : list.items) hold(e, item);
    return one(e);
  }
  Outputs set_item() {
    store(ex.open_lists.replace(content(), args[1], args[2]), items_and(args[2]),
          list.items.size());
    return one(args[0]);
  }
  Outputs append() {
    const bool own = ex.open_lists.takes_over(list, args[1]);
    const AbstractValue now = ex.open_lists.insert(content(), args[1], nullptr);
    ex.open_lists.set_open(list, now, {args[1]});
    if (own && now.is(K::Tensor)) now.tensor()->storage->owns_elements = true;
    return one(args[0]);
  }
  Outputs insert() {
    const std::vector<AbstractValue> all = items_and(args[2]);
    store(ex.open_lists.insert(content(), args[2], &args[1]), all, all.size());
    return none();
  }
  // The content with the elements of the list args[1] behind it; what is in it by then.
  std::pair<AbstractValue, std::vector<AbstractValue>> with_another() {
    const ListCell& more = *args[1].list();
    std::vector<AbstractValue> added = list.items;
    if (!list.is_open() && list.items.empty()) return {more.open, added};
    if (more.is_open())
      return {ex.open_lists.concat(content("another list added to it"), more.open), added};
    AbstractValue c = content();
    for (const AbstractValue& e : more.items) {
      c = ex.open_lists.insert(c, e, nullptr);
      added.push_back(e);
    }
    return {c, added};
  }
  Outputs add() {
    const auto [c, added] = with_another();
    const AbstractValue out = made(c);
    for (const AbstractValue& e : added) hold(c, e);
    if (args[1].list()->is_open()) hold(c, args[1].list()->open);
    return one(out);
  }
  Outputs extend() {
    auto [c, added] = with_another();
    if (args[1].list()->is_open()) added.push_back(args[1].list()->open);
    ex.open_lists.set_open(list, c, added);
    return one(args[0]);
  }
  Outputs pop() {
    const AbstractValue index = args.size() > 1 ? args[1] : AbstractValue::of(int64_t{-1}),
                        c = content();
    const AbstractValue e = ex.open_lists.element(c, index, list.element);
    const std::vector<AbstractValue> all = list.items;
    for (const AbstractValue& item : all) hold(e, item);
    store(ex.open_lists.erase(c, index), all, all.size() - 1);
    return one(e);
  }
  Outputs erase() {
    const std::vector<AbstractValue> all = list.items;
    store(ex.open_lists.erase(content(), args[1]), all, all.size() - 1);
    return none();
  }
  Outputs clear() {
    ex.heap.change(list);
    list.open = AbstractValue{};
    list.items.clear();
    return none();
  }
  Outputs reverse() {
    ex.open_lists.set_open(list, reversed(list.open), {});
    return none();
  }
  // Where the bound of a slice with a negative step lies in the list turned round; none: as it is.
  AbstractValue turned(const AbstractValue& bound, const AbstractValue& length) {
    const AbstractValue zero = AbstractValue::of(int64_t{0}), one = AbstractValue::of(int64_t{1});
    if (bound.is(K::None)) return bound;
    const AbstractValue below =
        ex.apply("aten::Int.bool", {ex.apply("aten::lt.int", {bound, zero})});
    const AbstractValue at =
        ex.apply("aten::add.int", {bound, ex.apply("aten::mul.int", {below, length})});
    const AbstractValue from_end =
        ex.apply("aten::sub.int", {ex.apply("aten::sub.int", {length, one}), at});
    return ex.apply("prim::max.int", {from_end, zero});
  }
  Outputs slice() {
    const int64_t step = ex.apply.known_int(args[3], "step");
    const AbstractValue c = content("computed bounds");
    if (step > 0) return one(made(ex.open_lists.slice(c, args[1], args[2], step)));
    const AbstractValue n = ex.open_lists.length(c);
    return one(
        made(ex.open_lists.slice(reversed(c), turned(args[1], n), turned(args[2], n), -step)));
  }
  std::optional<AbstractValue> times() {
    const AbstractValue c = content("a computed count");
    bool known = true;
    const AbstractValue all = each_column(c, [&](const AbstractValue& t, size_t) {
      if (t.is(K::Sequence)) {
        const auto some = repeated(t);
        known = known && some;
        return some.value_or(t);
      }
      std::vector<AbstractValue> repeats(ex.views.read(t.tensor())->axes.size(),
                                         AbstractValue::of(int64_t{1}));
      repeats[0] = ex.apply("prim::max.int", {args[1], AbstractValue::of(int64_t{0})});
      return ex.apply("aten::repeat", {t, ex.values.list(std::move(repeats), c10::IntType::get())});
    });
    return known ? std::optional(all) : std::nullopt;
  }
  // ONNX repeats no sequence: a small number of them, one behind the other.
  std::optional<AbstractValue> repeated(const AbstractValue& sequence) {
    if (!args[1].is_constant_number()) return std::nullopt;
    const int64_t count = args[1].c.at(0).toInt();
    if (count > 64) return std::nullopt;
    if (count < 1)
      return ex.open_lists.slice(sequence, AbstractValue::of(int64_t{0}),
                                 AbstractValue::of(int64_t{0}));
    AbstractValue all = sequence;
    for (int64_t i = 1; i < count; ++i) all = ex.open_lists.concat(all, sequence);
    return all;
  }
  Outputs mul() {
    const auto all = times();
    return all ? one(made(*all)) : std::nullopt;
  }
  Outputs mul_in_place() {
    const auto all = times();
    if (!all) return std::nullopt;
    ex.open_lists.set_open(list, *all, {});
    return one(args[0]);
  }
  Outputs copy() { return one(made(list.open)); }
};

std::optional<std::vector<AbstractValue>> OpenLists::method(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  using L = Methods;
  struct Method {
    std::string_view name;
    L::Outputs (L::*run)();
  };
  static constexpr Method methods[] = {{"len", &L::len},
                                       {"__getitem__", &L::get_item},
                                       {"_set_item", &L::set_item},
                                       {"append", &L::append},
                                       {"insert", &L::insert},
                                       {"extend", &L::extend},
                                       {"add_", &L::extend},
                                       {"add", &L::add},
                                       {"pop", &L::pop},
                                       {"Delete", &L::erase},
                                       {"clear", &L::clear},
                                       {"reverse", &L::reverse},
                                       {"slice", &L::slice},
                                       {"mul", &L::mul},
                                       {"mul_", &L::mul_in_place},
                                       {"copy", &L::copy},
                                       {"list", &L::copy}};
  const Method* method = row_named(methods, op.method());
  if (!method) return std::nullopt;
  L call{ex_, args};
  return (call.*method->run)();
}

}  // namespace oe::capture
