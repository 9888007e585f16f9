// The state that a kept loop carries: widened until it holds for every iteration.
#include "lib/capture/control/loop_state.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

AbstractValue unset_number(K kind) {
  return kind == K::Int     ? AbstractValue::of(int64_t{0})
         : kind == K::Float ? AbstractValue::of(0.0)
                            : AbstractValue::of(false);
}

}  // namespace

bool LoopState::widen_tensor(Executor& ex, const TensorValue& end) {
  const at::Tensor &start_example = example(*type), &end_example = example(end);
  if (start_example.scalar_type() != end_example.scalar_type())
    ex.site.refuse("OE4050",
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
    mine = ex.apply.fresh_axis(Taint::Data);
    own_axes.insert(mine.id);
    changed = true;
  }
  return changed;
}

// A list whose length changes from iteration to iteration.
bool LoopState::widen_list(Executor& ex, const Snapshot& end) {
  if (const auto like = ex.places.common(init, end, ex.heap.older())) {
    reopen = Form::ViewList;
    places = *like;
    return true;
  }
  std::vector<Sample> samples;
  add_samples(ex, init, samples);
  add_samples(ex, end, samples);
  reopen = common_form(ex, samples);
  if (reopen == Form::None) return false;
  sample = samples[0];
  return true;
}

Snapshot LoopState::conform(Executor& ex, const Snapshot& end) const {
  if (init.sym.is(K::Maybe) && !end.sym.is(K::Uninitialized) && !end.sym.is(K::Maybe))
    return conform(ex, as_maybe(end));
  Snapshot out = end;
  if (init.open && init.items[0].sym.is(K::ViewList)) {
    if (const auto same = ex.places.opened(end, init.items[0].sym)) out = *same;
  } else if (init.open && end.sym.is(K::List) && !same_structure(ex, init, end)) {
    std::vector<Sample> samples = {{thaw(ex, init.items[0]), true}};
    add_samples(ex, end, samples);
    const Form form = has_sequence(samples[0].sym) ? Form::Sequence : Form::Stack;
    if (common_form(ex, samples) == form)
      if (auto same = opened(ex, end, form, samples[0])) return *same;
  }
  if (init.sym.is(K::Dict) && end.sym.is(K::Dict) && !same_structure(ex, init, end)) {
    Snapshot wanted = init, given = end;
    if (same_keys(wanted, given) && wanted.keys.size() == init.keys.size()) out = given;
  }
  if (kind == Kind::Items && out.items.size() == items.size())
    for (size_t i = 0; i < items.size(); ++i) out.items[i] = items[i].conform(ex, out.items[i]);
  return out;
}

void LoopState::settle(Executor& ex) {
  if (reopen != Form::None) {
    std::optional<Snapshot> list = reopen == Form::ViewList ? ex.places.opened(init, places)
                                                            : opened(ex, init, reopen, sample);
    if (!list) list = opened(ex, init, Form::Sequence, sample);
    if (!list)
      ex.site.refuse("OE4036",
                     "a list of unknown length has tuples, lists or objects with tensors whose "
                     "sizes differ or are not known before the loop",
                     "collect the tensors in a separate list");
    init = std::move(*list);
    kind = Kind::Items;
    items.assign(1, LoopState{});
    items[0].init = init.items[0];
    if (reopen == Form::ViewList) items[0].hold_pieces();
    reopen = Form::None;
    return;
  }
  for (LoopState& s : items) s.settle(ex);
}

// Set inside only: the structure of what is set, every piece unset.
void LoopState::widen_unset(Executor& ex, const Snapshot& end) {
  ex.places.require_older(end, ex.heap.older());
  init = end;
  init.content_only = true;
  for (Snapshot& e : init.items) e = Snapshot{};
  widen_pieces(ex, end);
}

// None before the loop or after the body, and a value at the other end.
void LoopState::widen_optional(Executor& ex, const Snapshot& end) {
  const Snapshot before = as_maybe(init), after = as_maybe(end);
  *this = LoopState{};
  init = before;
  widen_pieces(ex, after);
}

// A container with a slot for every piece.
void LoopState::hold_pieces() {
  kind = Kind::Items;
  items.assign(init.items.size(), LoopState{});
  for (size_t i = 0; i < items.size(); ++i) items[i].init = init.items[i];
}

void LoopState::widen_pieces(Executor& ex, const Snapshot& end) {
  hold_pieces();
  for (size_t i = 0; i < items.size(); ++i) items[i].widen(ex, end.items[i]);
}

void LoopState::check_kind(Executor& ex, const Snapshot& end) const {
  if (init.sym.kind != end.sym.kind && !init.sym.is(K::Uninitialized))
    ex.site.refuse("OE4053",
                   std::string("a value starts a loop as ") + describe(init.sym) +
                       " and ends its body as " + describe(end.sym),
                   "use the same kind of value before the loop");
}

// A container of another length or other keys; true when it had to become wider for that.
bool LoopState::restructure(Executor& ex, const Snapshot& end) {
  if (same_structure(ex, init, end)) return false;
  if (init.sym.is(K::List) && end.sym.is(K::List) && widen_list(ex, end)) return true;
  if (Snapshot after = end; init.sym.is(K::Dict) && end.sym.is(K::Dict) && same_keys(init, after)) {
    widen_pieces(ex, after);
    return true;
  }
  const bool nested =
      init.sym.is(K::List) && init.sym.list()->element->kind() == c10::TypeKind::ListType;
  ex.site.refuse(
      "OE4054",
      std::string(describe(init.sym)) +
          " changes its length or keys in a loop whose number of iterations depends on the input",
      nested ? "give all its lists the same length, known when the model is converted"
             : "collect values of one kind, or use a tensor of known size");
}

// What has been the same so far.
bool LoopState::widen_same(Executor& ex, const Snapshot& end) {
  if (identical(ex, init, end)) return false;
  check_kind(ex, end);
  if (end.sym.is(K::Sequence)) {
    if (init.sym.is(K::Uninitialized))
      ex.site.refuse("OE4055", "a list is first assigned inside a loop");
    kind = Kind::Leaf;
    element = ex.contents.join_elements(init.sym.sequence()->element, end.sym.sequence()->element);
    return true;
  }
  if (leafy(end.sym)) {
    kind = Kind::Leaf;
    number = end.sym.kind;
    if (end.tensor) carry_tensor(ex, *end.tensor);
    owns = owns_elements(init.sym) && owns_elements(end.sym);
    return true;
  }
  if (!container(init.sym))
    ex.site.refuse(
        "OE4055",
        std::string(describe(init.sym)) +
            " that ONNX loops cannot carry changes in a loop; choose between numbers or tensors "
            "instead");
  if (!restructure(ex, end)) widen_pieces(ex, end);
  return true;
}

void LoopState::carry_tensor(Executor& ex, const TensorValue& end) {
  type = std::make_shared<TensorValue>(init.tensor ? *init.tensor : end);
  type->taint = Taint::Data;
  type->number = nullptr;
  type->choice = nullptr;
  type->sizes_of = nullptr;
  type->recorded = nullptr;
  type->quantizer = ex.quantized.joined(end, end);
  if (!init.tensor)  // set inside only: its axes are the iteration's own
    for (Axis& a : type->axes)
      if (!a.is_static()) own_axes.insert((a = ex.apply.fresh_axis(Taint::Data)).id);
  widen_tensor(ex, end);
}

bool LoopState::widen_leaf(Executor& ex, const Snapshot& end) {
  check_kind(ex, end);
  if (!element) {
    const bool lost = owns && !owns_elements(end.sym);
    owns = owns && !lost;
    return (end.tensor && widen_tensor(ex, *end.tensor)) || lost;
  }
  TensorValue wider = ex.contents.join_elements(*element, end.sym.sequence()->element);
  const bool changed =
      wider.ranked != element->ranked || (wider.ranked && !same_axes(wider, *element));
  element = std::move(wider);
  return changed;
}

bool LoopState::widen(Executor& ex, const Snapshot& end) {
  if (reopen != Form::None) return true;
  const bool unset = init.sym.is(K::Uninitialized);
  if (end.sym.is(K::Uninitialized)) return false;  // left on a path that does not come back
  if (unset && kind == Kind::Same && container(end.sym)) {
    widen_unset(ex, end);
    return true;
  }
  const bool optional = init.sym.is(K::None) || end.sym.is(K::None) || end.sym.is(K::Maybe);
  if (optional && init.sym.kind != end.sym.kind && !init.sym.is(K::Maybe) && !unset) {
    widen_optional(ex, end);
    return true;
  }
  if (kind == Kind::Same) return widen_same(ex, end);
  if (kind == Kind::Leaf) return widen_leaf(ex, end);
  if (restructure(ex, end)) return true;
  bool changed = end.unordered && !init.unordered;
  init.unordered = init.unordered || end.unordered;
  for (size_t i = 0; i < items.size(); ++i) changed |= items[i].widen(ex, end.items[i]);
  return changed;
}

Cell* LoopState::now() const { return kind == Kind::Items ? cell.lock().get() : memory_of(self); }

void LoopState::relate(const AbstractValue& now) {
  Cell* mine = memory_of(now);
  if (!mine || content) return;
  if (kind == Kind::Items)
    cell = mine->weak_from_this();  // what the body drops may be written
  else
    self = now;
  Cell* before = init.content_only || owned ? nullptr : memory_of(init.sym);
  if (before) Heap::share(*mine, *before);
  for (const auto& o : outer) Heap::share(*mine, *o);
}

void LoopState::initial(Executor& ex, program::Args& args) const {
  if (kind == Kind::Leaf) {
    args.push_back(init.sym.is(K::Uninitialized) ? unset_arg(ex) : leaf_arg(ex, init));
    for (const LoopSource& o : origins)
      args.push_back(ex.apply.arg(AbstractValue::of(is_before(o))));
  }
  for (const LoopState& s : items) s.initial(ex, args);
}

void LoopState::returned(Executor& ex, const Snapshot& end, program::Args& returns) {
  const bool unset = end.sym.is(K::Uninitialized);
  if (kind == Kind::Leaf) {
    piece.before = thaw(ex, init);
    piece.end = thaw(ex, end);
    returns.push_back(unset ? unset_arg(ex) : leaf_arg(ex, end));
    for (const LoopSource& o : origins) returns.push_back(ex.apply.arg(o.next));
  }
  for (size_t i = 0; i < items.size(); ++i)
    items[i].returned(ex, unset ? end : end.items[i], returns);
}

bool LoopState::is_before(const LoopSource& o) const {
  return &o == &origins.front() && init.sym.is(K::Tensor) && init.sym.tensor();
}

void LoopState::know_origins(Executor& ex, const std::vector<const Snapshot*>& found,
                             const std::function<program::Value*()>& value) {
  for (LoopSource& o : origins) {
    o.is = AbstractValue::of(false);
    o.is.taint = Taint::Data;
    o.is.recorded = value();
    o.is.c = PerWorld::sized(ex.worlds.count());
    for (size_t w = 0; w < ex.worlds.count(); ++w) {
      const Snapshot* own = w < found.size() ? found[w] : nullptr;
      const bool known = own && own->sym.is(K::Tensor) && own->sym.tensor();
      o.is.c.set(w, known ? same_place(ex, *own->sym.tensor(), *o.place) : !own && is_before(o));
    }
  }
}

// Something of the right type where the value is not set.
program::Arg LoopState::unset_arg(Executor& ex) const {
  if (element)
    ex.site.refuse("OE4055", "a list is first assigned inside a loop", "assign it before the loop");
  Snapshot like;
  like.tensor = type;
  like.sym.kind = type ? K::Tensor : number;
  return placeholder(ex, like);
}

std::vector<const Snapshot*> LoopState::nth(const std::vector<const Snapshot*>& finals,
                                            size_t i) const {
  std::vector<const Snapshot*> out;
  for (const Snapshot* f : finals) out.push_back(f && i < f->items.size() ? &f->items[i] : nullptr);
  return out;
}

namespace {

// `c` with what some worlds have instead.
PerWorld replaced(const PerWorld& c, const std::vector<const Snapshot*>& by) {
  if (std::ranges::none_of(by, [](const Snapshot* f) { return f != nullptr; })) return c;
  PerWorld out = PerWorld::sized(by.size());
  for (size_t w = 0; w < by.size(); ++w) {
    if (c.has(w)) out.set(w, c.at(w));
    if (!by[w]) continue;
    const PerWorld& own = by[w]->tensor                ? by[w]->tensor->c
                          : by[w]->sym.is(K::Sequence) ? by[w]->sym.sequence()->c
                                                       : by[w]->sym.c;
    if (own.has(w)) out.set(w, own.at(w));
  }
  return out;
}

}  // namespace

bool LoopState::add_pieces(std::vector<LoopPiece>& out) const {
  if (kind == Kind::Same) return true;
  if (kind == Kind::Items)
    return std::ranges::all_of(items, [&](const LoopState& s) { return s.add_pieces(out); });
  if (element || piece.before.is(K::Uninitialized) || piece.end.is(K::Uninitialized)) return false;
  out.push_back(piece);
  return true;
}

AbstractValue LoopState::enter(Executor& ex, program::Block* body, const AbstractValue& first,
                               const std::vector<const Snapshot*>& found) {
  std::vector<Snapshot> made;
  const std::vector<const Snapshot*> later = in_form_of_loop(ex, found, made);
  switch (kind) {
    case Kind::Same:
      return init.sym;
    case Kind::Items: {
      std::vector<AbstractValue> out;
      for (size_t i = 0; i < items.size(); ++i)
        out.push_back(items[i].enter(ex, body, first, nth(later, i)));
      AbstractValue now = rebuild(ex, init, std::move(out));
      relate(now);  // in the first iteration it is what was there before, later perhaps not
      return now;
    }
    case Kind::Leaf:
      break;
  }
  program::Program& p = ex.recorder.program();
  auto parameter = [&](program::Type t) {
    body->params.push_back(p.new_value(std::move(t)));
    return body->params.back();
  };
  if (element) {
    program::Value* p = parameter(program::Type::list(ex.recorder.type_of(*element)));
    AbstractValue s = ex.contents.sequence({p}, replaced(init.sym.sequence()->c, later), *element);
    relate(s);
    return s;
  }
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    t->c = replaced(t->c, later);
    t->recorded = parameter(ex.recorder.type_of(*t));
    AbstractValue s = ex.values.tensor(t);
    s.tensor()->storage->owns_elements = owns;
    know_origins(ex, later, [&] { return parameter(program::Type::boolean()); });
    relate_slot(ex, *this, s, first);
    piece.param = ex.values.tensor(t);
    return s;
  }
  AbstractValue s = init.sym.is(K::Uninitialized) ? unset_number(number) : init.sym;
  s.taint = Taint::Data;
  s.axis_id = 0;
  s.choice = nullptr;
  s.c = replaced(s.c, later);
  s.recorded = parameter(number_type(s.kind));
  return piece.param = s;
}

AbstractValue LoopState::leave(Executor& ex, program::Node* node,
                               const std::vector<const Snapshot*>& found,
                               const AbstractValue& none) {
  std::vector<Snapshot> made;
  const std::vector<const Snapshot*> finals = in_form_of_loop(ex, found, made);
  if (kind == Kind::Same)
    return init.sym.is(K::Tensor) && !init.sym.tensor() ? ex.values.tensor(init.tensor) : init.sym;
  if (kind == Kind::Items) {
    std::vector<AbstractValue> out;
    for (size_t i = 0; i < items.size(); ++i)
      out.push_back(items[i].leave(ex, node, nth(finals, i), none));
    AbstractValue now = rebuild(ex, init, std::move(out));
    relate(now);
    return now;
  }
  PerWorld c = replaced(PerWorld::sized(finals.size()), finals);
  if (element) {
    program::Value* out =
        ex.recorder.add_output(node, program::Type::list(ex.recorder.type_of(*element)));
    AbstractValue s = ex.contents.sequence({out}, std::move(c), *element);
    relate(s);
    return s;
  }
  if (type) {
    auto t = std::make_shared<TensorValue>(*type);
    for (size_t w = 0; w < finals.size(); ++w)  // else nobody reads it: the example stays
      if (c.has(w)) {
        t->c = c;
        break;
      }
    for (Axis& a : t->axes)
      if (own_axes.contains(a.id)) a = ex.apply.fresh_axis(Taint::Data);
    t->recorded = ex.recorder.add_output(node, ex.recorder.type_of(*t));
    AbstractValue s = ex.values.tensor(t);
    s.tensor()->storage->owns_elements = owns;
    know_origins(ex, finals,
                 [&] { return ex.recorder.add_output(node, program::Type::boolean()); });
    unused = false;
    relate_slot(ex, *this, s, none);
    piece.after = ex.values.tensor(t);
    return s;
  }
  AbstractValue s = init.sym;
  s.kind = number;
  s.taint = Taint::Data;
  s.axis_id = 0;
  s.choice = nullptr;
  s.c = std::move(c);
  s.recorded = ex.recorder.add_output(node, number_type(s.kind));
  return piece.after = s;
}

}  // namespace oe::capture
