// Axes of operators that look at windows: convolutions, pools, resizing, padding.
#include <algorithm>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

bool all_ones(const AbstractValue* s) {
  if (!s || !s->is(K::List) || s->list()->items.empty()) return false;
  return std::all_of(s->list()->items.begin(), s->list()->items.end(), [](const AbstractValue& e) {
    return e.is_constant_number() && e.c.at(0).toInt() == 1;
  });
}

// Spatial axes of a window operator. With stride 1 and windows of a known form the size is the
// input's plus a constant, so one equal world proves that the constant is zero.
Axis window_axis(const AxisCall& c, const TensorValue& in, size_t axis, size_t in_axis) {
  Taint windows = c.taint({"kernel_size", "stride", "padding", "dilation", "output_padding",
                           "ceil_mode", "transposed"});
  if (c.arg("weight")) {
    const std::vector<Axis>& weight = c.tensor({"weight"}).axes;
    for (size_t i = 2; i < weight.size(); ++i) windows = join(windows, weight[i].taint);
  }
  const Axis& in_size = in.axes[in_axis];
  if (windows == Taint::Constant && !in_size.is_static() && all_ones(c.arg("stride")) &&
      c.same_size(axis, in, in_axis))
    return in_size;
  return c.sized_by(join(windows, in_size.taint));
}

Axes windowed(const AxisCall& c, bool convolution) {
  const TensorValue& in = c.self();
  size_t spatial = convolution ? c.tensor({"weight"}).axes.size() - 2 : 0;
  if (!convolution) spatial = static_cast<size_t>(c.op.base[c.op.base.find("pool") + 4] - '0');
  if (in.axes.size() != c.rank || c.rank < spatial) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  if (convolution) {
    bool static_weights = !c.computed({"groups", "transposed"});
    for (const Axis& a : c.tensor({"weight"}).axes)
      static_weights = static_weights && a.is_static();
    axes[c.rank - spatial - 1] = static_weights ? Axis{} : c.fresh(Taint::Shape);
  }
  for (size_t i = c.rank - spatial; i < c.rank; ++i) axes[i] = window_axis(c, in, i, i);
  return axes;
}

Axes convolution(const AxisCall& c) { return windowed(c, true); }

// Trailing axes follow the input's, the leading ones are copied.
Axes pool(const AxisCall& c) { return windowed(c, false); }

// im2col, col2im: the batch stays, what is left is static where all that it comes from is.
Axes patches(const AxisCall& c) {
  const TensorValue& in = c.self();
  const bool batched = c.rank == 3 ? in.axes.size() == 4 : in.axes.size() == c.rank - 1;
  const bool same_rank =
      c.op.base == "aten::col2im" ? in.axes.size() + 1 == c.rank : in.axes.size() == c.rank + 1;
  if (!same_rank) return std::nullopt;
  Taint t = Taint::Constant;
  for (size_t i = batched; i < in.axes.size(); ++i) t = join(t, in.axes[i].taint);
  t = join(t, c.taint({"output_size", "kernel_size", "dilation", "padding", "stride"}));
  std::vector<Axis> axes;
  for (size_t i = 0; i < c.rank; ++i)
    axes.push_back(batched && i == 0 ? in.axes[0] : c.sized_by(t));
  return axes;
}
// Trailing axes by an int[] argument where given, else derived from the input's.
Axes trailing(const AxisCall& c, const AbstractValue* output_size) {
  const TensorValue& in = c.self();
  if (in.axes.size() != c.rank) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  const bool given = output_size && (output_size->is(K::List) || output_size->is(K::Int));
  std::vector<AbstractValue> items;
  if (given)
    items = output_size->is(K::List) ? output_size->list()->items
                                     : std::vector<AbstractValue>{*output_size};
  size_t spatial = given ? items.size() : c.rank - 2;
  if (items.size() == 1 && c.op.base == "aten::__interpolate") spatial = c.rank - 2;
  const Taint scale = c.taint({"scale_factors", "scale_factor", "recompute_scale_factor"});
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = c.rank - spatial + i;
    if (!given)
      axes[at] = c.sized_by(join(in.axes[at].taint, scale));
    else if (items[items.size() == 1 ? 0 : i].is(K::None))
      continue;  // adaptive pooling: keeps the input's size
    else
      axes[at] = c.number(items[items.size() == 1 ? 0 : i]);
  }
  return axes;
}

Axes resized(const AxisCall& c) {
  const AbstractValue* size = c.arg("output_size");
  return trailing(c, size ? size : c.arg("size"));
}

Axes adaptive_pool(const AxisCall& c) { return trailing(c, c.arg("output_size")); }

Axes padded(const AxisCall& c) {
  const TensorValue& in = c.self();
  const AbstractValue* pad = c.arg("pad");
  if (!pad) pad = c.arg("padding");
  if (!pad || !pad->is(K::List)) return std::nullopt;
  std::vector<Axis> axes = in.axes;
  const auto& items = pad->list()->items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const size_t at = axes.size() - 1 - i / 2;
    const Taint t = join(items[i].taint, items[i + 1].taint);
    if (t == Taint::Constant && items[i].c.at(0).toInt() == 0 && items[i + 1].c.at(0).toInt() == 0)
      continue;
    const Taint all = join(t, in.axes[at].taint);
    axes[at] = all == Taint::Constant ? Axis{} : c.fresh(all);
  }
  return axes;
}

Axes shuffled(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  const Taint factor = c.taint({"upscale_factor", "downscale_factor"});
  for (size_t i = c.rank - 3; i < c.rank; ++i) axes[i] = c.sized_by(join(axes[i].taint, factor));
  return axes;
}

// Batch and channels of the input at the places of the grid, which has the same batch.
Axes sampled(const AxisCall& c) {
  const TensorValue &in = c.tensor({"input"}), &grid = c.tensor({"grid"});
  if (in.axes.size() != c.rank || grid.axes.size() != c.rank) return std::nullopt;
  std::vector<Axis> axes = {in.axes[0].is_static() ? in.axes[0] : grid.axes[0], in.axes[1]};
  axes.insert(axes.end(), grid.axes.begin() + 1, grid.axes.end() - 1);
  return axes;
}

// affine_grid: `size` is [N, C, ...], the grid [N, ..., 2] or [N, ..., 3].
Axes grid(const AxisCall& c) {
  const AbstractValue& size = *c.arg("size");
  if (!size.is(K::List) || size.list()->is_open() || size.list()->items.size() != c.rank)
    return std::nullopt;
  const std::vector<AbstractValue>& items = size.list()->items;
  std::vector<Axis> axes = {c.number(items[0])};
  for (size_t i = 2; i < items.size(); ++i) axes.push_back(c.number(items[i]));
  axes.push_back({});
  return axes;
}

constexpr AxisRow kWindows[] = {
    {"aten::conv1d", convolution},
    {"aten::conv2d", convolution},
    {"aten::conv3d", convolution},
    {"aten::_convolution", convolution},
    {"aten::convolution", convolution},
    {"aten::conv_transpose1d", convolution},
    {"aten::conv_transpose2d", convolution},
    {"aten::conv_transpose3d", convolution},
    {"aten::_convolution_mode", convolution},
    {"aten::mkldnn_convolution", convolution},
    {"aten::max_pool1d", pool},
    {"aten::max_pool2d", pool},
    {"aten::max_pool3d", pool},
    {"aten::max_pool1d_with_indices", pool},
    {"aten::max_pool2d_with_indices", pool},
    {"aten::max_pool3d_with_indices", pool},
    {"aten::avg_pool1d", pool},
    {"aten::avg_pool2d", pool},
    {"aten::avg_pool3d", pool},
    {"aten::adaptive_avg_pool1d", adaptive_pool},
    {"aten::adaptive_avg_pool2d", adaptive_pool},
    {"aten::adaptive_avg_pool3d", adaptive_pool},
    {"aten::adaptive_max_pool1d", adaptive_pool},
    {"aten::adaptive_max_pool2d", adaptive_pool},
    {"aten::adaptive_max_pool3d", adaptive_pool},
    {"aten::_adaptive_avg_pool2d", adaptive_pool},
    {"aten::_adaptive_avg_pool3d", adaptive_pool},
    {"aten::upsample_nearest1d", resized},
    {"aten::upsample_nearest2d", resized},
    {"aten::upsample_nearest3d", resized},
    {"aten::upsample_linear1d", resized},
    {"aten::upsample_bilinear2d", resized},
    {"aten::upsample_bicubic2d", resized},
    {"aten::upsample_trilinear3d", resized},
    {"aten::_upsample_nearest_exact1d", resized},
    {"aten::_upsample_nearest_exact2d", resized},
    {"aten::_upsample_nearest_exact3d", resized},
    {"aten::_upsample_bilinear2d_aa", resized},
    {"aten::_upsample_bicubic2d_aa", resized},
    {"aten::_upsample_lanczos2d_aa", resized},
    {"aten::__interpolate", resized},
    {"aten::max_unpool2d", resized},
    {"aten::max_unpool3d", resized},
    {"aten::grid_sampler", sampled},
    {"aten::grid_sampler_2d", sampled},
    {"aten::grid_sampler_3d", sampled},
    {"aten::affine_grid_generator", grid},
    {"aten::pad", padded},
    {"aten::constant_pad_nd", padded},
    {"aten::reflection_pad1d", padded},
    {"aten::reflection_pad2d", padded},
    {"aten::reflection_pad3d", padded},
    {"aten::replication_pad1d", padded},
    {"aten::replication_pad2d", padded},
    {"aten::replication_pad3d", padded},
    {"aten::_pad_circular", padded},
    {"aten::im2col", patches},
    {"aten::col2im", patches},
    {"aten::pixel_shuffle", shuffled},
    {"aten::pixel_unshuffle", shuffled},
};

}  // namespace

std::span<const AxisRow> window_axes() { return kWindows; }

}  // namespace oe::capture
