// Tensors that get another size while they keep their memory: resize_, and out= of another shape.
#include <ATen/core/Tensor.h>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

AbstractValue whole(int64_t n) { return AbstractValue::of(n); }

// Whether the tensor is all of its storage, whatever shape it sees it in.
bool fills_storage(const TensorHandle& h) {
  for (const TensorHandle* at = &h; at->parent; at = at->parent.get())
    if (!at->step->op.empty()) return false;
  return true;
}

bool is_contiguous(const Worlds& worlds, const TensorValue& t) {
  bool all = t.ranked;
  worlds.each([&](size_t w) {
    if (t.c.has(w)) all = all && t.c.at(w).toTensor().is_contiguous();
  });
  return all;
}

}  // namespace

// The tensor's sizes are these in every run.
bool Writes::has_sizes(const AbstractValue& tensor, const std::vector<AbstractValue>& sizes) {
  const TensorValuePtr t = ex_.views.read(tensor);
  if (!t->ranked || t->axes.size() != sizes.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Axis& a = t->axes[i];
    const bool same =
        a.is_static() ? sizes[i].is_constant_number() &&
                            sizes[i].c.at(0).toInt() == example(*t).size(static_cast<int64_t>(i))
                      : sizes[i].axis_id && sizes[i].axis_id == a.id;
    if (!same) return false;
  }
  return true;
}

// The tensor gets another memory. LibTorch keeps the one it has, which whoever else looks at it
// would see: not yet where its elements are `kept`, only after the next write.
void Writes::move(const AbstractValue& target, const AbstractValue& now, bool kept) {
  const std::weak_ptr<StorageCell> before = target.tensor()->storage;
  const bool related = !target.tensor()->storage->alternatives.empty();
  if (const auto old = before.lock(); kept && old) Heap::share(*now.tensor()->storage, *old);
  ex_.views.look_as(target.tensor(), *now.tensor());
  if (!kept && (related || !before.expired()))
    ex_.site.refuse("OE4025", "a write resizes a tensor whose memory another tensor shares",
                    "pass out= a tensor with the shape of the result, or an empty one");
}

// The first elements of the tensor's memory in another shape; where it has to grow, what follows
// was never set (and is 0 here).
// https://pytorch.org/docs/stable/generated/torch.Tensor.resize_.html
void Writes::resize(const AbstractValue& target, const std::vector<AbstractValue>& sizes) {
  if (has_sizes(target, sizes)) return;
  const TensorValuePtr before = ex_.views.read(target);
  if (!is_contiguous(ex_.worlds, *before))
    ex_.site.refuse("OE4025", "resize_ of a tensor that is not contiguous",
                    "call contiguous() first");
  const auto ints = [&](std::vector<AbstractValue> v) {
    return ex_.values.list(std::move(v), c10::IntType::get());
  };
  const auto call = [&](const char* op, const std::vector<AbstractValue>& args) {
    return ex_.interpreter.call_operator(op, args);
  };
  AbstractValue count = whole(1);
  for (const AbstractValue& s : sizes) count = ex_.apply("aten::mul.int", {count, s});
  const AbstractValue had = ex_.apply.numel_of(target);
  const bool known = count.is_constant_number() && had.is_constant_number();
  AbstractValue flat = call("aten::view", {target, ints({whole(-1)})});
  const bool fits = known && count.c.at(0).toInt() <= had.c.at(0).toInt();
  if (!fits) {
    if (!fills_storage(*target.tensor()))
      ex_.site.refuse("OE4025",
                      "resize_ of a view that shares memory, possibly beyond its elements",
                      "clone() it first");
    const AbstractValue none = AbstractValue::none();
    const AbstractValue more =
        ex_.apply("prim::max.int", {ex_.apply("aten::sub.int", {count, had}), whole(0)});
    const AbstractValue unset =
        ex_.apply("aten::new_zeros", {flat, ints({more}), none, none, none, none});
    flat =
        ex_.apply("aten::cat", {ex_.values.list({flat, unset}, c10::TensorType::get()), whole(0)});
  }
  flat = call("aten::slice.Tensor", {flat, whole(0), whole(0), count, whole(1)});
  const AbstractValue now = call("aten::view", {flat, ints(sizes)});
  if (fits)
    ex_.views.look_as(target.tensor(), *now.tensor());
  else
    move(target, now, true);
}

// The operators that do nothing but this; false for others.
bool Writes::resizes(const OpInfo& op, const std::vector<AbstractValue>& args) {
  const bool like = op.name == "aten::resize_as_";
  if (op.name == "aten::set_.source_Tensor") {
    const AbstractValue now = ex_.interpreter.call_operator("aten::detach", {args[1]});
    ex_.views.look_as(args[0].tensor(), *now.tensor());
    return true;
  }
  if (op.name != "aten::resize_" && !like) return false;
  if (!args[2].is(K::None) && args[2].c.at(0).toInt() != 0)
    ex_.site.refuse("OE4025", op.base + " to another memory format",
                    "call it without a memory format");
  const AbstractValue sizes = like ? ex_.apply.sizes_of(args[1]) : args[1];
  if (sizes.list()->is_open())
    ex_.site.refuse("OE4025", op.base + " to a number of axes that depends on the input",
                    "pass a fixed number of sizes");
  resize(args[0], sizes.list()->items);
  return true;
}

}  // namespace oe::capture
