// Tensors that are one or another: which one, a branch chose or the number of the iteration.
//
// Such a tensor has a storage of its own and knows whose memory it is under which condition: a
// write to it is repeated there under the condition, and a write there reaches it. Where that
// cannot be said (a view that depends on the iteration, tensors that wander from variable to
// variable) the two are entangled: both can be read, neither can be written.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include "lib/capture/control/join.h"
#include "lib/capture/control/loop_state.h"
#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

std::shared_ptr<StorageCell> self(StorageCell& s) {
  return std::static_pointer_cast<StorageCell>(s.shared_from_this());
}

}  // namespace

bool same_argument(Executor& ex, const AbstractValue& a, const AbstractValue& b) {
  Snapshot f = freeze(ex, a), g = freeze(ex, b);
  f.content_only = g.content_only = f.sym.is(K::List);  // sizes: what they are, not which list
  return identical(ex, f, g);
}

bool same_place(Executor& ex, const TensorHandle& a, const TensorHandle& b) {
  const TensorHandle *x = &a, *y = &b;
  for (; x->parent && y->parent; x = x->parent.get(), y = y->parent.get()) {
    const ViewStep &p = *x->step, &q = *y->step;
    if (p.op != q.op || p.output != q.output || p.args.size() != q.args.size()) return false;
    for (size_t i = 0; i < p.args.size(); ++i)
      if (!same_argument(ex, p.args[i], q.args[i])) return false;
  }
  return !x->parent && !y->parent && x->storage == y->storage;
}

void may_be(Executor& ex, const AbstractValue& m, const AbstractValue& guard, bool when,
            const TensorHandle& h) {
  ex.heap.may_be(m.tensor()->storage, {guard, when, ex.heap.bare_place(h)});
}

// `v` in a place where `target` is, if the guard holds; in worlds where it does not, the target.
TensorValuePtr Views::shaped_as(const TensorValuePtr& v, const TensorValue& target,
                                const Alternative& a) {
  auto t = std::make_shared<TensorValue>(*v);
  t->recorded = ex_.recorder.on() ? ex_.recorder.value(v) : v->recorded;
  t->number = nullptr;
  t->ranked = target.ranked;
  t->axes = target.axes;
  t->c = PerWorld::sized(ex_.worlds.count());
  for (size_t w = 0; w < ex_.worlds.count(); ++w) {
    const bool holds = a.guard.c.has(w) && a.guard.c.at(w).toBool() == a.when && v->c.has(w);
    const PerWorld& from = holds ? v->c : target.c;
    if (from.has(w)) t->c.set(w, from.at(w));
  }
  return t;
}

// What `s` has become, to everything that is the same memory under some condition.
void Views::propagate(const std::shared_ptr<StorageCell>& s) {
  if ((s->alternatives.empty() && s->dependents.empty()) || !spreading_.insert(s.get()).second)
    return;
  struct Done {
    std::unordered_set<const StorageCell*>& set;
    const StorageCell* s;
    ~Done() { set.erase(s); }
  } done{spreading_, s.get()};
  const auto alternatives = s->alternatives;
  for (const auto& a : alternatives)
    if (!spreading_.contains(a->handle->storage.get()))
      ex_.control.conditionally(
          a->guard, a->when, [&] { write(a->handle, shaped_as(s->base, *read(a->handle), *a)); });
  const auto dependents = s->dependents;
  for (const auto& weak : dependents) {
    const auto d = weak.lock();
    if (!d || spreading_.contains(d.get())) continue;
    const auto theirs = d->alternatives;
    for (const auto& a : theirs) {
      if (a->handle->storage != s) continue;
      ex_.control.conditionally(a->guard, a->when, [&] {
        ex_.heap.check_write(*d);
        ex_.heap.set_base(*d, shaped_as(read(a->handle), *d->base, *a));
        propagate(d);
      });
    }
  }
}

// --- after a branch

// A number of branch k outside of it: 0 or False where the other branch was taken.
std::optional<AbstractValue> Joiner::exported(size_t k, const AbstractValue& s) {
  if (s.is(K::List) && !s.list()->is_open()) {
    std::vector<AbstractValue> items;
    for (const AbstractValue& e : s.list()->items) {
      auto item = exported(k, e);
      if (!item) return std::nullopt;
      items.push_back(*item);
    }
    return ex.values.list(std::move(items), s.list()->element);
  }
  if (!s.is_number())
    return ex.apply.taint_of(s) == Taint::Constant ? std::optional<AbstractValue>(s) : std::nullopt;
  const bool exported_before = s.recorded && s.recorded->producer == node;
  if (s.taint == Taint::Constant || s.recorded->id < first_value || exported_before) return s;
  AbstractValue out = s;
  out.taint = join(s.taint, cond.taint);
  out.axis_id = 0;
  program::Arg unset = s.is(K::Int)     ? program::Arg{int64_t{0}}
                       : s.is(K::Float) ? program::Arg{0.0}
                                        : program::Arg{false};
  node->blocks[k]->returns.push_back(ex.apply.arg(s));
  node->blocks[1 - k]->returns.push_back(std::move(unset));
  out.recorded = ex.recorder.add_output(node, number_type(s.kind));
  if (s.is(K::Bool)) {
    out.c = PerWorld::sized(branch.size());
    for (size_t w = 0; w < branch.size(); ++w)
      if (s.c.has(w)) out.c.set(w, branch[w] == static_cast<int>(k) && s.c.at(w).toBool());
  }
  return out;
}

// The place of `h` said with values that are known outside of branch k. `root`: instead of the
// storage that it starts from.
std::shared_ptr<TensorHandle> Joiner::exported_place(size_t k, const TensorHandle& h,
                                                     const TensorHandle* root) {
  if (!h.parent) return ex.heap.bare_place(root ? *root : h);
  auto place = ex.heap.bare_place(h);
  place->parent = exported_place(k, *h.parent, root);
  if (!place->parent) return nullptr;
  auto step = std::make_shared<ViewStep>(*h.step);
  for (AbstractValue& s : step->args) {
    auto known = exported(k, s);
    if (!known) return nullptr;
    s = *known;
  }
  place->step = step;
  place->storage = place->parent->storage;
  return place;
}

// The condition that branch k was taken and that these hold in it, with the value that it has then;
// nothing where it never is.
std::optional<std::pair<AbstractValue, bool>> Joiner::guard_of(size_t k, const Conditions& inner) {
  if (inner.empty()) return std::pair(cond, k == 0);
  AbstractValue both;
  inside(k, [&] {
    for (const auto& [guard, when] : inner) {
      AbstractValue holds = when ? guard : ex.apply("aten::__not__", {guard});
      both = both.is(K::Bool) ? ex.apply("aten::__and__.bool", {both, holds}) : holds;
    }
  });
  if (both.taint == Taint::Constant) {
    if (!both.c.at(0).toBool()) return std::nullopt;
    return std::pair(cond, k == 0);
  }
  // Even one that is known outside: it has to be False where the other branch was taken.
  const int known = std::exchange(first_value, 0);
  const auto guard = exported(k, both);
  first_value = known;
  return std::pair(*guard, true);
}

// `m`, made of what branch k left as `h`, is that tensor when the branch was taken; `inner`: and
// when these hold in it.
void Joiner::relate(const AbstractValue& m, size_t k, const TensorHandle& h,
                    const Conditions& inner) {
  StorageCell& mine = *m.tensor()->storage;
  const auto tie = [&](const TensorHandle& other, const Conditions& conditions) {
    if (const auto guard = guard_of(k, conditions))
      may_be(ex, m, guard->first, guard->second, other);
  };
  if (h.storage->serial < scope_start) {
    auto place = exported_place(k, h, nullptr);
    if (!place) return Heap::share(mine, *h.storage);
    return tie(*place, inner);
  }
  const auto entangled = h.storage->entangled;  // a copy: share() may add to it
  for (const auto& e : entangled)
    if (auto other = e.lock(); other && other->serial < scope_start) Heap::share(mine, *other);
  for (const auto& a : h.storage->alternatives) {
    auto place = exported_place(k, h, a->handle.get());
    if (!place) {
      Heap::share(mine, *a->handle->storage);
      continue;
    }
    Conditions deeper = inner;
    deeper.emplace_back(a->guard, a->when);
    relate(m, k, *place, deeper);
  }
  // Memory made in the branch: what else was made of it, always or by a condition.
  for (const Seen& s : seen[k]) {
    if (s.place->storage != h.storage || s.value.tensor()->storage.get() == &mine) continue;
    if (!same_place(ex, *s.place, h)) {
      Heap::share(mine, *s.value.tensor()->storage);
      continue;
    }
    Conditions all = inner;
    all.insert(all.end(), s.conditions.begin(), s.conditions.end());
    tie(*s.value.tensor(), all);
  }
  seen[k].push_back({m, ex.heap.bare_place(h), inner});
  relate_held(mine, k, *h.storage);
}

// Two values made of what branch k left share memory where that did.
void Joiner::relate_held(StorageCell& mine, size_t k, StorageCell& inner) {
  const auto tied = [&](const std::shared_ptr<Cell>& c) {
    return std::ranges::any_of(inner.entangled, [&](const auto& e) { return e.lock() == c; });
  };
  for (const auto& [other, theirs] : held[k])
    if (other.get() != &mine && theirs.get() != &inner && tied(theirs)) Heap::share(mine, *other);
  held[k].emplace_back(self(mine), self(inner));
}

}  // namespace oe::capture
