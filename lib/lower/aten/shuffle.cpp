// Rearrangements between channels and space: pixel shuffles, sliding blocks.
#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// [.., C * r * r, H, W] -> [.., C, H * r, W * r]
Value pixel_shuffle(Emit& g, Value x, int64_t r) {
  const int64_t rank = g.rank(x), lead = rank - 3;
  const Dims all = dims(g, x, rank);
  const Int h = all[lead + 1], w = all[lead + 2], c = floor_div(g, all[lead], r * r);
  Dims split(all.begin(), all.begin() + lead), joined = split;
  split.insert(split.end(), {c, known(r), known(r), h, w});
  joined.insert(joined.end(), {c, mul(g, h, known(r)), mul(g, w, known(r))});
  Ints perm = range(0, lead);
  for (int64_t i : {0, 3, 1, 4, 2}) perm.push_back(lead + i);
  return reshape(g, transpose(g, reshape(g, x, split), perm), joined);
}

// [.., C, H * r, W * r] -> [.., C * r * r, H, W]
Value pixel_unshuffle(Emit& g, Value x, int64_t r) {
  const int64_t rank = g.rank(x), lead = rank - 3;
  const Dims all = dims(g, x, rank);
  const Int c = all[lead], h = floor_div(g, all[lead + 1], r), w = floor_div(g, all[lead + 2], r);
  Dims split(all.begin(), all.begin() + lead), joined = split;
  split.insert(split.end(), {c, h, known(r), w, known(r)});
  joined.insert(joined.end(), {mul(g, c, known(r * r)), h, w});
  Ints perm = range(0, lead);
  for (int64_t i : {0, 2, 4, 1, 3}) perm.push_back(lead + i);
  return reshape(g, transpose(g, reshape(g, x, split), perm), joined);
}

// Channels as [groups, C / groups], the two swapped.
Value channel_shuffle(Emit& g, Value x, int64_t groups) {
  const int64_t rank = g.rank(x);
  const Dims all = dims(g, x, rank);
  Dims split{all[0], known(groups), floor_div(g, all[1], groups)};
  split.insert(split.end(), all.begin() + 2, all.end());
  return reshape(g, swap(g, reshape(g, x, split), rank + 1, 1, 2), all);
}

struct Blocks {
  Ints kernel, dilation, padding, stride;
};

Blocks blocks(const Ints& kernel, const Ints& dilation, const Ints& padding, const Ints& stride) {
  return {per_axis(kernel, 2, 1), per_axis(dilation, 2, 1), per_axis(padding, 2, 0),
          per_axis(stride, 2, 1)};
}

// How many blocks fit along one axis.
Int positions(Emit& g, const Blocks& b, size_t i, const Int& length) {
  const int64_t fixed = 2 * b.padding[i] - b.dilation[i] * (b.kernel[i] - 1) - 1;
  return add(g, floor_div(g, add(g, length, known(fixed)), b.stride[i]), known(1));
}

// [kernel, positions]: which padded element tap k of block j is.
Value taps(Emit& g, const Blocks& b, size_t i, const Int& count) {
  Ints offsets;
  for (int64_t k = 0; k < b.kernel[i]; ++k) offsets.push_back(k * b.dilation[i]);
  if (count.known) {
    Ints all;
    for (int64_t o : offsets)
      for (int64_t j = 0; j < *count.known; ++j) all.push_back(o + j * b.stride[i]);
    return g.tensor(Tensor::of<int64_t>(DType::Int64, {b.kernel[i], *count.known}, all));
  }
  Value starts = mul(g, iota(g, count), g.i64(b.stride[i]));
  return add(g, unsqueeze(g, g.i64s(offsets), {1}), unsqueeze(g, starts, {0}));
}

// [N, C, H, W] -> [N, C * kh * kw, blocks]
Value im2col(Emit& g, Value x, const Blocks& b) {
  const bool batched = g.rank(x) == 4;
  const int64_t first = g.rank(x) - 2;
  const Int c = dim(g, x, first - 1), h = dim(g, x, first), w = dim(g, x, first + 1);
  const Int n = batched ? dim(g, x, 0) : known(1);
  Value in = batched ? x : unsqueeze(g, x, {0});
  if (b.padding[0] != 0 || b.padding[1] != 0) {
    Value pads = g.i64s({0, 0, b.padding[0], b.padding[1], 0, 0, b.padding[0], b.padding[1]});
    in = g.node("Pad", {in, pads, num(g, 0, x)}, {{"mode", std::string("constant")}});
  }
  const Int oh = positions(g, b, 0, h), ow = positions(g, b, 1, w);
  Value y = gather(g, in, taps(g, b, 0, oh), 2);  // [N, C, kh, oh, W]
  y = gather(g, y, taps(g, b, 1, ow), 4);         // [N, C, kh, oh, kw, ow]
  y = transpose(g, y, {0, 1, 2, 4, 3, 5});
  y = reshape(g, y, Dims{n, mul(g, c, known(b.kernel[0] * b.kernel[1])), mul(g, oh, ow)});
  return batched ? y : squeeze(g, y, {0});
}

// [N, C * kh * kw, blocks] -> [N, C, H, W], overlaps added: a transposed convolution whose kernel
// puts tap k where it came from.
Value col2im(Emit& g, Value x, const Ints& size, const Blocks& b) {
  const bool batched = g.rank(x) == 3;
  const int64_t taps = b.kernel[0] * b.kernel[1];
  const Ints out = per_axis(size, 2, 1);
  Ints counts, extra;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = b.dilation[i] * (b.kernel[i] - 1) + 1;
    const int64_t room = out[i] + 2 * b.padding[i] - extent;
    counts.push_back(room / b.stride[i] + 1);
    extra.push_back(room % b.stride[i]);
  }
  std::vector<double> one_hot(static_cast<size_t>(taps * taps), 0.0);
  for (int64_t k = 0; k < taps; ++k) one_hot[k * taps + k] = 1;
  const DType t = g.dtype(x);
  Value kernel = floats(g, t, {taps, 1, b.kernel[0], b.kernel[1]}, one_hot);
  ir::Attributes a{{"kernel_shape", b.kernel},
                   {"strides", b.stride},
                   {"dilations", b.dilation},
                   {"pads", Ints{b.padding[0], b.padding[1], b.padding[0], b.padding[1]}}};
  if (extra[0] != 0 || extra[1] != 0) a.set("output_padding", extra);
  const Int c = floor_div(g, dim(g, x, g.rank(x) - 2), taps);
  const Int n = batched ? dim(g, x, 0) : known(1);
  Value y = reshape(g, x, Dims{mul(g, n, c), known(taps), known(counts[0]), known(counts[1])});
  y = g.node("ConvTranspose", {y, kernel}, std::move(a));
  Dims shape = batched ? Dims{n, c} : Dims{c};
  shape.insert(shape.end(), {known(out[0]), known(out[1])});
  return reshape(g, y, shape);
}

constexpr auto shuffle_channels = [](Emit& g, Value x, int64_t groups) {
  return channel_shuffle(g, x, groups);
};

constexpr Lowering table[] = {
    op("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
       [](Emit& g, Value x, int64_t r) { return pixel_shuffle(g, x, r); }),
    op("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
       [](Emit& g, Value x, int64_t r) { return pixel_unshuffle(g, x, r); }),
    op("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", shuffle_channels),
    op("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", shuffle_channels),
    op("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       [](Emit& g, Value x, Ints kernel, Ints dilation, Ints padding, Ints stride) {
         return im2col(g, x, blocks(kernel, dilation, padding, stride));
       }),
    op("aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       [](Emit& g, Value x, Ints size, Ints kernel, Ints dilation, Ints padding, Ints stride) {
         return col2im(g, x, size, blocks(kernel, dilation, padding, stride));
       }),
};

}  // namespace

Table shuffle_rows() { return table; }

}  // namespace oe::lower
