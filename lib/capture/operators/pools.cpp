// Pooling over whole axes: `avg_pool2d(x, x.size()[2:])`, whose windows ONNX cannot compute.
#include <algorithm>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

const AbstractValue* argument(const OpInfo& op, const std::vector<AbstractValue>& args,
                              const char* name) {
  const auto i = op.schema->argumentIndexWithName(name);
  return i ? &args[static_cast<size_t>(*i)] : nullptr;
}

// Entry i of an int[n] in which one number stands for all.
const AbstractValue* entry(const AbstractValue* list, size_t i) {
  if (!list || !list->is(K::List) || list->list()->is_open() || list->list()->items.empty())
    return nullptr;
  const auto& items = list->list()->items;
  return &items[items.size() == 1 ? 0 : std::min(i, items.size() - 1)];
}

bool is(const AbstractValue* s, int64_t n) {
  return s && s->is_constant_number() && s->c.at(0).toInt() == n;
}

}  // namespace

// A window as long as its axis is that axis reduced: one after the other, because maximum and mean
// can be taken axis by axis. Nothing where the windows are known.
std::optional<std::vector<AbstractValue>> Interpreter::call_pool(
    const OpInfo& op, const std::vector<AbstractValue>& args) {
  const bool mean = op.base.starts_with("aten::avg_pool");
  if ((!mean && !op.base.starts_with("aten::max_pool")) || op.base.ends_with("_with_indices") ||
      op.schema->is_mutable() || ex_.worlds.alone() || !args[0].is(K::Tensor))
    return std::nullopt;
  const TensorValuePtr x = ex_.views.read(args[0]);
  const auto axes = static_cast<size_t>(op.base.back() == 'd' ? op.base.end()[-2] - '0' : 0);
  if (!axes || !x->ranked || x->axes.size() < axes + 1 || x->axes.size() > axes + 2)
    return std::nullopt;
  const size_t first = x->axes.size() - axes;
  const AbstractValue* divisor = argument(op, args, "divisor_override");
  if (divisor && !divisor->is(K::None)) return std::nullopt;

  std::vector<AbstractValue> dims, kernel, stride, padding, dilation;
  for (size_t i = 0; i < axes; ++i) {
    const AbstractValue* size = entry(argument(op, args, "kernel_size"), i);
    const AbstractValue* step = entry(argument(op, args, "stride"), i);
    const AbstractValue* pad = entry(argument(op, args, "padding"), i);
    const AbstractValue* gap = entry(argument(op, args, "dilation"), i);
    if (!size || !pad || (!mean && !gap)) return std::nullopt;
    const Axis& axis = x->axes[first + i];
    const bool whole = !axis.is_static() && size->axis_id && size->axis_id == axis.id &&
                       is(pad, 0) && (mean || is(gap, 1));
    const AbstractValue one = AbstractValue::of(int64_t{1});
    if (whole) dims.push_back(AbstractValue::of(static_cast<int64_t>(first + i)));
    kernel.push_back(whole ? one : *size);
    stride.push_back(whole ? one : step ? *step : *size);
    padding.push_back(*pad);
    if (gap) dilation.push_back(*gap);
  }
  if (dims.empty()) return std::nullopt;
  ex_.apply.attempt(op, args);
  const bool all = dims.size() == axes;
  const auto ints = [&](std::vector<AbstractValue> v) {
    return ex_.values.list(std::move(v), c10::IntType::get());
  };
  const AbstractValue keep = AbstractValue::of(true);
  const AbstractValue now =
      mean ? ex_.apply("aten::mean.dim", {args[0], ints(dims), keep, AbstractValue::none()})
           : ex_.apply("aten::amax", {args[0], ints(dims), keep});
  if (all) return std::vector<AbstractValue>{now};
  std::vector<AbstractValue> rest = args;
  const auto put = [&](const char* name, std::vector<AbstractValue> v) {
    rest[static_cast<size_t>(*op.schema->argumentIndexWithName(name))] = ints(std::move(v));
  };
  rest[0] = now;
  put("kernel_size", kernel);
  put("stride", stride);
  put("padding", padding);
  if (!mean) put("dilation", dilation);
  return call_operator(op, rest);
}

}  // namespace oe::capture
