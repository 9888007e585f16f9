// Lists by the values of their elements: searched, compared and put in order. Elements are numbers,
// or tensors of one element, which LibTorch takes for the number in them.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"

namespace oe::capture {
namespace {

// A tensor of one element; `stacked`: a stack of such tensors.
bool holds_one_number(const TensorValue& t, bool stacked) {
  if (!t.ranked) return false;
  const at::Tensor& value = example(t);
  for (size_t i = stacked; i < t.axes.size(); ++i)
    if (!t.axes[i].is_static() || value.size(static_cast<int64_t>(i)) != 1) return false;
  return true;
}

}  // namespace

struct Containers::ByValue {
  Executor& ex;
  const std::vector<AbstractValue>& args;
  ListCell& list = *args[0].list();
  const std::vector<AbstractValue>& items = list.items;

  using Outputs = std::optional<std::vector<AbstractValue>>;
  static Outputs one(AbstractValue s) { return std::vector<AbstractValue>{std::move(s)}; }

  bool is_value(const AbstractValue& s) const {
    return s.is_number() ||
           (s.is(K::Tensor) && holds_one_number(*ex.views.read(s.tensor()), false));
  }
  // Whether the list has values that can be compared.
  bool of_values(const ListCell& l) const {
    if (!l.is_open())
      return std::ranges::all_of(l.items, [&](const AbstractValue& s) { return is_value(s); });
    return l.open.is(K::Tensor) && holds_one_number(*ex.views.read(l.open.tensor()), true);
  }

  AbstractValue equal(const AbstractValue& x, const AbstractValue& y) {
    if (x.is(K::Tensor))
      return ex.apply("aten::Bool.Tensor", {ex.apply("aten::eq.Tensor", {x, y})});
    return ex.interpreter.call_operator(x.is(K::Int)     ? "aten::eq.int"
                                        : x.is(K::Float) ? "aten::eq.float"
                                                         : "aten::eq.bool",
                                        {x, y});
  }
  AbstractValue both(const AbstractValue& a, const AbstractValue& b) {
    if (a.is_constant_number()) return a.c.at(0).toBool() ? b : a;
    return ex.apply("aten::__and__.bool", {a, b});
  }
  AbstractValue either(const AbstractValue& a, const AbstractValue& b) {
    if (a.is_constant_number()) return a.c.at(0).toBool() ? a : b;
    if (b.is_constant_number()) return b.c.at(0).toBool() ? b : a;
    return ex.apply("aten::__or__.bool", {a, b});
  }
  // The values on one axis, one behind the other.
  AbstractValue stacked(const ListCell& l) {
    const AbstractValue stack = l.is_open() ? l.open : ex.contents.stack_items(l.items);
    if (ex.views.read(stack.tensor())->axes.size() == 1) return stack;
    return ex.apply("aten::flatten.using_ints",
                    {stack, AbstractValue::of(int64_t{0}), AbstractValue::of(int64_t{-1})});
  }
  // Which elements are args[1].
  AbstractValue matches() {
    if (!args[1].is(K::Tensor)) return ex.apply("aten::eq.Scalar", {stacked(list), args[1]});
    const AbstractValue element =
        ex.apply("aten::reshape",
                 {args[1], ex.values.list({AbstractValue::of(int64_t{1})}, c10::IntType::get())});
    return ex.apply("aten::eq.Tensor", {stacked(list), element});
  }

  Outputs contains() {
    if (list.is_open())
      return one(ex.apply("aten::Bool.Tensor", {ex.apply("aten::any", {matches()})}));
    AbstractValue any = AbstractValue::of(false);
    for (const AbstractValue& x : items) any = either(any, equal(x, args[1]));
    return one(any);
  }
  Outputs count() {
    if (list.is_open())
      return one(ex.apply("aten::Int.Tensor",
                          {ex.apply("aten::sum", {matches(), AbstractValue::none()})}));
    AbstractValue n = AbstractValue::of(int64_t{0});
    for (const AbstractValue& x : items)
      n = ex.apply("aten::add.int", {n, ex.apply("aten::Int.bool", {equal(x, args[1])})});
    return one(n);
  }
  // The place of the first element that is args[1], which the model relies on.
  AbstractValue place() {
    const AbstractValue found = matches(), there = ex.apply("aten::any", {found});
    ex.worlds.each([&](size_t w) {
      if (ex.worlds.real(w) && !ex.apply.value(there, w).toTensor().item<bool>())
        ex.apply.fail(w, "the requested element is not in the list");
    });
    ex.assumed.say("a list contains the requested element");
    const AbstractValue number =
        ex.apply("aten::to.dtype",
                 {found, AbstractValue::of(static_cast<int64_t>(c10::ScalarType::Int)),
                  AbstractValue::of(false), AbstractValue::of(false), AbstractValue::none()});
    return ex.apply("aten::Int.Tensor",
                    {ex.apply("aten::argmax",
                              {number, AbstractValue::of(int64_t{0}), AbstractValue::of(false)})});
  }
  Outputs index() { return one(place()); }
  Outputs remove() {
    return ex.open_lists.method(ex.operators.named("aten::Delete.t"), {args[0], place()});
  }

  AbstractValue compared() {
    const ListCell& other = *args[1].list();
    if (!list.is_open() && !other.is_open()) return compared_items(other.items);
    if (!list.is_open() && items.empty()) return no_element(other);
    if (!other.is_open() && other.items.empty()) return no_element(list);
    const AbstractValue a = stacked(list), b = stacked(other);
    const AbstractValue n = ex.apply.size_of(a, 0), m = ex.apply.size_of(b, 0);
    const AbstractValue shared = ex.apply("prim::min.int", {n, m});
    auto start = [&](const AbstractValue& s) {
      return ex.apply("aten::slice.Tensor",
                      {s, AbstractValue::of(int64_t{0}), AbstractValue::of(int64_t{0}), shared,
                       AbstractValue::of(int64_t{1})});
    };
    const AbstractValue same =
        ex.apply("aten::all", {ex.apply("aten::eq.Tensor", {start(a), start(b)})});
    return both(ex.apply("aten::eq.int", {n, m}), ex.apply("aten::Bool.Tensor", {same}));
  }
  AbstractValue no_element(const ListCell& open) {
    return ex.apply("aten::eq.int",
                    {ex.apply.size_of(open.open, 0), AbstractValue::of(int64_t{0})});
  }
  // Lists of sizes are compared element by element, in the graph.
  AbstractValue compared_items(const std::vector<AbstractValue>& others) {
    AbstractValue all = AbstractValue::of(items.size() == others.size());
    for (size_t i = 0; items.size() == others.size() && i < items.size(); ++i) {
      if (items[i].is(K::Int) && items[i].axis_id && items[i].axis_id == others[i].axis_id)
        continue;
      all = both(all, equal(items[i], others[i]));
    }
    return all;
  }
  // Two lists of which no element is looked at.
  bool differ_in_length() const {
    return args.size() > 1 && args[1].is(K::List) && !list.is_open() &&
           !args[1].list()->is_open() && items.size() != args[1].list()->items.size();
  }
  Outputs eq() { return one(compared()); }
  Outputs ne() { return one(ex.apply("aten::__not__", {compared()})); }

  AbstractValue in_order(const AbstractValue& content) {
    const AbstractValue descending = args.size() > 1 ? args[1] : AbstractValue::of(false);
    return ex.apply("aten::sort", {content, AbstractValue::of(int64_t{0}), descending});
  }
  std::vector<AbstractValue> ordered_items() {
    if (items.empty()) return {};
    for (const AbstractValue& x : items)
      if (!ex.contents.stackable({items[0], false}, {x, false}))
        ex.site.refuse("OE4030", "a list of values of different types or shapes is sorted");
    const AbstractValue sorted = in_order(ex.contents.stack_items(items));
    std::vector<AbstractValue> out;
    for (size_t i = 0; i < items.size(); ++i) {
      out.push_back(
          ex.open_lists.element(sorted, AbstractValue::of(static_cast<int64_t>(i)), list.element));
      // Each may be any of them.
      if (out.back().is(K::Tensor))
        for (const AbstractValue& x : items) hold(out.back(), x);
    }
    return out;
  }
  Outputs sorted() {
    if (!list.is_open()) return one(ex.values.list(ordered_items(), list.element));
    AbstractValue l = ex.values.list({}, list.element);
    l.list()->open = in_order(list.open);
    hold(l.list()->open, list.open);
    return one(l);
  }
  Outputs sort() {
    const AbstractValue was = list.open;
    const AbstractValue now = list.is_open() ? in_order(was) : AbstractValue{};
    std::vector<AbstractValue> elements = ordered_items();
    ex.heap.change(list);
    if (list.is_open()) hold(now, was);
    list.open = now;
    list.items = std::move(elements);
    return std::vector<AbstractValue>{};
  }
};

// Nothing where the elements cannot be compared here.
std::optional<std::vector<AbstractValue>> Containers::by_value(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  using V = ByValue;
  struct Method {
    std::string_view name;
    V::Outputs (V::*run)();
  };
  static constexpr Method methods[] = {{"__contains__", &V::contains},
                                       {"count", &V::count},
                                       {"index", &V::index},
                                       {"remove", &V::remove},
                                       {"eq", &V::eq},
                                       {"ne", &V::ne},
                                       {"sort", &V::sort},
                                       {"sorted", &V::sorted}};
  const Method* method = row_named(methods, op.method());
  if (!method) return std::nullopt;
  V call{ex_, args};
  if (call.differ_in_length()) return (call.*method->run)();
  if (!call.of_values(call.list)) return std::nullopt;
  for (size_t i = 1; i < args.size(); ++i)
    if (args[i].is(K::List) ? !call.of_values(*args[i].list()) : !call.is_value(args[i]))
      return std::nullopt;
  return (call.*method->run)();
}

}  // namespace oe::capture
