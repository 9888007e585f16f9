// Axes of reductions, and of operators that change the size of one axis.
#include <algorithm>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

Axes along(const AxisCall& c) {
  if (!c.arg("self")) return std::nullopt;  // repeat_interleave(repeats)
  const TensorValue& in = c.self();
  const AbstractValue* dim = c.arg("dim");
  if (!dim) dim = c.arg("dimension");
  if (!dim || !dim->is(K::Int) || !dim->is_constant_number()) return std::nullopt;
  if (in.axes.empty()) return std::nullopt;
  const size_t at = wrapped(dim->c.at(0).toInt(), in.axes.size());
  std::vector<Axis> axes = in.axes;
  if (c.op.base == "aten::topk") {
    axes[at] = c.number(*c.arg("k"));
    return axes;
  }
  Taint t = axes[at].taint;
  for (const AbstractValue& a : c.args)
    if (&a != c.arg("self")) t = join(t, a.is(K::Tensor) ? c.read(a)->taint : a.taint);
  axes[at] = c.sized_by(t);
  if (c.op.base == "aten::unfold") axes.push_back(c.number(*c.arg("size")));
  return axes;
}

constexpr AxisRow kReductions[] = {
    {"aten::sum", reduced},
    {"aten::mean", reduced},
    {"aten::prod", reduced},
    {"aten::amax", reduced},
    {"aten::amin", reduced},
    {"aten::max", reduced},
    {"aten::min", reduced},
    {"aten::argmax", reduced},
    {"aten::argmin", reduced},
    {"aten::any", reduced},
    {"aten::all", reduced},
    {"aten::std", reduced},
    {"aten::var", reduced},
    {"aten::nuclear_norm", reduced},
    {"aten::linalg_vector_norm", reduced},
    {"aten::logsumexp", reduced},
    {"aten::median", reduced},
    {"aten::nanmedian", reduced},
    {"aten::mode", reduced},
    {"aten::nansum", reduced},
    {"aten::nanmean", reduced},
    {"aten::count_nonzero", reduced},
    {"aten::aminmax", reduced},
    {"aten::kthvalue", reduced},
    {"aten::quantile", reduced},
    {"aten::topk", along},
    {"aten::diff", along},
    {"aten::glu", along},
    {"aten::unfold", along},
    {"aten::repeat_interleave", along, "repeats"},
};

}  // namespace

Axes reduced(const AxisCall& c) {
  const TensorValue& in = c.self();
  if (c.arg("other")) return by_sizes(c);
  const AbstractValue* dim = c.arg("dim");
  std::vector<bool> reduced(in.axes.size(), true);
  if (dim && !dim->is(K::None) && !(dim->is(K::List) && dim->list()->items.empty())) {
    std::fill(reduced.begin(), reduced.end(), false);
    std::vector<AbstractValue> dims =
        dim->is(K::List) ? dim->list()->items : std::vector<AbstractValue>{*dim};
    for (const AbstractValue& d : dims) {
      if (!d.is(K::Int) || !d.is_constant_number()) return std::nullopt;
      if (!in.axes.empty()) reduced[wrapped(d.c.at(0).toInt(), in.axes.size())] = true;
    }
  }
  const bool keep = c.constant("keepdim").value_or(0) != 0;
  std::vector<Axis> axes;
  if (const AbstractValue* q = c.arg("q"); q && q->is(K::Tensor))
    axes = c.read(*q)->axes;  // quantile
  for (size_t i = 0; i < in.axes.size(); ++i) {
    if (!reduced[i])
      axes.push_back(in.axes[i]);
    else if (keep)
      axes.push_back({});
  }
  return axes;
}

std::span<const AxisRow> reduction_axes() { return kReductions; }

}  // namespace oe::capture
