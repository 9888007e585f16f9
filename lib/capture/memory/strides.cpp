// Sizes and strides of tensors as numbers of the graph, and views by strides.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// The axes in the order in which they lie in memory, outermost first.
std::vector<int64_t> memory_order(const at::Tensor& t) {
  std::vector<int64_t> order(static_cast<size_t>(t.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return order;
}

// The active world that says most about strides: axes of size 1 have any.
const at::Tensor& telling_example(const TensorValue& t, const Worlds& worlds) {
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

}  // namespace

// A size that the tensor has in either rank.
std::optional<AbstractValue> Apply::agreed_size(const TensorValue& t, int64_t axis) {
  if (!t.choice) return std::nullopt;
  std::array<std::optional<int64_t>, 2> known;
  for (size_t k = 0; k < 2; ++k) {
    const TensorValue& of = t.choice->of[k];
    const auto rank = static_cast<int64_t>(of.axes.size());
    if (!of.ranked || axis < -rank || axis >= rank) return std::nullopt;
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (of.axes[static_cast<size_t>(at)].is_static()) known[k] = example(of).size(at);
  }
  return known[0] && known[0] == known[1] ? std::optional(AbstractValue::of(*known[0]))
                                          : std::nullopt;
}

AbstractValue Apply::size_of(const AbstractValue& tensor, int64_t axis) {
  TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (!t->ranked) {
    if (const auto agreed = agreed_size(*t, axis)) return *agreed;
    AbstractValue s =
        (*this)(ex_.operators.named("aten::size.int"), {tensor, AbstractValue::of(axis)}).at(0);
    s.taint = join(s.taint, Taint::Shape);
    return s;
  }
  const auto rank = static_cast<int64_t>(t->axes.size());
  if (axis < -rank || axis >= rank)
    fail(ex_.worlds.first(), "Dimension out of range (expected to be in range of [" +
                                 std::to_string(-rank) + ", " + std::to_string(rank - 1) +
                                 "], but got " + std::to_string(axis) + ")");
  if (axis < 0) axis += rank;
  const Axis& a = t->axes[static_cast<size_t>(axis)];
  if (a.is_static()) return AbstractValue::of(t->c.at(ex_.worlds.first()).toTensor().size(axis));
  AbstractValue s;
  s.kind = K::Int;
  s.taint = a.taint;
  s.axis_id = a.id;
  s.c = ex_.worlds.map([&](size_t w) {
    return t->c.has(w) ? c10::IValue(t->c.at(w).toTensor().size(axis)) : c10::IValue();
  });
  if (ex_.recorder.on()) {
    s.recorded = ex_.recorder.size_of(a.id);
    if (!s.recorded) {
      program::Node* n =
          ex_.recorder.record("aten::size.int", {{ex_.recorder.value(t)}, {axis}}, ex_.site.here());
      s.recorded = ex_.recorder.add_output(n, program::Type::integer());
      ex_.recorder.remember_size(a.id, s.recorded);
      ex_.gradient.note(ex_.operators.named("aten::size.int"), {tensor, AbstractValue::of(axis)},
                        {s});
    }
  }
  return s;
}

AbstractValue Apply::sizes_of(const AbstractValue& tensor) {
  TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (!t->ranked) {
    AbstractValue sizes = (*this)("aten::_shape_as_tensor", {tensor});
    auto content = std::make_shared<TensorValue>(*ex_.views.read(sizes));
    content->sizes_of = t;
    AbstractValue list = ex_.values.list({}, c10::IntType::get());
    list.list()->open = ex_.values.tensor(std::move(content));
    return list;
  }
  std::vector<AbstractValue> items;
  for (size_t i = 0; i < t->axes.size(); ++i)
    items.push_back(size_of(tensor, static_cast<int64_t>(i)));
  return ex_.values.list(std::move(items), c10::IntType::get());
}

std::optional<AbstractValue> Apply::rank_of(const AbstractValue& tensor) {
  const TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (t->ranked || !t->choice) return std::nullopt;
  const RankChoice& choice = *t->choice;
  if (!choice.of[0].ranked || !choice.of[1].ranked) return std::nullopt;
  const auto rank = [&](size_t k) { return static_cast<int64_t>(choice.of[k].axes.size()); };
  AbstractValue out = (*this)("aten::dim", {tensor});
  out.choice = std::make_shared<const NumberChoice>(
      NumberChoice{choice.guard, {AbstractValue::of(rank(0)), AbstractValue::of(rank(1))}});
  return out;
}

AbstractValue Apply::numel_of(const AbstractValue& tensor) {
  TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (axes_taint(*t) == Taint::Constant)
    return AbstractValue::of(t->c.at(ex_.worlds.first()).toTensor().numel());
  return (*this)(ex_.operators.named("aten::numel"), {tensor}).at(0);
}

std::vector<AbstractValue> Views::strides_of(const AbstractValue& tensor) {
  const TensorValuePtr t = read(tensor.tensor());
  const std::vector<int64_t> order = memory_order(telling_example(*t, ex_.worlds));
  bool dense = t->ranked;
  ex_.worlds.each([&](size_t w) {
    if (t->c.has(w)) dense = dense && t->c.at(w).toTensor().permute(order).is_contiguous();
  });
  if (!dense)
    ex_.site.refuse("OE4029", "the strides of a tensor that is not dense in memory",
                    "call contiguous() first");
  std::vector<AbstractValue> strides(order.size());
  AbstractValue inner = AbstractValue::of(int64_t{1});
  for (size_t k = order.size(); k-- > 0;) {
    strides[static_cast<size_t>(order[k])] = inner;
    if (k > 0) inner = ex_.apply("aten::mul.int", {inner, ex_.apply.size_of(tensor, order[k])});
  }
  return strides;
}

// Nothing where all worlds agree.
std::optional<AbstractValue> Views::contiguity_of(const AbstractValue& tensor) {
  const TensorValuePtr t = read(tensor.tensor());
  bool yes = false, no = false;
  ex_.worlds.each([&](size_t w) {
    if (t->c.has(w)) (t->c.at(w).toTensor().is_contiguous() ? yes : no) = true;
  });
  if (yes != no || ex_.worlds.alone()) return std::nullopt;
  const bool contiguous = telling_example(*t, ex_.worlds).is_contiguous();
  ex_.assumed.say(std::string("the tensor is assumed to be ") + (contiguous ? "" : "not ") +
                  "contiguous, as it is at larger sizes");
  return AbstractValue::of(contiguous);
}

// as_strided looks at the memory under a tensor, not at the tensor: it is a view of the base.
AbstractValue Views::as_strided(const OpInfo& op, const std::vector<AbstractValue>& args) {
  if (op.base == "aten::as_strided_scatter") {
    const TensorValuePtr t = read(args[0].tensor());
    ex_.worlds.each([&](size_t w) {
      if (args[0].tensor()->parent || !t->c.at(w).toTensor().is_contiguous())
        ex_.site.refuse("OE4027",
                        "as_strided_scatter of a view, or of a tensor that is not contiguous",
                        "call clone(memory_format=torch.contiguous_format) first");
    });
    return ex_.apply(op, args).at(0);
  }
  auto root = args[0].tensor();
  bool fixed = true;  // the steps do the same in every run
  for (; root->parent; root = root->parent)
    for (const AbstractValue& s : root->step->args)
      fixed = fixed && ex_.apply.taint_of(s) == Taint::Constant;
  std::function<at::Tensor(const TensorHandle&, size_t)> look = [&](const TensorHandle& h,
                                                                    size_t w) {
    if (!h.parent) return h.storage->base->c.at(w).toTensor();
    at::Tensor parent = look(*h.parent, w);
    if (h.step->op.empty()) return parent;
    torch::jit::Stack stack{parent};
    for (const AbstractValue& s : h.step->args) stack.push_back(ex_.apply.value(s, w));
    ex_.operators.named(h.step->op).op->getOperation()(stack);
    return h.step->output < 0 ? stack[0].toTensor()
                              : stack[0].toTensorVector().at(static_cast<size_t>(h.step->output));
  };

  AbstractValue base = AbstractValue::of(anchor(root));
  const size_t w0 = ex_.worlds.first();
  const std::vector<int64_t> order = memory_order(look(*root, w0));
  int64_t offset = look(*args[0].tensor(), w0).storage_offset();
  ex_.worlds.each([&](size_t w) {
    if (!root->storage->base->c.has(w)) return;
    const at::Tensor memory = look(*root, w);
    if (memory.storage_offset() != 0 || !memory.permute(order).is_contiguous())
      ex_.site.refuse("OE4027", "as_strided of a tensor that is not dense in memory",
                      "call contiguous() first");
    fixed = fixed && look(*args[0].tensor(), w).storage_offset() == offset;
  });
  if (!std::is_sorted(order.begin(), order.end())) {
    std::vector<AbstractValue> dims;
    for (int64_t d : order) dims.push_back(AbstractValue::of(d));
    base = ex_.interpreter.call_operator("aten::permute",
                                         {base, ex_.values.list(dims, c10::IntType::get())});
  }
  AbstractValue start = args[3];
  if (start.is(K::None)) {
    if (!fixed)
      ex_.site.refuse("OE4028",
                      "as_strided starts at the offset of its tensor, which depends on the input",
                      "pass storage_offset to as_strided");
    start = AbstractValue::of(offset);
  }
  const std::vector<AbstractValue> of_memory = {base, args[1], args[2], start};
  if (args[0].tensor() != root && ex_.gradient.has_rules(op, of_memory))
    ex_.worlds.each([&](size_t w) {
      if (root->storage->base->c.has(w) &&
          look(*args[0].tensor(), w).numel() != look(*root, w).numel())
        ex_.site.refuse("OE4063",
                        "no derivative is known of aten::as_strided of a part of a tensor",
                        "take the part of a clone()");
    });
  std::vector<AbstractValue> out = ex_.apply(op, of_memory);
  if (op.base != "aten::as_strided_copy") alias_outputs(op, of_memory, out);
  return out[0];
}

}  // namespace oe::capture
