// Reading and writing through views: storages are mutated, tensors are ways to look at them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/ScalarType.h>

#include <numeric>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

using K = Sym::Kind;

const at::Tensor* memory_of(const TensorValue& t, size_t w) {
  if (!t.c.has(w)) return nullptr;
  const at::Tensor& x = t.c.at(w).toTensor();
  return x.has_storage() ? &x : nullptr;
}

bool same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset() && a.scalar_type() == b.scalar_type();
}

// Views that only regroup the elements, in the same order: undone by reshaping.
bool regroups(const std::string& base) {
  for (const char* n :
       {"view", "reshape", "_reshape_alias", "flatten", "unflatten", "squeeze", "unsqueeze",
        "view_as", "reshape_as", "ravel", "_unsafe_view", "atleast_1d", "atleast_2d", "atleast_3d"})
    if (base == std::string("aten::") + n) return true;
  return false;
}

// Equal at every size, not only at those that were run.
bool same_axes(const TensorValue& a, const TensorValue& b) {
  return a.ranked && b.ranked &&
         std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                    [](const Axis& x, const Axis& y) {
                      return x.is_static() ? y.is_static() : x.id == y.id;
                    });
}

std::string base_of(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

// `a` where the condition holds, else `b`; the type is that of `like`.
TensorValuePtr Executor::choose(const Sym& cond, const TensorValuePtr& a, const TensorValuePtr& b,
                                const TensorValue& like) {
  if (concrete_ >= 0) return concrete_bool(cond, static_cast<size_t>(concrete_)) ? a : b;
  const Sym out = kept_branches(
      cond, [&](size_t k) { return std::vector<Sym>{fresh_tensor(k == 0 ? a : b)}; },
      {false, false}, true)->at(0);
  auto v = std::make_shared<TensorValue>(*read(out.tensor));
  v->ranked = like.ranked;
  v->axes = like.axes;
  if (v->recorded) v->recorded->type = recorder_.type_of(*v);
  return v;
}

// A tensor that a branch chose follows what was written to the ones it may be.
void Executor::refresh(StorageCell& s) {
  if (!s.choice) return;
  const Choice c = *s.choice;
  const auto version = [&](const std::shared_ptr<TensorHandle>& h) {
    if (!h) return uint64_t{0};
    refresh(*h->storage);
    return h->storage->version;
  };
  const uint64_t a = version(c.a), b = version(c.b);
  if (a == c.a_version && b == c.b_version) return;
  touch(s);
  s.base = choose(c.cond, a == c.a_version ? s.base : read(c.a), b == c.b_version ? s.base : read(c.b),
                  *s.base);
  s.version = next_version_++;
  auto now = std::make_shared<Choice>(c);
  now->a_version = a;
  now->b_version = b;
  s.choice = std::move(now);
}

// A write to it is a write to the one it is.
void Executor::write_choice(StorageCell& s) {
  if (!s.choice) return;
  auto now = std::make_shared<Choice>(*s.choice);
  const TensorValuePtr v = s.base;
  if (now->a) {
    const TensorValuePtr old = read(now->a);
    write(now->a, choose(now->cond, v, old, *old));
    now->a_version = now->a->storage->version;
  }
  if (now->b) {
    const TensorValuePtr old = read(now->b);
    write(now->b, choose(now->cond, old, v, *old));
    now->b_version = now->b->storage->version;
  }
  s.choice = std::move(now);
}

TensorValuePtr Executor::read(const std::shared_ptr<TensorHandle>& h) {
  refresh(*h->storage);
  if (h->cached && h->cached_version == h->storage->version) return h->cached;
  TensorValuePtr v;
  if (!h->parent) {
    v = h->storage->base;
  } else {
    TensorValuePtr parent = read(h->parent);
    if (h->step->op.empty()) {
      v = parent;
    } else {
      std::vector<Sym> args = {fresh_tensor(parent)};
      args.insert(args.end(), h->step->args.begin(), h->step->args.end());
      Sym out = apply(op_named(h->step->op), args).at(0);
      if (h->step->output >= 0) out = out.list->items.at(static_cast<size_t>(h->step->output));
      v = out.tensor->cached;
    }
  }
  touch(*h);
  h->cached = v;
  h->cached_version = h->storage->version;
  return v;
}

// Functional operators may lay their result out differently from the tensor they stand for; views
// taken later look at strides, so the base keeps its own.
void Executor::restride(TensorValue& v, const TensorValue& like) {
  auto mended = [&](const at::Tensor& t, const at::Tensor& l) {
    if (t.sizes() != l.sizes() || t.strides() == l.strides()) return t;
    at::Tensor r = at::empty_strided(l.sizes(), l.strides(), t.options());
    r.copy_(t);
    return r;
  };
  if (v.c.shared() && like.c.shared()) {
    v.c = PerWorld::constant(mended(v.c.at(0).toTensor(), like.c.at(0).toTensor()));
    return;
  }
  if (v.c.shared()) return;
  for (size_t w = 0; w < worlds_; ++w)
    if (v.c.has(w) && like.c.has(w))
      v.c.set(w, mended(v.c.at(w).toTensor(), like.c.at(w).toTensor()));
}

void Executor::entangle(Cell& a, Cell& b) {
  if (&a == &b) return;
  a.entangled.push_back(b.weak_from_this());
  b.entangled.push_back(a.weak_from_this());
}

void Executor::check_write(const Cell& c) {
  for (const auto& other : c.entangled)
    if (other.lock()) {
      if (dynamic_cast<const StorageCell*>(&c))
        refuse("OE4020", "a tensor is written that may or may not share memory with another one",
               "copy it with clone() before the write");
      refuse("OE4020", "a list, dict or object is changed that may or may not be another one",
             "make a copy before the change");
    }
}

void Executor::write(const std::shared_ptr<TensorHandle>& h, TensorValuePtr v) {
  if (!h->parent) {
    check_write(*h->storage);
    auto mended = std::make_shared<TensorValue>(*v);
    restride(*mended, *h->storage->base);
    touch(*h->storage);
    h->storage->base = mended;
    h->storage->version = next_version_++;
    write_choice(*h->storage);
    v = mended;
  } else {
    TensorValuePtr parent = read(h->parent);
    write(h->parent, write_back(*h, parent, v));
  }
  touch(*h);
  h->cached = v;
  h->cached_version = h->storage->version;
}

TensorValuePtr Executor::write_back(const TensorHandle& h, const TensorValuePtr& parent,
                                    const TensorValuePtr& v) {
  const ViewStep& step = *h.step;
  if (step.op.empty()) return v;
  const std::string base = base_of(step.op);
  const Sym p = fresh_tensor(parent), n = fresh_tensor(v);
  auto done = [](const Sym& s) { return s.tensor->cached; };
  auto rank = static_cast<int64_t>(parent->axes.size());
  auto wrapped = [&](const Sym& dim) {
    const int64_t d = known_int(dim, "dim");
    return Sym::of(d < 0 ? d + rank : d);
  };
  const Sym one = Sym::of(int64_t{1});

  if (regroups(base)) return done(apply1("aten::reshape_as", {n, p}));
  if (base == "aten::transpose" || base == "aten::swapaxes" || base == "aten::swapdims")
    return done(apply1("aten::transpose.int", {n, step.args[0], step.args[1]}));
  if (base == "aten::t") return done(apply1("aten::t", {n}));
  if (base == "aten::numpy_T") return done(apply1("aten::numpy_T", {n}));
  if (base == "aten::mT") return done(apply1("aten::mT", {n}));
  if (base == "aten::permute") {
    std::vector<Sym> inverse(static_cast<size_t>(rank));
    const auto& dims = step.args[0].list->items;
    for (size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<size_t>(wrapped(dims[i]).c.at(0).toInt())] =
          Sym::of(static_cast<int64_t>(i));
    return done(apply1("aten::permute", {n, make_list(inverse, c10::IntType::get())}));
  }
  if (base == "aten::movedim" || base == "aten::moveaxis") {
    const bool list = step.args[0].is(K::List);
    return done(apply1(list ? "aten::movedim.intlist" : "aten::movedim.int",
                       {n, step.args[1], step.args[0]}));
  }
  if (base == "aten::select")
    return done(apply1("aten::select_scatter", {p, n, step.args[0], step.args[1]}));
  if (base == "aten::slice")
    return done(apply1("aten::slice_scatter",
                       {p, n, step.args[0], step.args[1], step.args[2], step.args[3]}));
  if (base == "aten::narrow") {
    Sym end = apply1("aten::add.int", {step.args[1], step.args[2]});
    return done(apply1("aten::slice_scatter", {p, n, step.args[0], step.args[1], end, one}));
  }
  if (base == "aten::diagonal")
    return done(apply1("aten::diagonal_scatter", {p, n, step.args[0], step.args[1], step.args[2]}));
  if (base == "aten::as_strided")
    return done(
        apply1("aten::as_strided_scatter", {p, n, step.args[0], step.args[1], step.args[2]}));
  if (base == "aten::unbind")
    return done(apply1("aten::select_scatter",
                       {p, n, step.args[0], Sym::of(static_cast<int64_t>(step.output))}));
  if (base == "aten::split_with_sizes" || (base == "aten::split" && step.args[0].is(K::List))) {
    Sym start = Sym::of(int64_t{0});
    const auto& sizes = step.args[0].list->items;
    for (int i = 0; i < step.output; ++i)
      start = apply1("aten::add.int", {start, sizes[static_cast<size_t>(i)]});
    Sym end = apply1("aten::add.int", {start, sizes[static_cast<size_t>(step.output)]});
    return done(apply1("aten::slice_scatter", {p, n, step.args[1], start, end, one}));
  }
  if (base == "aten::split" || base == "aten::chunk") {
    Sym piece = step.args[0];
    if (base == "aten::chunk") {  // ceil(size / chunks)
      Sym size = size_of(p, known_int(step.args[1], "dim"));
      Sym up = apply1("aten::add.int", {size, Sym::of(known_int(piece, "chunks") - 1)});
      piece = apply1("aten::floordiv.int", {up, piece});
    }
    Sym start = apply1("aten::mul.int", {piece, Sym::of(static_cast<int64_t>(step.output))});
    Sym end = apply1("aten::add.int", {start, piece});
    return done(apply1("aten::slice_scatter", {p, n, step.args[1], start, end, one}));
  }
  if (base == "aten::expand" || base == "aten::expand_as" || base == "aten::broadcast_to") {
    // LibTorch itself refuses a write to elements that an expand repeats.
    for (size_t w = 0; w < worlds_; ++w)
      if (active(w) && v->c.has(w) &&
          v->c.at(w).toTensor().numel() != parent->c.at(w).toTensor().numel())
        world_failed(w,
                     "unsupported operation: more than one element of the written-to tensor "
                     "refers to a single memory location");
    return done(apply1("aten::reshape_as", {n, p}));
  }
  refuse("OE4021", "a write through " + base + " cannot be expressed",
         "write to the tensor itself, or clone() the view first");
}

// The new value of an in-place operator's target: cast and broadcast as LibTorch does.
TensorValuePtr Executor::conform(const Sym& v, const TensorValuePtr& target) {
  const size_t w0 = first_active();
  const at::Tensor to = target->c.at(w0).toTensor();
  Sym out = v;
  const at::Tensor from = read(out.tensor)->c.at(w0).toTensor();
  if (from.scalar_type() != to.scalar_type()) {
    if (!c10::canCast(from.scalar_type(), to.scalar_type()))
      for (size_t w = 0; w < worlds_; ++w)
        if (active(w))
          world_failed(w, std::string("result type ") + c10::toString(from.scalar_type()) +
                              " can't be cast to the desired output type " +
                              c10::toString(to.scalar_type()));
    out = apply1("aten::to.dtype", {out, Sym::of(static_cast<int64_t>(to.scalar_type())),
                                    Sym::of(false), Sym::of(false), Sym::none()});
  }
  TensorValuePtr now = read(out.tensor);
  bool same = now->ranked && target->ranked && now->axes.size() == target->axes.size();
  for (size_t w = 0; w < worlds_ && same; ++w)
    if (active(w) && now->c.has(w) && target->c.has(w))
      same = now->c.at(w).toTensor().sizes() == target->c.at(w).toTensor().sizes();
  if (!same) {
    out = apply1("aten::expand_as", {out, fresh_tensor(target)});
    now = read(out.tensor);
  }
  // The result has the target's axes, whatever the operator's rule could tell.
  auto named = std::make_shared<TensorValue>(*now);
  named->axes = target->axes;
  return named;
}

std::vector<Sym> Executor::call_in_place(const OpInfo& op, const std::vector<Sym>& args) {
  if (!op.twin) refuse("OE4022", "in-place operator " + op.base + " has no functional counterpart");
  const Sym target = args[static_cast<size_t>(op.written)];
  if (op.metadata_in_place) {
    if (!scopes_.empty() && target.tensor->serial < scopes_.back().start)
      refuse("OE4023", op.base + " changes an outer tensor's shape inside kept control flow");
    Sym view = apply(*op.twin, args).at(0);
    auto before = std::make_shared<TensorHandle>(*target.tensor);
    before->serial = Cell::next_serial()++;
    auto step = std::make_shared<ViewStep>();
    step->op = op.twin->name;
    step->args.assign(args.begin() + 1, args.end());
    target.tensor->parent = before;
    target.tensor->step = step;
    target.tensor->cached = view.tensor->cached;
    target.tensor->cached_version = target.tensor->storage->version;
    return {target};
  }
  TensorValuePtr before = read(target.tensor);
  if (op.base == "aten::copy_" && args[1].is(K::Tensor)) {
    // The source itself, cast and broadcast: no node where nothing changes. Unlike the results of
    // other in-place operators it may be cast to any type.
    Sym source = fresh_tensor(read(args[1].tensor));
    const at::ScalarType to = before->c.at(first_active()).toTensor().scalar_type();
    if (read(source.tensor)->c.at(first_active()).toTensor().scalar_type() != to)
      source = apply1("aten::to.dtype", {source, Sym::of(static_cast<int64_t>(to)), Sym::of(false),
                                         Sym::of(false), Sym::none()});
    write(target.tensor, conform(source, before));
    return {target};
  }
  Sym result = apply(*op.twin, args).at(0);
  write(target.tensor, conform(result, before));
  return {target};
}

std::vector<Sym> Executor::call_out(const OpInfo& op, const std::vector<Sym>& args) {
  if (!op.twin) refuse("OE4024", "the out= form of " + op.base + " has no functional counterpart");
  const size_t count = args.size() - static_cast<size_t>(op.outs);
  std::vector<Sym> results =
      apply(*op.twin, std::vector<Sym>(args.begin(), args.begin() + static_cast<long>(count)));
  std::vector<Sym> out(args.begin() + static_cast<long>(count), args.end());
  for (size_t i = 0; i < out.size(); ++i) {
    TensorValuePtr before = read(out[i].tensor);
    const size_t w = first_active();
    if (before->c.at(w).toTensor().sizes() != read(results[i].tensor)->c.at(w).toTensor().sizes())
      refuse("OE4025", "out= resizes its tensor in " + op.base,
             "give out= a tensor of the result's shape");
    write(out[i].tensor, conform(results[i], before));
  }
  return out;
}

// Whether a result shares memory is read off the real storages, not off the schema: reshape,
// contiguous, to, dropout in inference and others share or copy as they please.
void Executor::alias_outputs(const OpInfo& op, const std::vector<Sym>& args,
                             std::vector<Sym>& outputs) {
  auto alias = [&](Sym& out, int position) {
    const TensorValuePtr v = out.tensor->cached;
    for (size_t a = 0; a < args.size(); ++a) {
      if (!args[a].is(K::Tensor)) continue;
      const TensorValuePtr in = read(args[a].tensor);
      int shared = 0, apart = 0, identical = 0;
      for (size_t w = 0; w < worlds_; ++w) {
        if (!active(w)) continue;
        const at::Tensor *x = memory_of(*in, w), *y = memory_of(*v, w);
        if (!x || !y) continue;
        if (x->is_alias_of(*y)) {
          ++shared;
          identical += same_view(*x, *y);
        } else {
          ++apart;
        }
      }
      if (!shared) continue;
      if (apart) {  // the worlds disagree: reading is fine, writing either is not
        entangle(*out.tensor->storage, *args[a].tensor->storage);
        return;
      }
      auto step = std::make_shared<ViewStep>();
      const bool exact = identical == shared && position < 0 && same_axes(*in, *v);
      if (!exact) {
        step->op = op.name;
        for (size_t k = 0; k < args.size(); ++k)
          if (k != a) step->args.push_back(args[k]);
        step->output = position;
        if (a != 0)
          step->op = "?" + op.name;  // not replayable: the tensor is not the first argument
      }
      out.tensor->storage = args[a].tensor->storage;
      out.tensor->parent = args[a].tensor;
      out.tensor->step = step;
      out.tensor->cached_version = out.tensor->storage->version;
      return;
    }
  };
  for (Sym& out : outputs) {
    if (out.is(K::Tensor)) {
      alias(out, -1);
    } else if (out.is(K::List)) {
      int i = 0;
      for (Sym& e : out.list->items) {
        if (e.is(K::Tensor)) alias(e, i);
        ++i;
      }
    }
  }
}

}  // namespace oe::capture
