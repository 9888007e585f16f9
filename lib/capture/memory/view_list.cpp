// Lists of views of a few tensors: what they have in common, and their elements.
#include "lib/capture/memory/view_list.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <limits>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

constexpr size_t kMostKinds = 4;

bool differs(const AbstractValue& argument) { return argument.is(K::Uninitialized); }

size_t count_of(const Pattern& p) {
  size_t n = 0;
  for (const ViewStep& s : p.steps)
    n += static_cast<size_t>(std::ranges::count_if(s.args, differs));
  return n;
}

// How many numbers tell an element. Views that are all the same have one that tells nothing but how
// many elements there are.
size_t columns_of(const PlacesValue& p) {
  size_t most = 0;
  for (const Pattern& kind : p.kinds) most = std::max(most, count_of(kind));
  return std::max<size_t>(1, most + (p.kinds.size() > 1));
}

c10::TypePtr number_type_of(const PlacesValue& p) {
  const size_t n = columns_of(p);
  if (n < 2) return c10::IntType::get();
  return c10::TupleType::create(std::vector<c10::TypePtr>(n, c10::IntType::get()));
}

// The columns as one value, and the other way round.
AbstractValue as_one(std::vector<AbstractValue> columns, const PlacesValue& p) {
  return columns.size() == 1 ? columns[0]
                             : AbstractValue::of_tuple(std::move(columns), number_type_of(p));
}
std::vector<AbstractValue> as_columns_of(const AbstractValue& s) {
  return s.is(K::Tuple) ? s.tuple() : std::vector<AbstractValue>{s};
}

std::vector<ViewStep> filled(const Pattern& p, const std::vector<AbstractValue>& numbers) {
  std::vector<ViewStep> out = p.steps;
  size_t k = 0;
  for (ViewStep& step : out)
    for (AbstractValue& a : step.args)
      if (differs(a)) a = numbers.at(k++);
  return out;
}

AbstractValue made(std::vector<Pattern> kinds, AbstractValue positions) {
  auto p = std::make_shared<PlacesValue>();
  p->kinds = std::move(kinds);
  p->positions = std::move(positions);
  return AbstractValue::of(std::shared_ptr<const PlacesValue>(std::move(p)));
}

}  // namespace

c10::TypePtr ViewList::positions_type(const AbstractValue& like) {
  return number_type_of(*like.places());
}

AbstractValue ViewList::with(const AbstractValue& places, AbstractValue positions) const {
  return made(places.places()->kinds, std::move(positions));
}

// The steps from the storage on, pieces as the rows and slices that they are. Nothing where one of
// them cannot be made again.
std::optional<std::vector<ViewStep>> ViewList::chain_of(const std::shared_ptr<TensorHandle>& h) {
  if (!h->parent) return std::vector<ViewStep>{};
  auto chain = chain_of(h->parent);
  ViewStep step = *h->step;
  if (!chain || step.op.starts_with('?')) return std::nullopt;
  if (step.op.empty()) return chain;
  const AbstractValue one = AbstractValue::of(int64_t{1}),
                      all = AbstractValue::of(std::numeric_limits<int64_t>::max());
  if (step.op == "aten::unbind.int") {
    step = {"aten::select.int", {step.args[0], AbstractValue::of(int64_t{step.output})}, -1};
  } else if (auto piece = ex_.views.piece_of(step, AbstractValue::of(h->parent))) {
    step = {"aten::slice.Tensor", {piece->axis, piece->start, piece->end, one}, -1};
  }
  if (step.op == "aten::slice.Tensor") {
    if (step.args[1].is(K::None)) step.args[1] = AbstractValue::of(int64_t{0});
    if (step.args[2].is(K::None)) step.args[2] = all;
  }
  chain->push_back(std::move(step));
  return chain;
}

std::optional<std::vector<ViewStep>> ViewList::chain_of(const Pattern& p) {
  auto chain = chain_of(p.base);
  if (chain) chain->insert(chain->end(), p.steps.begin(), p.steps.end());
  return chain;
}

bool ViewList::same(const PlacesValue& a, const PlacesValue& b) {
  return std::ranges::equal(a.kinds, b.kinds,
                            [&](const Pattern& x, const Pattern& y) { return same(x, y); });
}

bool ViewList::same(const Pattern& a, const Pattern& b) {
  if (a.base->storage != b.base->storage) return false;
  const auto x = chain_of(a), y = chain_of(b);
  if (!x || !y || x->size() != y->size()) return false;
  for (size_t i = 0; i < x->size(); ++i) {
    const ViewStep &p = (*x)[i], &q = (*y)[i];
    if (p.op != q.op || p.output != q.output || p.args.size() != q.args.size()) return false;
    for (size_t k = 0; k < p.args.size(); ++k)
      if (differs(p.args[k]) != differs(q.args[k]) ||
          (!differs(p.args[k]) && !same_argument(ex_, p.args[k], q.args[k])))
        return false;
  }
  return true;
}

// The numbers with which the pattern is `tensor`; nothing where it never is.
std::optional<std::vector<AbstractValue>> ViewList::numbers_in(const Pattern& p,
                                                               const AbstractValue& tensor) {
  if (!tensor.is(K::Tensor) || tensor.tensor()->storage != p.base->storage) return std::nullopt;
  const auto chain = chain_of(tensor.tensor()), wanted = chain_of(p);
  if (!chain || !wanted || chain->size() != wanted->size()) return std::nullopt;
  std::vector<AbstractValue> out;
  for (size_t i = 0; i < chain->size(); ++i) {
    const ViewStep &have = (*chain)[i], &like = (*wanted)[i];
    if (have.op != like.op || have.output != like.output || have.args.size() != like.args.size())
      return std::nullopt;
    for (size_t k = 0; k < have.args.size(); ++k) {
      if (differs(like.args[k]) && have.args[k].is(K::Int))
        out.push_back(have.args[k]);
      else if (differs(like.args[k]) || !same_argument(ex_, like.args[k], have.args[k]))
        return std::nullopt;
    }
  }
  return out;
}

// The numbers that make `tensor` an element; nothing where none do.
std::optional<AbstractValue> ViewList::numbers_of(const PlacesValue& p,
                                                  const AbstractValue& tensor) {
  for (size_t k = 0; k < p.kinds.size(); ++k) {
    auto numbers = numbers_in(p.kinds[k], tensor);
    if (!numbers) continue;
    if (p.kinds.size() > 1)
      numbers->insert(numbers->begin(), AbstractValue::of(static_cast<int64_t>(k)));
    numbers->resize(columns_of(p), AbstractValue::of(int64_t{0}));
    return as_one(std::move(*numbers), p);
  }
  return std::nullopt;
}

// What all of them have in common, without numbers of their own. A computed number may be another
// one for the next element.
std::optional<Pattern> ViewList::pattern_of(const std::vector<AbstractValue>& items, Older older) {
  if (items.empty() || !std::ranges::all_of(items, [&](const AbstractValue& s) {
        return s.is(K::Tensor) && s.tensor()->storage == items[0].tensor()->storage;
      }))
    return std::nullopt;
  if (items[0].tensor()->storage->serial >= older.serial) return std::nullopt;
  auto common = chain_of(items[0].tensor());
  if (!common) return std::nullopt;
  for (const AbstractValue& item : items) {
    const auto chain = chain_of(item.tensor());
    if (!chain || chain->size() != common->size()) return std::nullopt;
    for (size_t i = 0; i < chain->size(); ++i) {
      ViewStep& mine = (*common)[i];
      const ViewStep& other = (*chain)[i];
      if (mine.op != other.op || mine.output != other.output ||
          mine.args.size() != other.args.size())
        return std::nullopt;
      for (size_t k = 0; k < mine.args.size(); ++k) {
        AbstractValue& a = mine.args[k];
        const AbstractValue& b = other.args[k];
        if (!differs(a) && same_argument(ex_, a, b) &&
            known_before(a, a.is(K::Int) ? 0 : older.value))
          continue;
        if (!b.is(K::Int) || (!differs(a) && !a.is(K::Int))) return std::nullopt;
        a = AbstractValue{};
      }
    }
  }
  // The base: as far as no number differs.
  size_t fixed = 0;
  while (fixed < common->size() && std::ranges::none_of((*common)[fixed].args, differs)) ++fixed;
  std::vector<std::shared_ptr<TensorHandle>> way;  // of the first one, from the storage on
  auto root = items[0].tensor();
  for (; root->parent; root = root->parent)
    if (!root->step->op.empty()) way.insert(way.begin(), root);
  return Pattern{ex_.heap.bare_place(fixed ? *way[fixed - 1] : *root),
                 {common->begin() + static_cast<long>(fixed), common->end()}};
}

// ViewList that lists of places and further elements have room in, without positions.
std::optional<AbstractValue> ViewList::joined(const std::vector<AbstractValue>& lists,
                                              std::vector<AbstractValue> items, Older older) {
  std::vector<Pattern> kinds;
  for (const AbstractValue& list : lists)
    for (const Pattern& p : list.places()->kinds) {
      if (p.base->storage->serial >= older.serial || !known_before(*p.base, older.value))
        return std::nullopt;
      if (std::ranges::none_of(kinds, [&](const Pattern& q) { return same(p, q); }))
        kinds.push_back(p);
    }
  const auto drop_known = [&] {
    std::erase_if(items, [&](const AbstractValue& s) {
      return std::ranges::any_of(kinds,
                                 [&](const Pattern& p) { return numbers_in(p, s).has_value(); });
    });
  };
  for (drop_known(); !items.empty(); drop_known()) {
    std::vector<AbstractValue> alike;
    for (const AbstractValue& s : items)
      if (s.is(K::Tensor) && pattern_of({items[0], s}, older)) alike.push_back(s);
    const auto p = pattern_of(alike, older);
    if (!p || kinds.size() == kMostKinds) return std::nullopt;
    kinds.push_back(*p);
  }
  if (kinds.empty() || kinds.size() > kMostKinds) return std::nullopt;
  return made(std::move(kinds), AbstractValue{});
}

AbstractValue ViewList::view_of(const Pattern& p, const std::vector<AbstractValue>& numbers) {
  AbstractValue s = AbstractValue::of(p.base);
  for (const ViewStep& step : filled(p, numbers)) {
    std::vector<AbstractValue> args = {s};
    args.insert(args.end(), step.args.begin(), step.args.end());
    s = ex_.interpreter.call_operator(step.op, args);
    if (step.output >= 0) s = s.list()->items.at(static_cast<size_t>(step.output));
  }
  // Another tensor each time: what is done to one of them in place is not done to the base.
  return p.steps.empty() ? AbstractValue::of(ex_.heap.copy(*p.base)) : s;
}

AbstractValue ViewList::view(const PlacesValue& p, const AbstractValue& numbers) {
  const std::vector<AbstractValue> columns = as_columns_of(numbers);
  return p.kinds.size() == 1 ? view_of(p.kinds[0], columns) : one_of(p, columns, 0);
}

// An element that is of kind `k` or of a later one.
AbstractValue ViewList::one_of(const PlacesValue& p, const std::vector<AbstractValue>& columns,
                               size_t k) {
  const AbstractValue is =
      ex_.apply("aten::eq.int", {columns[0], AbstractValue::of(static_cast<int64_t>(k))});
  const auto of_kind = [&] {
    // Of other kinds the numbers mean something else: 0 is in range wherever anything is.
    const AbstractValue flag = ex_.apply("aten::Int.bool", {is});
    std::vector<AbstractValue> numbers;
    for (size_t i = 1; i < columns.size(); ++i)
      numbers.push_back(ex_.apply("aten::mul.int", {columns[i], flag}));
    return view_of(p.kinds[k], numbers);
  };
  if (k + 1 == p.kinds.size()) return of_kind();
  if (const auto known = ex_.control.known_condition(is))
    return *known ? of_kind() : one_of(p, columns, k + 1);
  return ex_.control
      .kept_branches(
          is,
          [&](size_t branch) {
            return std::vector<AbstractValue>{branch == 0 ? of_kind() : one_of(p, columns, k + 1)};
          },
          {false, false}, true)
      ->at(0);
}

AbstractValue ViewList::element(const AbstractValue& places, const AbstractValue& index) {
  const PlacesValue& p = *places.places();
  return view(p, ex_.open_lists.element(p.positions, index, number_type_of(p)));
}

// split, chunk and unbind of an axis, however long it is.
AbstractValue ViewList::cut(const OpInfo& op, const std::vector<AbstractValue>& args) {
  const AbstractValue zero = AbstractValue::of(int64_t{0}), one = AbstractValue::of(int64_t{1}),
                      none = AbstractValue::none();
  auto call = [&](const char* name, const AbstractValue& a, const AbstractValue& b) {
    return ex_.apply(name, {a, b});
  };
  auto first = [&](const AbstractValue& count) {
    return ex_.apply(
        "aten::arange",
        {count, AbstractValue::of(static_cast<int64_t>(c10::ScalarType::Long)), none, none, none});
  };
  const AbstractValue& dim = args[static_cast<size_t>(*op.schema->argumentIndexWithName("dim"))];
  const AbstractValue n = ex_.apply.size_of(args[0], ex_.apply.known_int(dim, "dim"));
  Pattern p{ex_.heap.copy(*args[0].tensor()), {}};
  if (op.base == "aten::unbind") {
    p.steps = {{"aten::select.int", {dim, AbstractValue{}}, -1}};
    return made({p}, first(n));
  }
  ex_.worlds.each([&](size_t w) {
    if (ex_.apply.value(args[1], w).toInt() <= 0)
      ex_.apply.fail(w, op.base + " expects pieces of at least one element");
  });
  auto up = [&](const AbstractValue& a, const AbstractValue& b) {  // a / b, rounded up
    return call("aten::floordiv.int", call("aten::sub.int", call("aten::add.int", a, b), one), b);
  };
  const bool chunks = op.base.ends_with("chunk");
  const AbstractValue length = chunks ? call("prim::max.int", up(n, args[1]), one) : args[1];
  // An empty axis has pieces all the same: one, or as many as were asked for.
  const AbstractValue empty = ex_.apply("aten::Int.bool", {call("aten::eq.int", n, zero)});
  const AbstractValue count =
      call("aten::add.int", up(n, length), chunks ? call("aten::mul.int", empty, args[1]) : empty);
  const AbstractValue starts = ex_.apply("aten::mul.Scalar", {first(count), length});
  p.steps = {{"aten::slice.Tensor", {dim, AbstractValue{}, AbstractValue{}, one}, -1}};
  const AbstractValue ends = ex_.apply("aten::add.Scalar", {starts, length, one});
  return made({p},
              AbstractValue::of_tuple({starts, ends}, positions_type(made({p}, AbstractValue{}))));
}

c10::IValue ViewList::value(const AbstractValue& places, size_t w) {
  const PlacesValue& p = *places.places();
  c10::impl::GenericList list(c10::TensorType::get());
  const c10::IValue numbers = ex_.open_lists.value(p.positions, number_type_of(p), w);
  for (const c10::IValue& of : numbers.toListRef()) {
    std::vector<AbstractValue> known;
    if (of.isTuple())
      for (const c10::IValue& k : of.toTupleRef().elements())
        known.push_back(AbstractValue::of(k.toInt()));
    else
      known.push_back(AbstractValue::of(of.toInt()));
    size_t kind = 0;
    if (p.kinds.size() > 1) {
      kind = static_cast<size_t>(known[0].c.at(0).toInt());
      known.erase(known.begin());
    }
    c10::IValue t = ex_.apply.value(AbstractValue::of(p.kinds.at(kind).base), w);
    for (const ViewStep& step : filled(p.kinds[kind], known)) {
      torch::jit::Stack stack = {t};
      for (const AbstractValue& a : step.args) stack.push_back(ex_.apply.value(a, w));
      ex_.operators.named(step.op).op->getOperation()(stack);
      t = step.output < 0 ? stack[0] : stack[0].toListRef()[static_cast<size_t>(step.output)];
    }
    list.push_back(t);
  }
  return list;
}

TensorValue ViewList::element_type(const AbstractValue& places) {
  TensorValue t;
  t.taint = Taint::Data;
  const Recorder::Paused unrecorded(ex_.recorder);  // the tensors may be a branch's or a loop's
  ex_.control.in_scope(nullptr, [&] {
    t.c = ex_.worlds.map([&](size_t w) -> c10::IValue {
      const c10::IValue list = value(places, w);
      return list.toListRef().empty() ? c10::IValue() : list.toListRef()[0];
    });
  });
  if (t.c.empty())
    ex_.site.refuse("OE4064", "no example has an element in a list of views",
                    "use an example with which the list has elements");
  t.axes.assign(static_cast<size_t>(example(t).dim()), Axis{Taint::Data, 0});
  return t;
}

// --- as branches and loops leave them

std::optional<AbstractValue> ViewList::common(const Snapshot& a, const Snapshot& b, Older older) {
  if (!ex_.plan.places || !a.sym.is(K::List) || !b.sym.is(K::List)) return std::nullopt;
  std::vector<AbstractValue> lists, items;
  for (const Snapshot* list : {&a, &b}) {
    if (list->open && !list->items[0].sym.is(K::ViewList)) return std::nullopt;
    for (const Snapshot& e : list->items) (list->open ? lists : items).push_back(e.sym);
  }
  return joined(lists, std::move(items), older);
}

AbstractValue ViewList::positions_of(const AbstractValue& like,
                                     const std::vector<AbstractValue>& numbers) {
  if (!numbers.empty()) return ex_.contents.stack_items(numbers);
  const PlacesValue& p = *like.places();
  const std::vector<AbstractValue> none(columns_of(p), AbstractValue::of(int64_t{0}));
  return *ex_.contents.empty_stack(as_one(none, p), false);
}

// The positions of places, said for places with more kinds; nothing where those lack one.
std::optional<AbstractValue> ViewList::positions_in(const AbstractValue& like,
                                                    const AbstractValue& places) {
  const PlacesValue &from = *places.places(), &to = *like.places();
  if (same(from, to)) return from.positions;
  std::vector<AbstractValue> kinds;  // what each kind is there
  for (const Pattern& p : from.kinds) {
    const auto at = std::ranges::find_if(to.kinds, [&](const Pattern& q) { return same(p, q); });
    if (at == to.kinds.end()) return std::nullopt;
    kinds.push_back(AbstractValue::of(static_cast<int64_t>(at - to.kinds.begin())));
  }
  std::vector<AbstractValue> columns = as_columns_of(from.positions);
  const AbstractValue none =
      ex_.apply("aten::mul.Scalar", {columns[0], AbstractValue::of(int64_t{0})});
  if (from.kinds.size() > 1) {
    columns[0] = ex_.apply("aten::index_select", {ex_.contents.stack_items(kinds),
                                                  AbstractValue::of(int64_t{0}), columns[0]});
  } else {
    if (count_of(from.kinds[0]) == 0) columns.clear();
    columns.insert(columns.begin(),
                   ex_.apply("aten::add.Scalar", {none, kinds[0], AbstractValue::of(int64_t{1})}));
  }
  columns.resize(columns_of(to), none);
  return as_one(std::move(columns), to);
}

std::optional<Snapshot> ViewList::opened(const Snapshot& list, const AbstractValue& like) {
  if (!list.sym.is(K::List)) return std::nullopt;
  std::optional<AbstractValue> positions;
  if (list.open) {
    if (!list.items[0].sym.is(K::ViewList)) return std::nullopt;
    if (same(*list.items[0].sym.places(), *like.places())) return list;
    positions = positions_in(like, thaw(ex_, list.items[0]));
    if (!positions) return std::nullopt;
  } else {
    std::vector<AbstractValue> all;
    for (const Snapshot& e : list.items) {
      auto n = numbers_of(*like.places(), e.sym);
      if (!n) return std::nullopt;
      all.push_back(*n);
    }
    positions = positions_of(like, all);
  }
  Snapshot out = list;
  out.open = true;
  out.items = {freeze(ex_, with(like, *positions))};
  return out;
}

std::optional<Snapshot> ViewList::opened_in(size_t w, const Snapshot& list,
                                            const AbstractValue& like) {
  const Worlds::Alone alone(ex_.worlds, w);
  const Recorder::Paused unrecorded(ex_.recorder);
  std::optional<Snapshot> out;
  ex_.control.in_scope(
      nullptr, [&] { ex_.worlds.within(Worlds::only(w), 0, [&] { out = opened(list, like); }); });
  return out;
}

void ViewList::require_older(const Snapshot& list, Older older) {
  for (const Snapshot& e : list.items) require_older(e, older);
  if (!list.sym.is(K::ViewList)) return;
  for (const Pattern& p : list.sym.places()->kinds)
    if (p.base->storage->serial >= older.serial || !known_before(*p.base, older.value))
      ex_.site.refuse("OE4064",
                      "a list of views is used after the branch or loop that creates their tensor",
                      "create the tensor before the branch or the loop, or collect clone()s");
}

}  // namespace oe::capture
