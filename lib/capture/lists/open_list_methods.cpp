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
  const std::vector<Sym>& args;
  ListCell& list = *args[0].list();

  using Outputs = std::optional<std::vector<Sym>>;
  static Outputs one(Sym s) { return std::vector<Sym>{std::move(s)}; }
  static Outputs none() { return std::vector<Sym>{}; }

  Sym content(const char* why = "a computed index") { return ex.open_lists.content_of(list, why); }
  // Another list with elements of this one.
  Sym made(Sym c) {
    for (const Sym& item : list.items) hold(c, item);
    if (list.is_open()) hold(c, list.open);
    Sym l = ex.values.list({}, list.element);
    l.list()->open = std::move(c);
    return l;
  }
  // A list of known length keeps it: its elements are taken out of the content again.
  void store(const Sym& c, const std::vector<Sym>& involved, size_t length) {
    const bool open = list.is_open() || has_sequence(c);
    ex.open_lists.set_open(list, c, involved);
    if (open) return;
    for (size_t i = 0; i < length; ++i)
      list.items.push_back(
          ex.open_lists.element(c, Sym::of(static_cast<int64_t>(i)), list.element));
    list.open = Sym{};
    for (const Sym& e : list.items)
      for (const Sym& other : involved) hold(e, other);
  }
  std::vector<Sym> items_and(const Sym& more) const {
    std::vector<Sym> all = list.items;
    all.push_back(more);
    return all;
  }
  Sym reversed(const Sym& c) {
    return each_column(c, [&](const Sym& t, size_t) {
      if (t.is(K::Sequence)) return ex.open_lists.backwards(t);
      return ex.apply("aten::flip",
                      {t, ex.values.list({Sym::of(int64_t{0})}, c10::IntType::get())});
    });
  }

  Outputs len() { return one(ex.open_lists.length(list.open)); }
  Outputs get_item() {
    const Sym e = ex.open_lists.element(content(), args[1], list.element);
    // The stack is no part of the list: the elements themselves are.
    if (!list.is_open() && !ex.places.choose(e, list.items, args[1]))
      for (const Sym& item : list.items) hold(e, item);
    return one(e);
  }
  Outputs set_item() {
    store(ex.open_lists.replace(content(), args[1], args[2]), items_and(args[2]),
          list.items.size());
    return one(args[0]);
  }
  Outputs append() {
    const bool own = ex.open_lists.takes_over(list, args[1]);
    const Sym now = ex.open_lists.insert(content(), args[1], nullptr);
    ex.open_lists.set_open(list, now, {args[1]});
    if (own && now.is(K::Tensor)) now.tensor()->storage->owns_elements = true;
    return one(args[0]);
  }
  Outputs insert() {
    const std::vector<Sym> all = items_and(args[2]);
    store(ex.open_lists.insert(content(), args[2], &args[1]), all, all.size());
    return none();
  }
  // The content with the elements of the list args[1] behind it; what is in it by then.
  std::pair<Sym, std::vector<Sym>> with_another() {
    const ListCell& more = *args[1].list();
    std::vector<Sym> added = list.items;
    if (!list.is_open() && list.items.empty()) return {more.open, added};
    if (more.is_open())
      return {ex.open_lists.concat(content("another list added to it"), more.open), added};
    Sym c = content();
    for (const Sym& e : more.items) {
      c = ex.open_lists.insert(c, e, nullptr);
      added.push_back(e);
    }
    return {c, added};
  }
  Outputs add() {
    const auto [c, added] = with_another();
    const Sym out = made(c);
    for (const Sym& e : added) hold(c, e);
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
    const Sym index = args.size() > 1 ? args[1] : Sym::of(int64_t{-1}), c = content();
    const Sym e = ex.open_lists.element(c, index, list.element);
    const std::vector<Sym> all = list.items;
    for (const Sym& item : all) hold(e, item);
    store(ex.open_lists.erase(c, index), all, all.size() - 1);
    return one(e);
  }
  Outputs erase() {
    const std::vector<Sym> all = list.items;
    store(ex.open_lists.erase(content(), args[1]), all, all.size() - 1);
    return none();
  }
  Outputs clear() {
    ex.heap.change(list);
    list.open = Sym{};
    list.items.clear();
    return none();
  }
  Outputs reverse() {
    ex.open_lists.set_open(list, reversed(list.open), {});
    return none();
  }
  // Where the bound of a slice with a negative step lies in the list turned round; none: as it is.
  Sym turned(const Sym& bound, const Sym& length) {
    const Sym zero = Sym::of(int64_t{0}), one = Sym::of(int64_t{1});
    if (bound.is(K::None)) return bound;
    const Sym below = ex.apply("aten::Int.bool", {ex.apply("aten::lt.int", {bound, zero})});
    const Sym at = ex.apply("aten::add.int", {bound, ex.apply("aten::mul.int", {below, length})});
    const Sym from_end = ex.apply("aten::sub.int", {ex.apply("aten::sub.int", {length, one}), at});
    return ex.apply("prim::max.int", {from_end, zero});
  }
  Outputs slice() {
    const int64_t step = ex.apply.known_int(args[3], "step");
    const Sym c = content("computed bounds");
    if (step > 0) return one(made(ex.open_lists.slice(c, args[1], args[2], step)));
    const Sym n = ex.open_lists.length(c);
    return one(
        made(ex.open_lists.slice(reversed(c), turned(args[1], n), turned(args[2], n), -step)));
  }
  std::optional<Sym> times() {
    const Sym c = content("a computed count");
    bool known = true;
    const Sym all = each_column(c, [&](const Sym& t, size_t) {
      if (t.is(K::Sequence)) {
        const auto some = repeated(t);
        known = known && some;
        return some.value_or(t);
      }
      std::vector<Sym> repeats(ex.views.read(t.tensor())->axes.size(), Sym::of(int64_t{1}));
      repeats[0] = ex.apply("prim::max.int", {args[1], Sym::of(int64_t{0})});
      return ex.apply("aten::repeat", {t, ex.values.list(std::move(repeats), c10::IntType::get())});
    });
    return known ? std::optional(all) : std::nullopt;
  }
  // ONNX repeats no sequence: a small number of them, one behind the other.
  std::optional<Sym> repeated(const Sym& sequence) {
    if (!args[1].is_constant_number()) return std::nullopt;
    const int64_t count = args[1].c.at(0).toInt();
    if (count > 64) return std::nullopt;
    if (count < 1) return ex.open_lists.slice(sequence, Sym::of(int64_t{0}), Sym::of(int64_t{0}));
    Sym all = sequence;
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

std::optional<std::vector<Sym>> OpenLists::method(const OpInfo& op, const std::vector<Sym>& args) {
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
