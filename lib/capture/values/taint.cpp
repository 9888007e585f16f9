// What a value, and what the result of an operator, may change with.
#include <span>
#include <string>
#include <unordered_set>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// Results that say nothing about elements or sizes: always constants.
const std::unordered_set<std::string>& metadata() {
  static const std::unordered_set<std::string> names = {"aten::dim",
                                                        "aten::is_floating_point",
                                                        "aten::is_complex",
                                                        "prim::dtype",
                                                        "prim::device",
                                                        "prim::layout",
                                                        "prim::is_cuda",
                                                        "prim::is_cpu",
                                                        "prim::requires_grad",
                                                        "prim::is_quantized",
                                                        "aten::qscheme",
                                                        "aten::q_per_channel_axis",
                                                        "prim::is_sparse",
                                                        "prim::is_mkldnn",
                                                        "prim::is_mps",
                                                        "prim::is_xpu",
                                                        "prim::is_nested",
                                                        "prim::is_meta",
                                                        "aten::result_type",
                                                        "aten::element_size",
                                                        "aten::get_device",
                                                        "aten::is_signed",
                                                        "aten::is_leaf",
                                                        "aten::is_inference",
                                                        "aten::is_contiguous",
                                                        "aten::is_pinned",
                                                        "aten::is_grad_enabled",
                                                        "aten::is_autocast_enabled",
                                                        "aten::is_autocast_cpu_enabled",
                                                        "prim::is_xla",
                                                        "prim::is_ipu",
                                                        "prim::is_maia",
                                                        "prim::is_vulkan",
                                                        "aten::is_conj",
                                                        "aten::is_neg",
                                                        "prim::type",
                                                        "aten::is_scripting"};
  return names;
}

// Results that depend on the sizes of tensor arguments but not on their elements.
bool content_free(const std::string& base) {
  static const std::unordered_set<std::string> names = {
      "aten::numel",           "aten::stride",
      "aten::storage_offset",  "aten::is_same_size",
      "aten::zeros_like",      "aten::ones_like",
      "aten::full_like",       "aten::empty_like",
      "aten::rand_like",       "aten::randn_like",
      "aten::randint_like",    "aten::new_zeros",
      "aten::new_ones",        "aten::new_full",
      "aten::new_empty",       "aten::new_empty_strided",
      "aten::_shape_as_tensor"};
  return names.contains(base);
}

}  // namespace

Taint Apply::taint_of(const AbstractValue& s) {
  switch (s.kind) {
    case K::Tensor:
      return ex_.views.read(s.tensor())->taint;
    case K::List: {
      if (s.list()->is_open()) return Taint::Data;
      Taint t = Taint::Constant;
      for (const AbstractValue& e : s.list()->items) t = join(t, taint_of(e));
      return t;
    }
    case K::Sequence:
    case K::ViewList:
      return Taint::Data;
    case K::Maybe:
    case K::Tuple: {
      Taint t = Taint::Constant;
      for (const AbstractValue& e : s.tuple()) t = join(t, taint_of(e));
      return t;
    }
    case K::Dict: {
      Taint t = Taint::Constant;
      for (const auto& [k, v] : s.dict()->items) t = join(t, taint_of(v));
      return t;
    }
    default:
      return s.taint;
  }
}

Taint Apply::content_taint(const OpInfo& op, const std::vector<AbstractValue>& args) {
  if (op.base == "aten::dim" && !ex_.views.read(args[0].tensor())->ranked) return Taint::Data;
  if (metadata().contains(op.base)) return Taint::Constant;
  const bool sizes_only = content_free(op.base);
  const bool type_only = op.base.starts_with("aten::new_");  // is all they take from their tensor
  Taint t = Taint::Constant;
  for (const AbstractValue& a : std::span(args).subspan(type_only ? 1 : 0))
    t = join(t,
             sizes_only && a.is(K::Tensor) ? axes_taint(*ex_.views.read(a.tensor())) : taint_of(a));
  return t;
}

// Operators like dropout are tagged random but draw nothing in inference.
bool Apply::is_random(const OpInfo& op, const std::vector<AbstractValue>& args) const {
  if (!op.random) return false;
  for (const char* flag : {"train", "training"})
    if (auto i = op.schema->argumentIndexWithName(flag))
      return !(args[*i].is_constant_number() && !args[*i].c.at(0).toBool());
  for (const char* p : {"dropout_p", "dropout"})
    if (auto i = op.schema->argumentIndexWithName(p))
      return !(args[*i].is_constant_number() && args[*i].c.at(0).toDouble() == 0);
  return true;
}

}  // namespace oe::capture
