// Operators whose arguments tell what an input is.
#include "lib/infer/choosing.h"

#include <algorithm>

namespace oe::infer {
namespace {

// The index operand, and the operand with the axis (or the number itself) that gives the count.
struct Chooses {
  const char* op;
  size_t index, from;
  int64_t axis;  // -1: the operand is the number; -2: the axis that operand 1 names
};
constexpr Chooses kChooses[] = {
    {"aten::embedding", 1, 0, 0},     {"aten::embedding_bag", 1, 0, 0}, {"aten::one_hot", 0, 1, -1},
    {"aten::index_select", 2, 0, -2}, {"aten::gather", 2, 0, -2},       {"aten::take", 1, 0, 0},
};

}  // namespace

std::optional<Choosing> choosing(const std::string& op, const torch::jit::Stack& arguments) {
  const auto* c = std::ranges::find_if(kChooses, [&](const Chooses& row) { return op == row.op; });
  if (c == std::end(kChooses) || arguments.size() <= std::max(c->index, c->from) ||
      !arguments[c->index].isTensor() || !arguments[c->index].toTensor().defined())
    return std::nullopt;
  int64_t count = -1;
  if (c->axis == -1) {
    count = arguments[c->from].isInt() ? arguments[c->from].toInt() : -1;
  } else if (arguments[c->from].isTensor()) {
    const int64_t axis =
        c->axis == -2 ? (arguments[1].isInt() ? arguments[1].toInt() : 0) : c->axis;
    const at::Tensor from = arguments[c->from].toTensor();
    if (axis >= -from.dim() && axis < from.dim()) count = from.size(axis);
  }
  return count < 0 ? std::nullopt : std::optional(Choosing{c->index, count});
}

double number_in(const c10::IValue& v) {
  if (v.isInt() || v.isDouble()) return v.toScalar().toDouble();
  if (v.isTensor() && v.toTensor().numel() == 1 && !v.toTensor().is_meta())
    return v.toTensor().item().toDouble();
  return 0;
}

}  // namespace oe::infer
