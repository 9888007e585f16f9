// The methods of dicts. Keys are constants; an entry may be there or not, by what the input says.
// One may be read by a computed key, which is compared with each of them.
#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/lists/methods.h"

namespace oe::capture {

// A computed key is compared with no more keys than these.
constexpr size_t kMostCompared = 64;

// A call of one of them; what a method gives are the results of the call.
struct Containers::DictMethods {
  Executor& ex;
  const std::vector<AbstractValue>& args;
  DictCell& dict = *args[0].dict();
  std::vector<std::pair<AbstractValue, AbstractValue>>& items = dict.items;

  using Outputs = std::vector<AbstractValue>;

  struct Entry {
    bool there = false;
    std::optional<AbstractValue> flag;  // set where that depends on the input
    AbstractValue value;
  };

  bool computed(const AbstractValue& key) const {
    return ex.apply.taint_of(key) != Taint::Constant && !ex.worlds.alone();
  }
  [[noreturn]] void refuse_key(const char* what) {
    ex.site.refuse(
        "OE4033", std::string("a dict is ") + what + " a key that depends on the input",
        "a key that depends on the input can only look up an entry that exists: use a tensor "
        "and index it");
  }
  auto find(const AbstractValue& key) {
    if (computed(key)) refuse_key("changed at");
    // In one world alone a computed key is what it is there.
    const AbstractValue known =
        ex.apply.taint_of(key) == Taint::Constant
            ? key
            : ex.values.constant(ex.apply.value(key, *ex.worlds.alone()), "");
    return std::find_if(items.begin(), items.end(),
                        [&](const auto& e) { return equal_constants(e.first, known); });
  }
  // Worlds in which the key that is asked for is not there: all, or where the flag is not set.
  void missing(const AbstractValue* flag) {
    ex.worlds.each([&](size_t w) {
      if (!flag || (ex.worlds.real(w) && !ex.apply.value(*flag, w).toBool()))
        ex.apply.fail(w, "KeyError in a dict");
    });
  }
  Entry entry_of(const AbstractValue& value, const DictCell& d) {
    if (!value.is(K::Maybe) || !d.may_lack_entries()) return {true, std::nullopt, value};
    const AbstractValue &flag = value.tuple().at(0), &content = value.tuple().at(1);
    if (auto known = ex.control.known_condition(flag)) return {*known, std::nullopt, content};
    return {true, flag, content};
  }
  // The entry whose key is the computed one.
  Entry chosen(const AbstractValue& key) {
    if (!key.is_number() || items.size() > kMostCompared) refuse_key("used with");
    Entry e;
    for (const auto& [k, v] : items) {
      const Entry mine = entry_of(v, dict);
      if (!mine.there) continue;
      AbstractValue hit = ex.apply(key.is(K::Int)     ? "aten::eq.int"
                                   : key.is(K::Float) ? "aten::eq.float"
                                                      : "aten::eq.bool",
                                   {key, k});
      if (mine.flag) hit = ex.apply("aten::__and__.bool", {hit, *mine.flag});
      e.value = e.there ? either(hit, mine.value, e.value) : mine.value;
      e.flag = e.there ? ex.apply("aten::__or__.bool", {*e.flag, hit}) : hit;
      e.there = true;
    }
    return e;
  }
  Entry look(const AbstractValue& key) {
    if (computed(key)) return chosen(key);
    auto it = find(key);
    return it == items.end() ? Entry{} : entry_of(it->second, dict);
  }
  // The entry, where the model relies on it.
  AbstractValue demanded(const AbstractValue& key) {
    Entry e = look(key);
    if (!e.there) missing(nullptr);
    if (e.flag) {
      missing(&*e.flag);
      ex.assumed.say("a dict has the requested key");
    }
    return e.value;
  }
  AbstractValue either(const AbstractValue& flag, const AbstractValue& value,
                       const AbstractValue& otherwise) {
    return ex.control
        .kept_branches(
            flag, [&](size_t k) { return std::vector<AbstractValue>{k == 0 ? value : otherwise}; },
            {false, false}, true)
        ->at(0);
  }
  AbstractValue value_or(const AbstractValue& key, const AbstractValue& otherwise) {
    const Entry e = look(key);
    return !e.there ? otherwise : e.flag ? either(*e.flag, e.value, otherwise) : e.value;
  }
  void put(const AbstractValue& key, const AbstractValue& value) {
    auto it = find(key);
    ex.heap.change(dict);
    if (it == items.end())
      items.emplace_back(key, value);
    else
      it->second = value;
  }
  void remove(const AbstractValue& key) {
    ex.heap.change(dict);
    if (auto it = find(key); it != items.end()) items.erase(it);
  }
  void require_order() {
    if (dict.unordered && !ex.worlds.alone())
      ex.site.refuse("OE4035", "a loop goes over a dict whose keys depend on the input",
                     "give the dict the same keys, in the same order, for every input");
  }

  Outputs len() {
    AbstractValue n = AbstractValue::of(int64_t{0});
    for (const auto& [k, v] : items)
      if (const Entry e = entry_of(v, dict); e.there)
        n = ex.apply("aten::add.int", {n, e.flag ? ex.apply("aten::Int.bool", {*e.flag})
                                                 : AbstractValue::of(int64_t{1})});
    return {n};
  }
  Outputs get_item() { return {demanded(args[1])}; }
  Outputs contains() {
    const Entry e = look(args[1]);
    return {e.flag ? *e.flag : AbstractValue::of(e.there)};
  }
  Outputs get() {
    const Entry e = look(args[1]);
    if (e.flag && args.size() < 3)
      return {AbstractValue::maybe(*e.flag, e.value)};  // the Optional that the model gets
    return {value_or(args[1], args.size() > 2 ? args[2] : AbstractValue::none())};
  }
  Outputs set_item() {
    put(args[1], args[2]);
    return {};
  }
  Outputs set_default() {
    const AbstractValue now = value_or(args[1], args[2]);
    put(args[1], now);
    return {now};
  }
  Outputs pop() {
    const AbstractValue was = args.size() > 2 ? value_or(args[1], args[2]) : demanded(args[1]);
    remove(args[1]);
    return {was};
  }
  Outputs pop_item() {
    if (items.empty()) missing(nullptr);
    require_order();
    ex.heap.change(dict);  // TorchScript's takes the first one
    Outputs out = {pair(items.front().first, items.front().second)};
    items.erase(items.begin());
    return out;
  }
  Outputs erase() {
    demanded(args[1]);
    remove(args[1]);
    return {};
  }
  Outputs clear() {
    ex.heap.change(dict);
    items.clear();
    dict.unordered = false;
    return {};
  }
  Outputs update() {
    const DictCell more = *args[1].dict();
    for (const auto& [k, v] : more.items) {
      const Entry theirs = entry_of(v, more), mine = look(k);
      if (!theirs.there) continue;
      if (!theirs.flag) {
        put(k, theirs.value);
      } else if (!mine.there) {
        put(k, v);
      } else {
        const AbstractValue both = either(*theirs.flag, theirs.value, mine.value);
        put(k, mine.flag ? AbstractValue::maybe(
                               ex.apply("aten::__or__.bool", {*theirs.flag, *mine.flag}), both)
                         : both);
      }
    }
    dict.unordered = dict.unordered || more.unordered;
    return {};
  }
  Outputs copy() {
    AbstractValue out = ex.values.dict(items, dict.key, dict.value);
    out.dict()->unordered = dict.unordered;
    return {out};
  }
  c10::TypePtr pair_type() const { return c10::TupleType::create({dict.key, dict.value}); }
  AbstractValue pair(const AbstractValue& key, const AbstractValue& value) const {
    return AbstractValue::of_tuple({key, value}, pair_type());
  }
  // A list of what `f` makes of every entry that is there.
  Outputs listed(
      const c10::TypePtr& type,
      const std::function<AbstractValue(const AbstractValue&, const AbstractValue&)>& f) {
    require_order();
    std::vector<AbstractValue> list;
    for (const auto& [k, value] : items)
      if (const Entry e = entry_of(value, dict); e.there) list.push_back(f(k, e.value));
    return {ex.values.list(std::move(list), type)};
  }
  Outputs keys() {
    return listed(dict.key, [](const AbstractValue& k, const AbstractValue&) { return k; });
  }
  Outputs values() {
    return listed(dict.value, [](const AbstractValue&, const AbstractValue& v) { return v; });
  }
  Outputs entries() {
    return listed(pair_type(),
                  [&](const AbstractValue& k, const AbstractValue& v) { return pair(k, v); });
  }
};

std::optional<std::vector<AbstractValue>> Containers::dict_call(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  using D = DictMethods;
  struct Method {
    std::string_view name;
    std::vector<AbstractValue> (D::*run)();
  };
  static constexpr Method methods[] = {{"len", &D::len},
                                       {"__getitem__", &D::get_item},
                                       {"__contains__", &D::contains},
                                       {"get", &D::get},
                                       {"_set_item", &D::set_item},
                                       {"setdefault", &D::set_default},
                                       {"pop", &D::pop},
                                       {"popitem", &D::pop_item},
                                       {"Delete", &D::erase},
                                       {"clear", &D::clear},
                                       {"update", &D::update},
                                       {"copy", &D::copy},
                                       {"dict", &D::copy},
                                       {"keys", &D::keys},
                                       {"values", &D::values},
                                       {"items", &D::entries}};
  const Method* method = row_named(methods, op.method());
  if (!method) return std::nullopt;
  D call{ex_, args};
  return (call.*method->run)();
}

}  // namespace oe::capture
