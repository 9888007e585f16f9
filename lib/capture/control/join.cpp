// Values of two branches made one.
#include "lib/capture/control/join.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <iterator>

#include "lib/capture/executor.h"
#include "lib/capture/operators/ranks.h"

namespace oe::capture {

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

AbstractValue Joiner::leaf(const Snapshot& a, const Snapshot& b) {
  const bool a_unset = a.sym.is(K::Uninitialized), b_unset = b.sym.is(K::Uninitialized);
  const Snapshot& known = a_unset ? b : a;
  auto returns = [&](size_t k, const Snapshot& f, bool unset) {
    node->blocks[k]->returns.push_back(unset ? placeholder(ex, known) : leaf_arg(ex, f));
  };
  if (known.tensor) {
    const TensorHandle *x = a.sym.tensor().get(), *y = b.sym.tensor().get();
    for (const Merged& m : merged)
      if (x && y && m.a == x && m.b == y) return m.value;
    TensorValuePtr t = a_unset || b_unset ? std::make_shared<TensorValue>(*known.tensor)
                                          : join_types(ex, *a.tensor, *b.tensor, cond.taint);
    t->taint = join(t->taint, cond.taint);
    if (a_unset || b_unset) t->quantizer = ex.quantized.joined(*known.tensor, *known.tensor);
    t->c = a_unset   ? pick(b.tensor->c, b.tensor->c)
           : b_unset ? pick(a.tensor->c, a.tensor->c)
                     : pick(a.tensor->c, b.tensor->c);
    t->number = nullptr;
    t->sizes_of = nullptr;
    t->choice = t->ranked || a_unset || b_unset ? nullptr : rank_choice(cond, *a.tensor, *b.tensor);
    returns(0, a, a_unset);
    returns(1, b, b_unset);
    t->recorded = ex.recorder.add_output(node, ex.recorder.type_of(*t));
    AbstractValue s = ex.values.tensor(t);
    s.tensor()->storage->owns_elements = owns_elements(a.sym) && owns_elements(b.sym);
    if (x) relate(s, 0, *x);
    if (y) relate(s, 1, *y);
    if (x && y) merged.push_back({x, y, s});
    const auto left = [&](const Snapshot& f) {
      return f.tensor ? ex.values.tensor(f.tensor) : f.sym;
    };
    outputs.push_back({s, {left(a), left(b)}});
    return s;
  }
  if (!a_unset && !b_unset && known.sym.is(K::Bool) && a.sym.is_constant_number() &&
      b.sym.is_constant_number())  // the two differ: it is the condition, or its opposite
    return a.sym.c.at(0).toBool() ? cond : ex.apply("aten::__not__", {cond});
  AbstractValue s;
  s.kind = known.sym.kind;
  s.taint = join(cond.taint, join(a.sym.taint, b.sym.taint));
  s.c = a_unset   ? pick(b.sym.c, b.sym.c)
        : b_unset ? pick(a.sym.c, a.sym.c)
                  : pick(a.sym.c, b.sym.c);
  if (!a_unset && !b_unset && a.sym.axis_id == b.sym.axis_id) s.axis_id = a.sym.axis_id;
  if (s.is(K::Int) && cond.recorded && !a_unset && !b_unset && a.sym.is_constant_number() &&
      b.sym.is_constant_number())
    s.choice = std::make_shared<const NumberChoice>(NumberChoice{cond, {a.sym, b.sym}});
  returns(0, a, a_unset);
  returns(1, b, b_unset);
  s.recorded = ex.recorder.add_output(node, number_type(s.kind));
  outputs.push_back({s, {a.sym, b.sym}});
  return s;
}

AbstractValue Joiner::sequence_leaf(const Snapshot& a, const Snapshot& b) {
  if (!a.sym.is(K::Sequence) || !b.sym.is(K::Sequence))
    ex.site.cannot_join("OE4051", "a list is assigned in one branch only",
                        "assign it before the condition");
  const SequenceValue &x = *a.sym.sequence(), &y = *b.sym.sequence();
  TensorValue element = ex.contents.join_elements(x.element, y.element);
  node->blocks[0]->returns.emplace_back(x.recorded);
  node->blocks[1]->returns.emplace_back(y.recorded);
  program::Value* out =
      ex.recorder.add_output(node, program::Type::list(ex.recorder.type_of(element)));
  AbstractValue s = ex.contents.sequence({out}, pick(x.c, y.c), std::move(element));
  for (const auto& storage : {x.storage, y.storage}) Heap::share(*s.sequence()->storage, *storage);
  relate_held(*s.sequence()->storage, 0, *x.storage);
  relate_held(*s.sequence()->storage, 1, *y.storage);
  return s;
}

void Joiner::inside(size_t k, const std::function<void()>& f) {
  ex.recorder.enter(node->blocks[k].get());
  const Gradient::Inside more(ex.gradient);
  try {
    ex.worlds.within(ex.worlds.active(), 0, f);
    std::ranges::move(more.log(), std::back_inserter(logs[k]));
  } catch (...) {
    ex.recorder.leave();
    throw;
  }
  ex.recorder.leave();
}

// The same where tensors may be read that the other branch reads too.
void Joiner::read_inside(size_t k, const std::function<void()>& f) {
  inside(k, [&] { ex.control.in_scope(nullptr, f); });
}

// Two lists of different lengths become open lists of one form, each in its own branch.
bool Joiner::open_lists(Snapshot& a, Snapshot& b) {
  if (const auto like = ex.places.common(a, b, {scope_start, first_value})) {
    std::optional<Snapshot> x, y;
    read_inside(0, [&] { x = ex.places.opened(a, *like); });
    read_inside(1, [&] { y = ex.places.opened(b, *like); });
    if (x && y) {
      a = std::move(*x);
      b = std::move(*y);
      return true;
    }
  }
  std::vector<Sample> samples;
  add_samples(ex, a, samples);
  add_samples(ex, b, samples);
  Form form = common_form(ex, samples);
  for (; form != Form::None; form = form == Form::Stack ? Form::Sequence : Form::None) {
    std::optional<Snapshot> x, y;
    read_inside(0, [&] { x = opened(ex, a, form, samples[0]); });
    read_inside(1, [&] { y = opened(ex, b, form, samples[0]); });
    if (!x || !y) continue;
    a = std::move(*x);
    b = std::move(*y);
    return true;
  }
  return false;
}

// An unset container: the set branch's structure, each piece unset in the other.
AbstractValue Joiner::merge_unset(const Snapshot& a, const Snapshot& b) {
  const bool a_unset = a.sym.is(K::Uninitialized);
  const Snapshot& set = a_unset ? b : a;
  if (!container(set.sym)) return set.sym;
  ex.places.require_older(set, {scope_start, first_value});
  std::vector<AbstractValue> items;
  for (const Snapshot& e : set.items)
    items.push_back(a_unset ? merge(Snapshot{}, e) : merge(e, Snapshot{}));
  return rebuild(ex, set, std::move(items));
}

// Two containers of other lengths or keys; as they are, or in a form that both have.
AbstractValue Joiner::merge_shapes(const Snapshot& a, const Snapshot& b) {
  Snapshot x = a, y = b;
  const bool lists = a.sym.is(K::List) && (permissive || a.open || b.open);
  if (lists && open_lists(x, y)) return merge(x, y);
  if (a.sym.is(K::Dict) && permissive && same_keys(x, y)) return merge(x, y);
  ex.site.cannot_join("OE4052",
                      std::string(describe(a.sym)) +
                          " has different lengths or keys in the two branches of a condition "
                          "that depends on the input",
                      "use the same length and keys in both branches");
}

AbstractValue Joiner::merge_containers(const Snapshot& a, const Snapshot& b) {
  if (!same_structure(ex, a, b)) return merge_shapes(a, b);
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
    ex.site.cannot_join("OE4057",
                        std::string("one of two different ") + describe(a.sym) +
                            "s is chosen by a condition that depends on the input",
                        "create a new one in both branches");
  std::vector<AbstractValue> items;
  for (size_t i = 0; i < a.items.size(); ++i) items.push_back(merge(a.items[i], b.items[i]));
  Snapshot like = a;
  like.unordered = a.unordered || b.unordered;
  AbstractValue out = rebuild(ex, like, std::move(items));
  if (x && y) {
    for (Cell* c : {x, y}) Heap::share(*cell_of(out), *c);
    for (const MergedCells& m : merged_cells)
      if (m.a.get() == x || m.b.get() == y) Heap::share(*cell_of(out), *cell_of(m.value));
    merged_cells.push_back({x->shared_from_this(), y->shared_from_this(), out});
  }
  return out;
}

AbstractValue Joiner::merge(const Snapshot& a, const Snapshot& b) {
  if (identical(ex, a, b) && a.content_only && container(a.sym)) {
    // Both branches left the same in it: the cell itself is back to what it was before them.
    std::vector<AbstractValue> items;
    for (const Snapshot& e : a.items) items.push_back(merge(e, e));
    return rebuild(ex, a, std::move(items));
  }
  if (identical(ex, a, b))
    return a.sym.is(K::Tensor) && !a.sym.tensor() ? ex.values.tensor(a.tensor) : a.sym;
  const bool a_unset = a.sym.is(K::Uninitialized), b_unset = b.sym.is(K::Uninitialized);
  if ((a_unset && !leafy(b.sym)) || (b_unset && !leafy(a.sym))) return merge_unset(a, b);
  if (a.sym.is(K::Sequence) || b.sym.is(K::Sequence)) return sequence_leaf(a, b);
  if (a_unset || b_unset || (leafy(a.sym) && a.sym.kind == b.sym.kind)) return leaf(a, b);
  const bool optional = a.sym.is(K::Maybe) || b.sym.is(K::Maybe) ||
                        (permissive && (a.sym.is(K::None) || b.sym.is(K::None)));
  if (a.sym.kind != b.sym.kind && optional) return merge(as_maybe(a), as_maybe(b));
  if (a.sym.kind != b.sym.kind)
    ex.site.cannot_join("OE4051",
                        std::string("a value is ") + describe(a.sym) + " in one branch and " +
                            describe(b.sym) + " in the other",
                        "use the same kind of value in both branches");
  if (container(a.sym)) return merge_containers(a, b);
  // Nothing in the graph can stand for both, but each branch can go on with its own.
  if (!permissive)
    ex.site.cannot_join("OE4051",
                        "a string, type or object that ONNX has no value for is chosen by a "
                        "condition that depends on the input",
                        "choose between the results instead");
  AbstractValue s;
  s.kind = a.sym.kind;
  s.taint = join(cond.taint, join(a.sym.taint, b.sym.taint));
  s.c = pick(a.sym.c, b.sym.c);
  return s;
}

}  // namespace oe::capture
