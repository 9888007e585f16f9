// Padding with computed indices or by concatenation, and the ceil mode of pooling.
#include <algorithm>
#include <cstdlib>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

// One axis of a padding: how much on either side, as 0-d int64.
struct Sides {
  T low = nullptr, high = nullptr;
};

Sides sides_of(Rewriter& r, T pads, size_t index, size_t count) {
  if (const auto known = ints(pads))
    return {r.i64((*known)[index]), r.i64((*known)[index + count])};
  const auto at = [&](size_t i) { return gather(pads, r.i64(static_cast<int64_t>(i)), 0); };
  return {at(index), at(index + count)};
}

bool is_zero(T v) { return scalar(v) == 0.0; }

// |v|, folded where v is constant.
T absolute(Rewriter& r, T v) {
  if (auto known = ints(v)) {
    for (int64_t& i : *known) i = std::abs(i);
    return r.i64s(*known);
  }
  return abs(v);
}

T modulo(Rewriter& r, T v, T by) {
  const auto known = ints(v), d = ints(by);
  if (known && d && d->at(0) > 0) {
    Ints out;
    for (int64_t i : *known) out.push_back(((i % d->at(0)) + d->at(0)) % d->at(0));
    return r.i64s(out);
  }
  if (r.below() >= 10) return node("Mod", {v, by});
  throw Unsupported("needs opset 10 or later where the sizes are not known", 10);
}

}  // namespace

void pad_by_index(Rewriter& r, ir::Node& n) {
  T x = r.in(0), pads = r.in(1);
  const auto mode = n.attributes.get_or<std::string>("mode", "constant");
  const int64_t rank = x.rank();
  Ints axes;
  if (T given = r.in(3)) {
    const auto known = ints(given);
    if (!known) throw Unsupported("needs opset 19 or later where the axes are computed");
    axes = *known;
  } else {
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
  }
  T y = x, zero = r.i64(0), one = r.i64(1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = wrapped(axes[i], rank);
    const Sides side = sides_of(r, pads, i, axes.size());
    if (is_zero(side.low) && is_zero(side.high)) continue;
    T length = size(x, axis), last = length - one;
    T count = length + side.low + side.high;
    T at = arange(count) - side.low;
    if (mode == "wrap") {
      at = modulo(r, at, length);
    } else if (mode == "edge") {
      at = clamp(r, at, zero, last);
    } else {
      // Back and forth with period 2 (size - 1); an axis of size 1 repeats its only element.
      T period = clamp(r, last * 2, one, nullptr);
      T phase = modulo(r, absolute(r, at), period);
      at = last - absolute(r, last - phase);
    }
    y = gather(y, at, axis);
  }
  r.bind(n.outputs[0], y);
}

T pad_by_concat(Rewriter& r, T x, T pads, T value) {
  const int64_t rank = x.rank();
  T zero = r.i64(0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Sides side = sides_of(r, pads, static_cast<size_t>(axis), static_cast<size_t>(rank));
    const auto low = ints(side.low), high = ints(side.high);
    // A negative pad cuts off.
    const auto cut = [&](T pad) { return clamp(r, zero - pad, zero, nullptr); };
    if (!low || !high || low->at(0) < 0 || high->at(0) < 0) {
      T end = size(x, axis) - cut(side.high);
      x = slice(x, axis, cut(side.low), end);
    }
    const auto block = [&](T pad) {
      Values sizes;
      for (int64_t a = 0; a < rank; ++a)
        sizes.push_back(vector(a == axis ? clamp(r, pad, zero, nullptr) : size(x, a)));
      return full(concat(sizes, 0), value);
    };
    Values parts;
    if (!low || low->at(0) > 0) parts.push_back(block(side.low));
    parts.push_back(x);
    if (!high || high->at(0) > 0) parts.push_back(block(side.high));
    x = concat(parts, axis);
  }
  return x;
}

void ceil_pool(Rewriter& r, ir::Node& n) {
  if (const auto* dilations = n.attributes.get<Ints>("dilations"))
    for (int64_t d : *dilations)
      if (d != 1) throw Unsupported("needs opset 10 or later for dilations");
  n.attributes.erase("dilations");
  const bool ceil = n.attributes.get_or<int64_t>("ceil_mode", 0) != 0;
  n.attributes.erase("ceil_mode");
  const auto automatic = n.attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (!ceil || automatic.starts_with("SAME")) return r.keep();
  if (automatic == "VALID") n.attributes.erase("auto_pad");

  const auto kernel = n.attributes.get_or<Ints>("kernel_shape", {});
  const size_t axes = kernel.size();
  const auto strides = n.attributes.get_or<Ints>("strides", Ints(axes, 1));
  Ints pads = n.attributes.get_or<Ints>("pads", Ints(2 * axes, 0)), extra(2 * axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t k = kernel[i], s = strides[i], low = pads[i], high = pads[i + axes];
    if (const auto size = r.in(0).dim(static_cast<int64_t>(i) + 2)) {
      const int64_t span = *size + low + high - k;
      int64_t last = (span + s - 1) / s;    // index of the last window
      if (last * s >= *size + low) --last;  // it would start in the padding at the end
      extra[i + axes] = std::max<int64_t>(0, last * s - span);
    } else if (high + s - 1 < k) {
      // Any size: floor((span + s - 1) / s) is the ceiling, and no window starts in the padding.
      extra[i + axes] = s - 1;
    } else {
      throw Unsupported("needs opset 10 or later for ceil_mode where the size is not known");
    }
  }
  if (n.op == "AveragePool" && n.attributes.get_or<int64_t>("count_include_pad", 0) != 0) {
    // The given padding counts, the additional one does not: the first becomes part of the input.
    Ints around(4 + 2 * axes, 0);
    for (size_t i = 0; i < axes; ++i) {
      around[2 + i] = pads[i];
      around[4 + axes + i] = pads[i + axes];
    }
    n.inputs[0] = node("Pad", {r.in(0)}, {{"pads", around}, {"value", 0.0f}},
                       ranked(r.in(0).dtype(), static_cast<int64_t>(axes) + 2));
    n.attributes.erase("count_include_pad");
    n.attributes.set("pads", extra);
  } else {
    for (size_t i = 0; i < pads.size(); ++i) pads[i] += extra[i];
    n.attributes.set("pads", pads);
  }
  r.keep();
}

}  // namespace oe::opsets
