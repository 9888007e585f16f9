// The methods of lists of places: those of the lists of their numbers.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"

namespace oe::capture {
namespace {

// What a method takes besides indices, and what it gives.
enum class Gives { Nothing, Itself, Element, List, Number };
struct Method {
  std::string_view name;
  Gives gives;
  size_t element = 0;  // which argument is an element; 0: none
  bool list = false;   // the next argument is another list
};
constexpr Method methods[] = {{"len", Gives::Number},
                              {"__getitem__", Gives::Element},
                              {"_set_item", Gives::Itself, 2},
                              {"append", Gives::Itself, 1},
                              {"insert", Gives::Nothing, 2},
                              {"extend", Gives::Itself, 0, true},
                              {"add_", Gives::Itself, 0, true},
                              {"add", Gives::List, 0, true},
                              {"pop", Gives::Element},
                              {"Delete", Gives::Nothing},
                              {"clear", Gives::Nothing},
                              {"reverse", Gives::Nothing},
                              {"slice", Gives::List},
                              {"mul", Gives::List},
                              {"mul_", Gives::Itself},
                              {"copy", Gives::List},
                              {"list", Gives::List}};

}  // namespace

// The places that the lists and the element have room in; nothing where there are none, or where no
// list has to know them.
std::optional<AbstractValue> ViewList::like(const std::vector<AbstractValue>& lists,
                                            const AbstractValue* element) {
  if (!ex_.plan.places) return std::nullopt;
  std::vector<AbstractValue> open, items;
  for (const AbstractValue& s : lists) {
    if (s.list()->is_open() && !s.list()->open.is(K::ViewList)) return std::nullopt;
    if (s.list()->is_open()) open.push_back(s.list()->open);
    items.insert(items.end(), s.list()->items.begin(), s.list()->items.end());
  }
  if (element) items.push_back(*element);
  return joined(open, std::move(items), {});
}

// The list of the numbers of its elements.
std::optional<AbstractValue> ViewList::as_numbers(const AbstractValue& s,
                                                  const AbstractValue& like) {
  const ListCell& list = *s.list();
  const PlacesValue& p = *like.places();
  AbstractValue out = ex_.values.list({}, positions_type(like));
  if (list.is_open()) {
    const auto positions = positions_in(like, list.open);
    if (positions) out.list()->open = *positions;
    return positions ? std::optional(out) : std::nullopt;
  }
  for (const AbstractValue& e : list.items) {
    auto n = numbers_of(p, e);
    if (!n) return std::nullopt;
    out.list()->items.push_back(*n);
  }
  return out;
}

// The list has the elements of these numbers from now on.
void ViewList::store(ListCell& list, const AbstractValue& like, const ListCell& numbers) {
  list.items.clear();
  list.open = numbers.is_open() ? with(like, numbers.open) : AbstractValue{};
  for (const AbstractValue& n : numbers.items) list.items.push_back(view(*like.places(), n));
}

// In one world alone the list has a length, and its elements known numbers. False where it is no
// list of places.
bool ViewList::itemize(ListCell& list) {
  if (!list.is_open() || !list.open.is(K::ViewList)) return false;
  const AbstractValue places = list.open;
  const int64_t n = ex_.apply.value(ex_.open_lists.length(places), *ex_.worlds.alone()).toInt();
  ex_.heap.touch(list);
  list.open = AbstractValue{};
  for (int64_t i = 0; i < n; ++i) list.items.push_back(element(places, AbstractValue::of(i)));
  return true;
}

std::optional<std::vector<AbstractValue>> ViewList::method(const OpInfo& op,
                                                           const std::vector<AbstractValue>& args) {
  const Method* m = row_named(methods, op.method());
  if (!m) return std::nullopt;
  std::vector<AbstractValue> lists = {args[0]};
  if (m->list) lists.push_back(args[1]);
  if (ex_.worlds.alone() && m->gives != Gives::Number) {
    bool changed = false;
    for (const AbstractValue& s : lists) changed |= itemize(*s.list());
    if (!changed) return std::nullopt;
    return ex_.containers.list_call(op, args);
  }
  const std::optional<AbstractValue> places = like(lists, m->element ? &args[m->element] : nullptr);
  std::vector<AbstractValue> given = args;
  bool fits = places.has_value();
  auto replace = [&](size_t i, std::optional<AbstractValue> by) {
    fits = fits && by;
    if (by) given[i] = *by;
  };
  if (fits) replace(0, as_numbers(args[0], *places));
  if (fits && m->element) replace(m->element, numbers_of(*places->places(), args[m->element]));
  if (fits && m->list) replace(1, as_numbers(args[1], *places));
  if (!fits) {
    const std::vector<AbstractValue> now = copied(args, m->gives != Gives::List);
    if (std::ranges::none_of(args, [](const AbstractValue& s) {
          return s.is(K::List) && s.list()->is_open() && s.list()->open.is(K::ViewList);
        }))
      return std::nullopt;
    return ex_.containers.list_call(op, now);
  }
  ListCell& list = *args[0].list();
  const bool changes =
      m->gives != Gives::List && m->gives != Gives::Number && m->name != "__getitem__";
  if (changes) ex_.heap.change(list);
  const auto out = ex_.containers.list_call(op, given);
  if (!out) return std::nullopt;
  if (changes) store(list, *places, *given[0].list());
  switch (m->gives) {
    case Gives::Nothing:
      return std::vector<AbstractValue>{};
    case Gives::Itself:
      return std::vector<AbstractValue>{args[0]};
    case Gives::Number:
      return out;
    case Gives::Element:
      return std::vector<AbstractValue>{view(*places->places(), out->at(0))};
    case Gives::List: {
      AbstractValue made = ex_.values.list({}, list.element);
      store(*made.list(), *places, *out->at(0).list());
      return std::vector<AbstractValue>{made};
    }
  }
  return std::nullopt;
}

std::vector<AbstractValue> ViewList::copied(const std::vector<AbstractValue>& args, bool changed) {
  std::vector<AbstractValue> out = args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is(K::List) || !args[i].list()->is_open() || !args[i].list()->open.is(K::ViewList))
      continue;
    const AbstractValue copies = copied(args[i].list()->open);
    if (i > 0 || !changed) out[i] = ex_.values.list({}, args[i].list()->element);
    ex_.heap.touch(*out[i].list());
    out[i].list()->open = copies;
  }
  return out;
}

bool ViewList::choose(const AbstractValue& e, const std::vector<AbstractValue>& items,
                      const AbstractValue& index) {
  if (!ex_.plan.places || !e.is(K::Tensor) || ex_.worlds.alone()) return false;
  const auto size = AbstractValue::of(static_cast<int64_t>(items.size()));
  const AbstractValue at = ex_.apply("aten::remainder.int", {index, size});
  for (size_t k = 0; k < items.size(); ++k)
    may_be(ex_, e, ex_.apply("aten::eq.int", {at, AbstractValue::of(static_cast<int64_t>(k))}),
           true, *items[k].tensor());
  return true;
}

}  // namespace oe::capture
