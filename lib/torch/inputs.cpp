// Example inputs from SPECs, files and what a traced file knows; the method's input tree.
#include "lib/torch/inputs.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/support/text.h"
#include "lib/torch/alternatives.h"
#include "lib/torch/axes.h"
#include "lib/torch/convert.h"
#include "lib/torch/copies.h"
#include "lib/torch/input_tree.h"
#include "lib/torch/values.h"

namespace oe::torch_io {
namespace {

// Calls f(leaf) for tensors and numbers in flattening order and puts what it returns in their
// place.
c10::IValue map_leaves(const c10::IValue& v,
                       const std::function<c10::IValue(const c10::IValue&)>& f) {
  if (v.isTensor() || v.isInt() || v.isDouble() || v.isBool()) return f(v);
  if (v.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& e : v.toTupleRef().elements()) elements.push_back(map_leaves(e, f));
    return c10::ivalue::Tuple::createNamed(std::move(elements), v.type()->expect<c10::TupleType>());
  }
  if (v.isList()) {
    c10::impl::GenericList list(v.type()->expectRef<c10::ListType>().getElementType());
    for (const c10::IValue& e : v.toListRef()) list.push_back(map_leaves(e, f));
    return list;
  }
  if (v.isGenericDict()) {
    const auto t = v.type()->expect<c10::DictType>();
    c10::impl::GenericDict dict(t->getKeyType(), t->getValueType());
    for (const auto& e : v.toGenericDict()) dict.insert(e.key(), map_leaves(e.value(), f));
    return dict;
  }
  return v;
}

// Another number near the example's, of the same sign: trip counts must stay trip counts.
c10::IValue other_number(const c10::IValue& v, uint64_t seed) {
  if (v.isBool()) return (seed & 1) != 0;
  const auto step = static_cast<int64_t>(seed % 5) - 1;  // -1 .. 3
  if (v.isDouble()) return v.toDouble() * (1.0 + 0.25 * static_cast<double>(step));
  const int64_t n = v.toInt();
  if (n > 0) return std::max<int64_t>(1, n + step);
  return n < 0 ? std::min<int64_t>(-1, n - step) : std::max<int64_t>(0, step);
}

double varied(double v, const Variation& how) {
  switch (how.kind) {
    case Variation::Kind::None:
      return v;
    case Variation::Kind::Fill:
      return how.value;
    case Variation::Kind::Positive:
      return std::abs(v);
    case Variation::Kind::Negative:
      return -std::abs(v);
    case Variation::Kind::Scale:
      return v * how.value;
    case Variation::Kind::Place:
      return how.value;
  }
  return v;
}

at::Tensor varied(const at::Tensor& t, const Variation& how) {
  if (t.scalar_type() == at::kBool && how.kind != Variation::Kind::Fill) return t;
  switch (how.kind) {
    case Variation::Kind::None:
      return t;
    case Variation::Kind::Fill:
      return at::full_like(t, how.value);
    case Variation::Kind::Positive:
      return at::abs(t);
    case Variation::Kind::Negative:
      return at::neg(at::abs(t));
    case Variation::Kind::Scale:
      return at::mul(t, how.value).to(t.scalar_type());
    case Variation::Kind::Place: {
      if (t.numel() == 0) return t;
      const at::Tensor changed = t.clone(at::MemoryFormat::Contiguous);
      changed.view(-1).select(0, t.numel() / 2).fill_(how.value);
      return changed;
    }
  }
  return t;
}

c10::IValue varied(const c10::IValue& v, const Variation& how) {
  if (how.kind == Variation::Kind::None) return v;
  if (v.isTensor()) return varied(v.toTensor(), how);
  if (v.isBool()) return varied(v.toBool() ? 1.0 : 0.0, how) != 0;
  if (v.isInt()) return static_cast<int64_t>(varied(static_cast<double>(v.toInt()), how));
  return varied(v.toDouble(), how);
}

void move_to(c10::Device device, ExampleInputs& e) {
  if (device.is_cpu()) return;
  const auto move = [&](c10::IValue& v) { v = deep_copy(v, device); };
  std::ranges::for_each(e.arguments, move);
  for (std::vector<c10::IValue>& further : e.alternatives) std::ranges::for_each(further, move);
  const std::vector<c10::IValue> values = leaf_values(e, e.arguments);
  for (size_t i = 0; i < e.leaves.size(); ++i) e.leaves[i].value = values.at(i);
}

}  // namespace

ExampleInputs make_inputs(const InputOptions& o, const Loaded& m, ExampleFiles& files) {
  BuiltArguments built = build_arguments(o, m, files);
  name_axes(o, built.leaf_specs, built.inputs);
  add_alternatives(o, m, files, built.specs, built.inputs);
  move_to(m.device, built.inputs);
  return std::move(built.inputs);
}

std::vector<Argument> arguments_of(const Loaded& m) {
  std::vector<Argument> out;
  for (const c10::Argument& a : m.module.get_method(m.method).function().getSchema().arguments()) {
    const c10::IValue v = a.default_value().value_or(c10::IValue());
    out.push_back({a.name(), v.isBool()     ? (v.toBool() ? "true" : "false")
                             : v.isInt()    ? std::to_string(v.toInt())
                             : v.isDouble() ? float_text(v.toDouble())
                                            : ""});
  }
  out.erase(out.begin());
  return out;
}

std::vector<c10::IValue> resized_inputs(const ExampleInputs& e,
                                        const std::vector<std::vector<int64_t>>& sizes,
                                        uint64_t seed) {
  std::vector<c10::IValue> arguments;
  LeafOrder order(e);
  for (size_t i = 0; i < e.arguments.size(); ++i) {
    if (!order.enter(i)) {
      arguments.push_back(deep_copy(e.arguments[i]));
      continue;
    }
    arguments.push_back(map_leaves(e.arguments[i], [&](const c10::IValue& v) -> c10::IValue {
      const std::optional<size_t> at = order.next();
      if (!at) return deep_copy(v);
      const InputLeaf& leaf = e.leaves[*at];
      const std::vector<int64_t>& size = sizes.at(*at);
      const uint64_t own_seed = leaf_seed(seed, *at);
      if (!v.isTensor())
        return seed == e.options.seed || leaf.fixed
                   ? v
                   : number_in(other_number(v, own_seed), leaf.number_type);
      const at::Tensor& t = v.toTensor();
      if (leaf.fixed || (seed == e.options.seed && t.sizes().vec() == size)) return t.clone();
      return random_like(t, size, leaf.normal, leaf.range, own_seed).to(t.device());
    }));
  }
  return arguments;
}

std::vector<c10::IValue> drawn_arguments(const ExampleInputs& e, const Draw& draw) {
  std::vector<c10::IValue> arguments = resized_inputs(e, draw.sizes, draw.seed);
  if (draw.variations.empty()) return arguments;
  LeafOrder order(e);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!order.enter(i)) continue;
    arguments[i] = map_leaves(arguments[i], [&](const c10::IValue& v) -> c10::IValue {
      const std::optional<size_t> at = order.next();
      if (!at || e.leaves[*at].fixed) return v;
      return number_in(varied(v, draw.variations.at(*at)), e.leaves[*at].number_type);
    });
  }
  return arguments;
}

c10::IValue as_input(const InputLeaf& leaf, const c10::IValue& v) {
  return leaf.number_type == DType::Undefined ? v : number_tensor(v, leaf.number_type);
}

std::vector<c10::IValue> leaf_values(const ExampleInputs& e,
                                     const std::vector<c10::IValue>& arguments) {
  std::vector<c10::IValue> values;
  LeafOrder order(e);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!order.enter(i)) continue;
    map_leaves(arguments[i], [&](const c10::IValue& v) {
      if (order.next()) values.push_back(v);
      return v;
    });
  }
  return values;
}

}  // namespace oe::torch_io
