// Reading and writing through views: storages are mutated, tensors are ways to look at them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
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

// The axes in the order in which they lie in memory, outermost first.
std::vector<int64_t> memory_order(const at::Tensor& t) {
  std::vector<int64_t> order(static_cast<size_t>(t.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return order;
}

}  // namespace

TensorValuePtr Executor::read(const std::shared_ptr<TensorHandle>& h) {
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
      refuse("OE4026",
             "what " + step.op.substr(1) + " returned shares memory that was written since",
             "clone() it before the write");
    if (step.op.empty()) {
      v = parent;
    } else {
      std::vector<Sym> args = {fresh_tensor(parent)};
      args.insert(args.end(), step.args.begin(), step.args.end());
      Sym out = apply(op_named(step.op), args).at(0);
      if (step.output >= 0) out = out.list->items.at(static_cast<size_t>(step.output));
      v = out.tensor->cached;
    }
  }
  heap_.touch(*h);
  h->cached = v;
  h->cached_version = h->storage->version;
  return v;
}

// Functional operators may lay their result out differently from the tensor they stand for; views
// taken later look at strides, so what is written keeps the layout it had.
void Executor::restride(TensorValue& v, const TensorValue& like) {
  auto mended = [&](const at::Tensor& t, const at::Tensor& l) {
    if (t.sizes() != l.sizes() || t.strides() == l.strides()) return t;
    at::Tensor r = at::empty_strided(l.sizes(), l.strides(), t.options());
    r.copy_(t);
    return r;
  };
  if (v.c.shared()) {
    v.c = PerWorld::constant(mended(v.c.at(0).toTensor(), like.c.at(worlds_.first()).toTensor()));
    return;
  }
  for (size_t w = 0; w < worlds_.count(); ++w)
    if (v.c.has(w) && like.c.has(w))
      v.c.set(w, mended(v.c.at(w).toTensor(), like.c.at(w).toTensor()));
}

void Executor::write(const std::shared_ptr<TensorHandle>& h, TensorValuePtr v) {
  auto mended = std::make_shared<TensorValue>(*v);
  restride(*mended, *read(h));
  if (!h->parent) {
    heap_.check_write(*h->storage);
    heap_.set_base(*h->storage, mended);
  } else {
    write(h->parent, write_back(*h, read(h->parent), mended));
  }
  for (TensorHandle* seen : {h.get(), h->anchor.get()}) {
    if (!seen) continue;
    heap_.touch(*seen);
    seen->cached = mended;
    seen->cached_version = h->storage->version;
  }
  if (!h->parent) propagate(h->storage);
}

std::shared_ptr<TensorHandle> Executor::anchor(const std::shared_ptr<TensorHandle>& h) {
  if (!h->anchor) {
    heap_.touch(*h);
    h->anchor = heap_.copy(*h);
  }
  return h->anchor;
}

void Executor::look_as(const std::shared_ptr<TensorHandle>& h, const TensorHandle& as) {
  heap_.touch(*h);
  const uint64_t serial = h->serial;
  static_cast<TensorHandle&>(*h) = as;
  h->serial = serial;
  h->anchor = nullptr;
}

// Whether a result shares memory is read off the real storages, not off the schema: reshape,
// contiguous, to, dropout in inference and others share or copy as they please.
void Executor::alias_outputs(const OpInfo& op, const std::vector<Sym>& args,
                             std::vector<Sym>& outputs) {
  auto alias_of = [&](Sym& out, int position, const Sym& arg, size_t a, bool in_list) {
    const TensorValuePtr v = out.tensor->cached, in = read(arg.tensor);
    int shared = 0, apart = 0, identical = 0;
    worlds_.each([&](size_t w) {
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
      Heap::entangle(*out.tensor->storage, *arg.tensor->storage);
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
    out.tensor->storage = arg.tensor->storage;
    out.tensor->parent = anchor(arg.tensor);
    out.tensor->step = step;
    out.tensor->cached_version = out.tensor->storage->version;
    return true;
  };
  auto alias = [&](Sym& out, int position) {
    for (size_t a = 0; a < args.size(); ++a) {
      if (args[a].is(K::Tensor) && alias_of(out, position, args[a], a, false)) return;
      if (!args[a].is(K::List)) continue;
      for (const Sym& e : args[a].list->items)
        if (e.is(K::Tensor) && alias_of(out, position, e, a, true)) return;
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

// The active world that says most about strides: axes of size 1 have any.
static const at::Tensor& telling_example(const TensorValue& t, const Worlds& worlds) {
  const at::Tensor* best = nullptr;
  int64_t most = -1;
  worlds.each([&](size_t w) {
    if (!t.c.has(w)) return;
    const at::Tensor& v = t.c.at(w).toTensor();
    const int64_t least = v.dim() == 0 ? 1 : *std::min_element(v.sizes().begin(), v.sizes().end());
    if (least <= most) return;
    most = least;
    best = &v;
  });
  return *best;
}

std::vector<Sym> Executor::strides_of(const Sym& tensor) {
  const TensorValuePtr t = read(tensor.tensor);
  const std::vector<int64_t> order = memory_order(telling_example(*t, worlds_));
  bool dense = t->ranked;
  worlds_.each([&](size_t w) {
    if (t->c.has(w)) dense = dense && t->c.at(w).toTensor().permute(order).is_contiguous();
  });
  if (!dense)
    refuse("OE4029", "the strides of a tensor that does not fill its memory in one piece",
           "make the tensor contiguous() first");
  std::vector<Sym> strides(order.size());
  Sym inner = Sym::of(int64_t{1});
  for (size_t k = order.size(); k-- > 0;) {
    strides[static_cast<size_t>(order[k])] = inner;
    if (k > 0) inner = apply1("aten::mul.int", {inner, size_of(tensor, order[k])});
  }
  return strides;
}

// Nothing where all worlds agree.
std::optional<Sym> Executor::contiguity_of(const Sym& tensor) {
  const TensorValuePtr t = read(tensor.tensor);
  bool yes = false, no = false;
  worlds_.each([&](size_t w) {
    if (t->c.has(w)) (t->c.at(w).toTensor().is_contiguous() ? yes : no) = true;
  });
  if (yes != no || worlds_.alone()) return std::nullopt;
  const bool contiguous = telling_example(*t, worlds_).is_contiguous();
  assume(std::string("the tensor is taken to be ") + (contiguous ? "" : "not ") +
         "contiguous, as it is at larger sizes");
  return Sym::of(contiguous);
}

// as_strided looks at the memory under a tensor, not at the tensor: it is a view of the base.
Sym Executor::as_strided(const OpInfo& op, const std::vector<Sym>& args) {
  auto root = args[0].tensor;
  bool fixed = true;  // the steps do the same in every run
  for (; root->parent; root = root->parent)
    for (const Sym& s : root->step->args) fixed = fixed && taint_of(s) == Taint::Constant;
  std::function<at::Tensor(const TensorHandle&, size_t)> look = [&](const TensorHandle& h,
                                                                    size_t w) {
    if (!h.parent) return h.storage->base->c.at(w).toTensor();
    at::Tensor parent = look(*h.parent, w);
    if (h.step->op.empty()) return parent;
    torch::jit::Stack stack{parent};
    for (const Sym& s : h.step->args) stack.push_back(to_ivalue(s, w));
    op_named(h.step->op).op->getOperation()(stack);
    return h.step->output < 0 ? stack[0].toTensor()
                              : stack[0].toTensorVector().at(static_cast<size_t>(h.step->output));
  };

  Sym base = args[0];
  base.tensor = anchor(root);
  const size_t w0 = worlds_.first();
  const std::vector<int64_t> order = memory_order(look(*root, w0));
  int64_t offset = look(*args[0].tensor, w0).storage_offset();
  worlds_.each([&](size_t w) {
    if (!root->storage->base->c.has(w)) return;
    const at::Tensor memory = look(*root, w);
    if (memory.storage_offset() != 0 || !memory.permute(order).is_contiguous())
      refuse("OE4027", "as_strided of a tensor that does not fill its memory in one piece",
             "make the tensor contiguous() first");
    fixed = fixed && look(*args[0].tensor, w).storage_offset() == offset;
  });
  if (!std::is_sorted(order.begin(), order.end())) {
    std::vector<Sym> dims;
    for (int64_t d : order) dims.push_back(Sym::of(d));
    base = call_operator(op_named("aten::permute"), {base, make_list(dims, c10::IntType::get())},
                         nullptr)
               .at(0);
  }
  Sym start = args[3];
  if (start.is(K::None)) {
    if (!fixed)
      refuse("OE4028", "as_strided starts where its tensor starts, which depends on the input",
             "give as_strided a storage_offset");
    start = Sym::of(offset);
  }
  std::vector<Sym> out = apply(op, {base, args[1], args[2], start});
  alias_outputs(op, {base, args[1], args[2], start}, out);
  return out[0];
}

}  // namespace oe::capture
