// Reading and writing through views: storages are mutated, tensors are ways to look at them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

const at::Tensor* memory_of(const TensorValue& t, size_t w) {
  if (!t.c.has(w)) return nullptr;
  const at::Tensor& x = t.c.at(w).toTensor();
  return x.has_storage() ? &x : nullptr;
}

bool same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset() && a.scalar_type() == b.scalar_type();
}

}  // namespace

TensorValuePtr Views::read(const std::shared_ptr<TensorHandle>& h) {
  if (h->cached && h->cached_version == h->storage->version) return h->cached;
  TensorValuePtr v;
  if (!h->parent) {
    v = h->storage->base;
  } else if (h->anchor) {
    v = read(h->anchor);
  } else {
    TensorValuePtr parent = read(h->parent);
    const ViewStep& step = *h->step;
    if (step.op.starts_with('?'))
      ex_.site.refuse(
          "OE4026",
          "the result of " + step.op.substr(1) + " shares memory that was written after the call",
          "clone() it before the write");
    if (step.op.empty()) {
      v = parent;
    } else {
      std::vector<AbstractValue> args = {ex_.values.tensor(parent)};
      args.insert(args.end(), step.args.begin(), step.args.end());
      AbstractValue out = ex_.apply(ex_.operators.named(step.op), args).at(0);
      if (step.output >= 0) out = out.list()->items.at(static_cast<size_t>(step.output));
      v = out.tensor()->cached;
    }
  }
  ex_.heap.touch(*h);
  h->cached = v;
  h->cached_version = h->storage->version;
  return v;
}

// Functional operators may lay their result out differently from the tensor they stand for; views
// taken later look at strides, so what is written keeps the layout it had.
void Views::restride(TensorValue& v, const TensorValue& like) {
  auto mended = [&](const at::Tensor& t, const at::Tensor& l) {
    if (t.sizes() != l.sizes() || t.strides() == l.strides()) return t;
    at::Tensor r = at::empty_strided(l.sizes(), l.strides(), t.options());
    r.copy_(t);
    return r;
  };
  if (v.c.shared()) {
    v.c =
        PerWorld::constant(mended(v.c.at(0).toTensor(), like.c.at(ex_.worlds.first()).toTensor()));
    return;
  }
  for (size_t w = 0; w < ex_.worlds.count(); ++w)
    if (v.c.has(w) && like.c.has(w))
      v.c.set(w, mended(v.c.at(w).toTensor(), like.c.at(w).toTensor()));
}

void Views::write(const std::shared_ptr<TensorHandle>& h, TensorValuePtr v) {
  auto mended = std::make_shared<TensorValue>(*v);
  const TensorValuePtr before = read(h);
  restride(*mended, *before);
  if (!h->parent) {
    ex_.heap.check_write(*h->storage);
    ex_.heap.set_base(*h->storage, mended);
  } else {
    write(h->parent, write_back(*h, read(h->parent), mended));
  }
  for (TensorHandle* seen : {h.get(), h->anchor.get()}) {
    if (!seen) continue;
    ex_.heap.touch(*seen);
    seen->cached = mended;
    seen->cached_version = h->storage->version;
  }
  ex_.gradient.overwrite(*before, *mended);
  if (!h->parent) propagate(h->storage);
}

std::shared_ptr<TensorHandle> Views::anchor(const std::shared_ptr<TensorHandle>& h) {
  if (!h->anchor) {
    ex_.heap.touch(*h);
    h->anchor = ex_.heap.copy(*h);
  }
  return h->anchor;
}

void Views::look_as(const std::shared_ptr<TensorHandle>& h, const TensorHandle& as) {
  ex_.heap.touch(*h);
  const uint64_t serial = h->serial;
  static_cast<TensorHandle&>(*h) = as;
  h->serial = serial;
  h->anchor = nullptr;
}

// Whether a result shares memory is read off the real storages, not off the schema: reshape,
// contiguous, to, dropout in inference and others share or copy as they please.
void Views::alias_outputs(const OpInfo& op, const std::vector<AbstractValue>& args,
                          std::vector<AbstractValue>& outputs) {
  auto alias_of = [&](AbstractValue& out, int position, const AbstractValue& arg, size_t a,
                      bool in_list) {
    const TensorValuePtr v = out.tensor()->cached, in = read(arg.tensor());
    int shared = 0, apart = 0, identical = 0;
    ex_.worlds.each([&](size_t w) {
      const at::Tensor *x = memory_of(*in, w), *y = memory_of(*v, w);
      if (!x || !y) return;
      if (x->is_alias_of(*y)) {
        ++shared;
        identical += same_view(*x, *y);
      } else {
        ++apart;
      }
    });
    if (!shared) return false;
    if (apart) {  // the worlds disagree: reading is fine, writing either is not
      Heap::entangle(*out.tensor()->storage, *arg.tensor()->storage);
      return true;
    }
    auto step = std::make_shared<ViewStep>();
    if (identical != shared || is_view_operator(op.base) || !same_axes(*in, *v)) {
      step->op = op.name;
      step->output = position;
      for (size_t k = 0; k < args.size(); ++k)
        if (k != a) step->args.push_back(args[k]);
      if (a != 0 || in_list) step->op = "?" + op.base;  // not replayed: the tensor is not in front
    }
    out.tensor()->storage = arg.tensor()->storage;
    out.tensor()->parent = anchor(arg.tensor());
    out.tensor()->step = step;
    out.tensor()->cached_version = out.tensor()->storage->version;
    return true;
  };
  auto alias = [&](AbstractValue& out, int position) {
    for (size_t a = 0; a < args.size(); ++a) {
      if (args[a].is(K::Tensor) && alias_of(out, position, args[a], a, false)) return;
      if (!args[a].is(K::List)) continue;
      for (const AbstractValue& e : args[a].list()->items)
        if (e.is(K::Tensor) && alias_of(out, position, e, a, true)) return;
    }
  };
  for (AbstractValue& out : outputs) {
    if (out.is(K::Tensor)) {
      alias(out, -1);
    } else if (out.is(K::List)) {
      int i = 0;
      for (AbstractValue& e : out.list()->items) {
        if (e.is(K::Tensor)) alias(e, i);
        ++i;
      }
    }
  }
}

}  // namespace oe::capture
