#include "opsets/ort_norms.h"

#include "opsets/rung.h"

namespace oe::opsets {
namespace {

const ir::Node* made_by(const ir::Value* v, std::string_view op) {
  return v && v->producer && v->producer->is(op) ? v->producer : nullptr;
}

bool keeps_dims(const ir::Node& mean) {
  return mean.attributes.get_or<int64_t>("keepdims", 1) == 1;
}

std::optional<Ints> axes(const ir::Node& mean) {
  if (const Ints* a = mean.attributes.get<Ints>("axes")) return *a;
  return mean.input(1) ? ints(mean.input(1)) : std::nullopt;
}

// x minus its mean along the axes of `mean`.
bool is_deviation(const ir::Node& difference, const ir::Node& mean) {
  const ir::Node* of = made_by(difference.inputs[1], "ReduceMean");
  return of && of->inputs[0] == difference.inputs[0] && keeps_dims(*of) && axes(*of) == axes(mean);
}

// Whether y = x / root, or root / x where `reversed`, looks like a norm and is none.
bool is_lookalike(const ir::Value* x, const ir::Node& root, bool reversed) {
  const ir::Node* sum = made_by(root.inputs[0], "Add");
  if (!sum) return false;
  for (const ir::Value* v : sum->inputs) {
    const ir::Node* mean = made_by(v, "ReduceMean");
    const ir::Node* power = mean ? made_by(mean->inputs[0], "Pow") : nullptr;
    if (!power) continue;
    const ir::Value* base = power->inputs[0];
    const ir::Node *difference = made_by(x, "Sub"), *other = made_by(base, "Sub");
    const bool is_square = keeps_dims(*mean) && scalar(power->inputs[1]) == 2.0;
    if (difference && other)
      return reversed || x != base || !is_square || !is_deviation(*difference, *mean);
    return x == base && !reversed && !is_square;
  }
  return false;
}

}  // namespace

bool is_fused_as_norm(const ir::Node& n) {
  const ir::Node *left = made_by(n.inputs[0], "Sqrt"), *right = made_by(n.inputs[1], "Sqrt");
  if (right) return is_lookalike(n.inputs[0], *right, false);
  return left && is_lookalike(n.inputs[1], *left, true);
}

}  // namespace oe::opsets
