// What takes a quantized tensor apart, what only moves its elements, and what is refused.
#include "lib/capture/operators/quantized.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/q_per_channel_axis.h>
#include <ATen/ops/q_per_channel_scales.h>
#include <ATen/ops/q_per_channel_zero_points.h>
#include <ATen/ops/q_scale.h>
#include <ATen/ops/q_zero_point.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "lib/capture/executor.h"
#include "lib/torch/convert.h"

namespace oe::capture {
namespace {

// The result has elements of the argument, with its scale and zero point. The order of integers is
// that of the numbers, so that choosing the largest is among them.
bool only_moves(const std::string& base) {
  static const std::unordered_set<std::string_view> names = {
      "aten::alias",
      "aten::as_strided",
      "aten::channel_shuffle",
      "aten::chunk",
      "aten::clone",
      "aten::contiguous",
      "aten::cpu",
      "aten::detach",
      "aten::dropout",
      "aten::expand",
      "aten::expand_as",
      "aten::feature_dropout",
      "aten::flatten",
      "aten::flip",
      "aten::index",
      "aten::index_select",
      "aten::max_pool1d",
      "aten::max_pool2d",
      "aten::max_pool3d",
      "aten::movedim",
      "aten::narrow",
      "aten::native_channel_shuffle",
      "aten::permute",
      "aten::pixel_shuffle",
      "aten::pixel_unshuffle",
      "aten::reflection_pad1d",
      "aten::reflection_pad2d",
      "aten::repeat",
      "aten::reshape",
      "aten::reshape_as",
      "aten::select",
      "aten::slice",
      "aten::sort",
      "aten::split",
      "aten::split_with_sizes",
      "aten::squeeze",
      "aten::swapaxes",
      "aten::t",
      "aten::to",
      "aten::topk",
      "aten::transpose",
      "aten::unbind",
      "aten::unflatten",
      "aten::unfold",
      "aten::unsqueeze",
      "aten::upsample_nearest1d",
      "aten::upsample_nearest2d",
      "aten::upsample_nearest3d",
      "aten::_upsample_nearest_exact1d",
      "aten::_upsample_nearest_exact2d",
      "aten::_upsample_nearest_exact3d",
      "aten::view",
      "aten::view_as",
  };
  return names.contains(base);
}

// Of those the ones that leave every axis where it is.
bool keeps_axes(const std::string& base) {
  return base == "aten::alias" || base == "aten::clone" || base == "aten::contiguous" ||
         base == "aten::cpu" || base == "aten::detach" || base == "aten::dropout" ||
         base == "aten::feature_dropout" || base == "aten::to";
}

// Sizes are those of the integers.
bool asks_sizes(const std::string& base) {
  return base == "aten::size" || base == "aten::numel" || base == "aten::stride" ||
         base == "aten::len" || base == "aten::storage_offset";
}

bool same_number(const AbstractValue& a, const AbstractValue& b) {
  return a.is_constant_number() && b.is_constant_number() && a.c.at(0) == b.c.at(0);
}

}  // namespace

bool Quantized::is_quantized(const AbstractValue& s) {
  if (s.is(K::Tensor)) return example(*ex_.views.read(s)).is_quantized();
  if (s.is(K::List) && !s.list()->is_open())
    return std::ranges::any_of(s.list()->items,
                               [this](const AbstractValue& e) { return is_quantized(e); });
  return false;
}

bool Quantized::among(const std::vector<AbstractValue>& args) {
  return std::ranges::any_of(args, [this](const AbstractValue& a) { return is_quantized(a); });
}

bool Quantized::relabels(const OpInfo& op) {
  return op.base == "aten::int_repr" || op.base == "aten::_make_per_tensor_quantized_tensor" ||
         op.base == "aten::_make_per_channel_quantized_tensor";
}

std::shared_ptr<const Quantizer> Quantized::of(const TensorValue& t) {
  if (t.quantizer) return t.quantizer;
  if (t.taint != Taint::Constant)
    ex_.site.refuse("OE3060", "the scale of this quantized tensor is not known here",
                    "quantize it where it is used");
  const at::Tensor& q = example(t);
  const auto made = std::make_shared<Quantizer>();
  if (q.qscheme() == at::kPerTensorAffine) {
    made->scale = AbstractValue::of(at::q_scale(q));
    made->zero_point = AbstractValue::of(at::q_zero_point(q));
  } else {
    made->scale = ex_.values.kept_constant(at::q_per_channel_scales(q), "");
    made->zero_point = ex_.values.kept_constant(at::q_per_channel_zero_points(q), "");
    made->axis = at::q_per_channel_axis(q);
  }
  return made;
}

// Refused where the operator is none that only moves elements.
std::shared_ptr<const Quantizer> Quantized::of_result(const OpInfo& op,
                                                      const std::vector<AbstractValue>& args) {
  if (relabels(op) && op.base != "aten::int_repr") {
    auto made = std::make_shared<Quantizer>(Quantizer{args[1], args[2], std::nullopt});
    if (args.size() > 3) made->axis = ex_.apply.known_int(args[3], "the axis of the channels");
    return made;
  }
  if (!args.empty() && args[0].is(K::Tensor) && is_quantized(args[0])) {
    auto own = of(*ex_.views.read(args[0]));
    if (only_moves(op.base) && (!own->axis || keeps_axes(op.base))) return own;
  }
  ex_.site.refuse("OE3061", op.base + " on quantized tensors cannot be converted",
                  "dequantize before it and quantize after it");
}

std::string Quantized::describe(const AbstractValue& s) {
  if (!is_quantized(s)) return {};
  const auto own = of(*ex_.views.read(s));
  if (!own->scale.is_constant_number() || !own->zero_point.is_constant_number())
    return "of a scale that is computed";
  std::ostringstream text;
  text << "of scale " << own->scale.c.at(0).toDouble() << " and zero point "
       << own->zero_point.c.at(0).toInt();
  return text.str();
}

std::shared_ptr<const Quantizer> Quantized::joined(const TensorValue& a, const TensorValue& b) {
  if (!example(a).is_quantized()) return nullptr;
  const auto x = of(a), y = of(b);
  const bool same = x->axis == y->axis && !x->axis && same_number(x->scale, y->scale) &&
                    same_number(x->zero_point, y->zero_point);
  if (!same)
    ex_.site.cannot_join("OE3062", "a quantized tensor has different scales on two paths",
                         "dequantize it before the paths meet");
  return x;
}

AbstractValue Quantized::integers(const AbstractValue& q) {
  return ex_.apply("aten::int_repr", {q});
}

AbstractValue Quantized::dequantized(const AbstractValue& q) {
  if (!is_quantized(q))
    return ex_.apply("aten::to.dtype", {q, AbstractValue::of(int64_t{6}), AbstractValue::of(false),
                                        AbstractValue::of(false), AbstractValue::none()});
  const TensorValuePtr t = ex_.views.read(q);
  const auto own = of(*t);
  const c10::ScalarType type = c10::toUnderlying(example(*t).scalar_type());
  const bool is_byte = type == c10::ScalarType::Byte, wide = type == c10::ScalarType::Int;
  const int64_t low = is_byte ? 0 : wide ? INT32_MIN : -128;
  const int64_t high = is_byte ? 255 : wide ? INT32_MAX : 127;
  std::vector<AbstractValue> args = {integers(q), own->scale, own->zero_point};
  if (own->axis) args.push_back(AbstractValue::of(*own->axis));
  for (int64_t n : {low, high, static_cast<int64_t>(type)}) args.push_back(AbstractValue::of(n));
  args.push_back(AbstractValue::none());
  return ex_.apply(own->axis ? "quantized_decomposed::dequantize_per_channel"
                             : "quantized_decomposed::dequantize_per_tensor",
                   args);
}

std::optional<std::vector<AbstractValue>> Quantized::call(const OpInfo& op,
                                                          const std::vector<AbstractValue>& args) {
  if (args.empty()) return std::nullopt;
  const bool any = among(args);
  if (op.base == "aten::dequantize" &&
      (any || ex_.apply.content_taint(op, args) != Taint::Constant)) {
    // Of a quantized constant too: the file holds the integers. Of others a float.
    if (!args[0].is(K::List)) return std::vector<AbstractValue>{dequantized(args[0])};
    std::vector<AbstractValue> items;
    for (const AbstractValue& e : args[0].list()->items) items.push_back(dequantized(e));
    return std::vector<AbstractValue>{ex_.values.list(std::move(items), args[0].list()->element)};
  }
  if (!any) return std::nullopt;
  const bool first = is_quantized(args[0]) && args[0].is(K::Tensor);
  if (first && op.base.starts_with("aten::q_") && op.base != "aten::q_per_channel_axis") {
    const auto own = of(*ex_.views.read(args[0]));
    const bool scale = op.base == "aten::q_scale" || op.base == "aten::q_per_channel_scales";
    return std::vector<AbstractValue>{scale ? own->scale : own->zero_point};
  }
  if (ex_.apply.content_taint(op, args) == Taint::Constant || asks_sizes(op.base) || relabels(op) ||
      (first && only_moves(op.base)))
    return std::nullopt;
  of_result(op, args);  // refuses
  return std::nullopt;
}

}  // namespace oe::capture
