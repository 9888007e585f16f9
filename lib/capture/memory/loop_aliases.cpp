// Tensors that a loop carries: what each may be in an iteration, and after the loop.
//
// Memory that the body makes is behind one name at a time. Besides it a name is what it was before
// the loop in the first iteration, or one fixed place in the later ones; else it has origins, with
// a flag each that is carried (loop_state.h). The rest is entangled: see aliases.cpp.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/capture/control/loop_state.h"
#include "lib/capture/executor.h"

namespace oe::capture {

void relate_slot(Executor& ex, LoopState& s, const AbstractValue& m, const AbstractValue& guard) {
  s.self = m;
  if (s.unused) return;
  const auto& before = s.init.sym.tensor();
  if (s.wanders || !s.outer.empty()) {
    if (before) Heap::share(*m.tensor()->storage, *before->storage);
    if (s.place) Heap::share(*m.tensor()->storage, *s.place->storage);
    for (const auto& o : s.outer) Heap::share(*m.tensor()->storage, *o);
    return;
  }
  for (const LoopSource& o : s.origins) may_be(ex, m, o.is, true, *o.place);
  if (!s.origins.empty()) return;
  if (before) may_be(ex, m, guard, true, *before);
  if (s.place) may_be(ex, m, guard, false, *s.place);
}

namespace {

// The pieces that have memory or an identity of their own.
void leaves(LoopState& s, const Snapshot* end,
            std::vector<std::pair<LoopState*, const Snapshot*>>& out) {
  if (s.kind == LoopState::Kind::Leaf && (s.type || s.element)) out.emplace_back(&s, end);
  if (s.kind != LoopState::Kind::Items) return;
  if (!s.content && cell_of(s.init.sym)) out.emplace_back(&s, end);
  for (size_t i = 0; i < s.items.size(); ++i)
    leaves(s.items[i], end && end->items.size() == s.items.size() ? &end->items[i] : nullptr, out);
}

}  // namespace

bool known_before(const AbstractValue& s, int first_value) {
  if (s.is(K::List))
    return !s.list()->is_open() &&
           std::ranges::all_of(s.list()->items, [&](const AbstractValue& e) {
             return known_before(e, first_value);
           });
  if (!s.is_number()) return !s.is(K::Tensor) && !s.is(K::Sequence);
  return s.taint == Taint::Constant || (s.recorded && s.recorded->id < first_value);
}

bool known_before(const TensorHandle& h, int first_value) {
  for (const TensorHandle* p = &h; p->parent; p = p->parent.get())
    for (const AbstractValue& s : p->step->args)
      if (!known_before(s, first_value)) return false;
  return true;
}

namespace {

// Everything that may be the same memory as `s`, itself in front. `stop`: not looked behind.
std::vector<std::shared_ptr<Cell>> reachable(const std::shared_ptr<StorageCell>& s,
                                             const Cell* stop = nullptr) {
  std::vector<std::shared_ptr<Cell>> out = {s};
  auto add = [&](const std::shared_ptr<Cell>& c) {
    if (c && std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
  };
  for (size_t i = 0; i < out.size(); ++i) {
    const auto now = out[i];
    if (now.get() == stop) continue;
    if (const auto* storage = dynamic_cast<const StorageCell*>(now.get()))
      for (const auto& a : storage->alternatives) add(a->handle->storage);
    for (const auto& e : now->entangled) add(e.lock());
  }
  return out;
}

using Conditions =
    std::vector<std::pair<AbstractValue, bool>>;  // each with the value it has to have

// What a carried tensor is at the end of the body.
struct End {
  bool said = true;  // these are all, and each is said by conditions
  std::vector<std::pair<LoopState*, Conditions>> carried;  // what one was when the iteration began
  std::vector<std::pair<std::shared_ptr<TensorHandle>, Conditions>> places;  // from outside
  std::vector<std::pair<std::shared_ptr<Cell>, Conditions>> made;            // in the body
};

using Owners = std::unordered_map<const Cell*, LoopState*>;  // of what they are in the iteration

void add_end(Executor& ex, const Owners& owners, const TensorHandle& h, int first_value,
             const Conditions& when, End& out) {
  const std::shared_ptr<StorageCell>& storage = h.storage;
  if (const auto owner = owners.find(storage.get()); owner != owners.end()) {
    out.said = out.said && !h.parent;
    out.carried.emplace_back(owner->second, when);
    return;
  }
  if (ex.heap.found(*storage)) {
    out.said = out.said && known_before(h, first_value);
    out.places.emplace_back(ex.heap.bare_place(h), when);
    return;
  }
  const auto other =
      std::ranges::find_if(storage->entangled, [](const auto& e) { return !e.expired(); });
  out.said =
      out.said && other == storage->entangled.end() && (!h.parent || storage->alternatives.empty());
  out.made.emplace_back(storage, when);
  for (const auto& a : storage->alternatives) {
    Conditions both = when;
    both.emplace_back(a->guard, a->when);
    add_end(ex, owners, *a->handle, first_value, both, out);
  }
}

// Whether one of them holds, each `with` that too; at the end of the body.
AbstractValue any_of(Executor& ex,
                     const std::vector<std::pair<Conditions, const AbstractValue*>>& ways) {
  AbstractValue any = AbstractValue::of(false);
  for (const auto& [conditions, with] : ways) {
    AbstractValue all = with ? *with : AbstractValue::of(true);
    for (const auto& [guard, when] : conditions)
      all =
          ex.apply("aten::__and__.bool", {all, when ? guard : ex.apply("aten::__not__", {guard})});
    any = ex.apply("aten::__or__.bool", {any, all});
  }
  return any;
}

// What also holds where `v` is `holds`, itself in front: of a condition that a branch gave, and
// that is False where the other one was taken, that this one was.
using Facts = std::vector<std::pair<const program::Value*, bool>>;
void add_facts(const program::Value* v, bool holds, Facts& out) {
  if (!v) return;
  out.emplace_back(v, holds);
  const program::Node* from = v->producer;
  if (!from) return;
  if (from->op == "aten::__not__") add_facts(from->args[0].value(), !holds, out);
  if (from->op == "aten::__and__.bool" && holds)
    for (const program::Arg& a : from->args) add_facts(a.value(), true, out);
  if (from->op != "prim::If" || !holds) return;
  const auto at = static_cast<size_t>(std::ranges::find(from->outputs, v) - from->outputs.begin());
  for (const size_t k : {0, 1}) {
    const bool* other = std::get_if<bool>(&from->blocks[1 - k]->returns[at].v);
    if (!other || *other) continue;
    add_facts(from->args[0].value(), k == 0, out);
    add_facts(from->blocks[k]->returns[at].value(), true, out);
  }
}

// Never both.
bool exclude(const Conditions& a, const Conditions& b) {
  Facts of_a, of_b;
  for (const auto& [guard, when] : a) add_facts(guard.recorded, when, of_a);
  for (const auto& [guard, when] : b) add_facts(guard.recorded, when, of_b);
  return std::ranges::any_of(of_a, [&](const auto& x) {
    return std::ranges::find(of_b, std::pair(x.first, !x.second)) != of_b.end();
  });
}

// Whether two ends may at once be one tensor that is carried, or that the body made.
bool may_meet(const End& a, const End& b) {
  const auto meet = [](const auto& of_a, const auto& of_b) {
    return std::ranges::any_of(of_a, [&](const auto& x) {
      return std::ranges::any_of(
          of_b, [&](const auto& y) { return x.first == y.first && !exclude(x.second, y.second); });
    });
  };
  return meet(a.carried, b.carried) || meet(a.made, b.made);
}

LoopSource* origin_at(Executor& ex, LoopState& s, const TensorHandle& h) {
  const auto at = std::ranges::find_if(
      s.origins, [&](const LoopSource& o) { return same_place(ex, *o.place, h); });
  return at == s.origins.end() ? nullptr : &*at;
}

// What it was before the loop, and the place that it had in every later iteration, become origins.
void begin_origins(Executor& ex, LoopState& s) {
  if (!s.origins.empty()) return;
  if (const auto& before = s.init.sym.tensor())
    s.origins.push_back({ex.heap.bare_place(*before), {}, {}});
  if (s.place && !origin_at(ex, s, *s.place)) s.origins.push_back({s.place, {}, {}});
  s.place = nullptr;
}

// The slot's origins take its end into account. True when they had to become more.
bool add_origins(Executor& ex, LoopState& s, const End& end) {
  const size_t known = s.origins.size();
  begin_origins(ex, s);
  bool more = s.origins.size() != known;
  const auto add = [&](const std::shared_ptr<TensorHandle>& place) {
    if (origin_at(ex, s, *place)) return;
    s.origins.push_back({place, {}, {}});
    more = true;
  };
  for (const auto& [place, when] : end.places) add(place);
  for (const auto& [other, when] : end.carried) {
    if (other == &s) continue;
    more = more || other->origins.empty();
    begin_origins(ex, *other);
    for (const LoopSource& o : other->origins) add(o.place);
  }
  return more;
}

// Which of its origins the slot is in the next iteration.
void follow_origins(Executor& ex, LoopState& s, const End& end) {
  for (LoopSource& o : s.origins) {
    std::vector<std::pair<Conditions, const AbstractValue*>> ways;
    for (const auto& [other, when] : end.carried)
      if (const LoopSource* theirs = origin_at(ex, *other, *o.place))
        ways.emplace_back(when, &theirs->is);
    for (const auto& [place, when] : end.places)
      if (origin_at(ex, s, *place) == &o) ways.emplace_back(when, nullptr);
    o.next = any_of(ex, ways);
  }
}

}  // namespace

void tie_wandering(const std::vector<LoopState*>& slots) {
  std::vector<std::pair<LoopState*, const Snapshot*>> all;
  for (LoopState* s : slots) leaves(*s, nullptr, all);
  std::vector<Cell*> wandering;
  for (const auto& [s, unused] : all) {
    Cell* mine = s->wanders ? s->now() : nullptr;
    if (!mine) continue;
    for (Cell* other : wandering) Heap::entangle(*mine, *other);
    wandering.push_back(mine);
  }
}

bool note_ends(Executor& ex, const std::vector<std::pair<LoopState*, const Snapshot*>>& slots,
               int first_value) {
  std::vector<std::pair<LoopState*, const Snapshot*>> all;
  for (const auto& [s, end] : slots) leaves(*s, end, all);
  bool changed = false;
  auto set = [&](bool& flag) {
    changed = changed || !flag;
    flag = true;
  };
  Owners owner;
  std::unordered_map<const Cell*, LoopState*> left;
  for (const auto& [s, end] : all)
    if (const Cell* mine = s->now()) owner[mine] = s;
  // Whatever may be the value at the end: a slot's value is then perhaps that too.
  auto note = [&](LoopState* s, const std::shared_ptr<Cell>& r) {
    if (auto it = owner.find(r.get()); it != owner.end()) {
      set(s->wanders);
      set(it->second->wanders);
    } else if (ex.heap.found(*r)) {
      if (std::find(s->outer.begin(), s->outer.end(), r) == s->outer.end()) {
        s->outer.push_back(r);
        changed = true;
      }
    } else if (auto [other, fresh] = left.try_emplace(r.get(), s); !fresh && other->second != s) {
      set(s->wanders);
      set(other->second->wanders);
    }
  };
  struct Tensor {
    LoopState* slot;
    const TensorHandle* handle;
    End end;
  };
  std::vector<Tensor> tensors;
  for (const auto& [s, end] : all) {
    const Cell* mine = s->now();
    Cell* theirs = end ? memory_of(end->sym) : nullptr;
    if (s->kind == LoopState::Kind::Items) {
      if (theirs && theirs != mine && cell_of(end->sym))
        for (const auto& r : near(*theirs))
          if (r.get() != mine) note(s, r);
      continue;
    }
    if (!mine || !theirs || cell_of(end->sym)) continue;
    if (!s->self.is(K::Tensor) || !end->sym.is(K::Tensor)) {
      for (const auto& r : near(*theirs)) note(s, r);
      continue;
    }
    tensors.push_back({s, end->sym.tensor().get(), {}});
    End& found = tensors.back().end;
    add_end(ex, owner, *tensors.back().handle, first_value, {}, found);
    for (const auto& [other, when] : found.carried)
      found.said = found.said && !other->wanders && other->outer.empty();
  }
  for (const Tensor& a : tensors) {
    for (const auto& [r, when] : a.end.made)  // a list may have it too
      if (const auto at = left.find(r.get()); at != left.end() && at->second != a.slot)
        for (LoopState* s : {a.slot, at->second}) set(s->wanders);
    for (const Tensor& b : tensors) {
      if (a.slot == b.slot || !may_meet(a.end, b.end)) continue;
      for (LoopState* s : {a.slot, b.slot}) set(s->wanders);
    }
  }
  for (const auto& [s, h, end] : tensors) {
    if (!end.said || s->wanders || !s->outer.empty()) {
      for (const LoopSource& o : std::exchange(s->origins, {})) note(s, o.place->storage);
      for (const auto& r : reachable(h->storage, s->now())) note(s, r);
      continue;
    }
    const bool one_place = end.carried.empty() && end.made.empty() && end.places.size() == 1;
    const bool always_made = end.carried.empty() && end.places.empty();
    const bool simple =
        s->place ? one_place && same_place(ex, *s->place, *h) : one_place || always_made;
    if (!s->origins.empty() || !simple) {
      changed |= add_origins(ex, *s, end);
    } else if (one_place && !s->place) {
      s->place = end.places[0].first;
      changed = true;
    }
  }
  if (!changed)
    for (const auto& [s, h, end] : tensors) follow_origins(ex, *s, end);
  return changed;
}

}  // namespace oe::capture
