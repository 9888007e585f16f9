// Rearrangements between channels and space: pixel shuffles, sliding blocks.
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// [.., C * r * r, H, W] -> [.., C, H * r, W * r]
T pixel_shuffle(T x, int64_t r) {
  const int64_t rank = x.rank(), lead = rank - 3;
  const Dims all = sizes_of(x, rank);
  const Int h = all[lead + 1], w = all[lead + 2], c = floor_div(all[lead], r * r);
  Dims split(all.begin(), all.begin() + lead), joined = split;
  split.insert(split.end(), {c, known(r), known(r), h, w});
  joined.insert(joined.end(), {c, h * known(r), w * known(r)});
  Ints perm = range(0, lead);
  for (int64_t i : {0, 3, 1, 4, 2}) perm.push_back(lead + i);
  return reshape(transpose(reshape(x, split), perm), joined);
}

// [.., C, H * r, W * r] -> [.., C * r * r, H, W]
T pixel_unshuffle(T x, int64_t r) {
  const int64_t rank = x.rank(), lead = rank - 3;
  const Dims all = sizes_of(x, rank);
  const Int c = all[lead], h = floor_div(all[lead + 1], r), w = floor_div(all[lead + 2], r);
  Dims split(all.begin(), all.begin() + lead), joined = split;
  split.insert(split.end(), {c, h, known(r), w, known(r)});
  joined.insert(joined.end(), {c * known(r * r), h, w});
  Ints perm = range(0, lead);
  for (int64_t i : {0, 2, 4, 1, 3}) perm.push_back(lead + i);
  return reshape(transpose(reshape(x, split), perm), joined);
}

// Channels as [groups, C / groups], the two swapped.
T channel_shuffle(T x, int64_t groups) {
  const int64_t rank = x.rank();
  const Dims all = sizes_of(x, rank);
  Dims split{all[0], known(groups), floor_div(all[1], groups)};
  split.insert(split.end(), all.begin() + 2, all.end());
  return reshape(swap(reshape(x, split), rank + 1, 1, 2), all);
}

struct Blocks {
  Ints kernel, dilation, padding, stride;
};

Blocks blocks(const Ints& kernel, const Ints& dilation, const Ints& padding, const Ints& stride) {
  return {per_axis(kernel, 2, 1), per_axis(dilation, 2, 1), per_axis(padding, 2, 0),
          per_axis(stride, 2, 1)};
}

// How many blocks fit along one axis.
Int positions(const Blocks& b, size_t i, const Int& length) {
  const int64_t fixed = 2 * b.padding[i] - b.dilation[i] * (b.kernel[i] - 1) - 1;
  return floor_div(length + known(fixed), b.stride[i]) + known(1);
}

// [kernel, positions]: which padded element tap k of block j is.
T taps(Call& g, const Blocks& b, size_t i, const Int& count) {
  Ints offsets;
  for (int64_t k = 0; k < b.kernel[i]; ++k) offsets.push_back(k * b.dilation[i]);
  if (count.known) {
    Ints all;
    for (int64_t o : offsets)
      for (int64_t j = 0; j < *count.known; ++j) all.push_back(o + j * b.stride[i]);
    return g.tensor(Tensor::of<int64_t>(DType::Int64, {b.kernel[i], *count.known}, all));
  }
  T starts = g.iota(count) * b.stride[i];
  return unsqueeze(g.i64s(offsets), {1}) + unsqueeze(starts, {0});
}

// [N, C, H, W] -> [N, C * kh * kw, blocks]
T im2col(Call& g, T x, const Blocks& b) {
  const bool batched = x.rank() == 4;
  const int64_t first = x.rank() - 2;
  const Int c = size_of(x, first - 1), h = size_of(x, first), w = size_of(x, first + 1);
  const Int n = batched ? size_of(x, 0) : known(1);
  T in = batched ? x : unsqueeze(x, {0});
  if (b.padding[0] != 0 || b.padding[1] != 0) {
    T pads = g.i64s({0, 0, b.padding[0], b.padding[1], 0, 0, b.padding[0], b.padding[1]});
    in = node("Pad", {in, pads, number(0, x)}, {{"mode", std::string("constant")}});
  }
  const Int oh = positions(b, 0, h), ow = positions(b, 1, w);
  T y = gather(in, taps(g, b, 0, oh), 2);  // [N, C, kh, oh, W]
  y = gather(y, taps(g, b, 1, ow), 4);     // [N, C, kh, oh, kw, ow]
  y = transpose(y, {0, 1, 2, 4, 3, 5});
  y = reshape(y, Dims{n, c * known(b.kernel[0] * b.kernel[1]), oh * ow});
  return batched ? y : squeeze(y, {0});
}

// [N, C * kh * kw, blocks] -> [N, C, H, W], overlaps added: a transposed convolution whose kernel
// puts tap k where it came from.
T col2im(Call& g, T x, const Ints& size, const Blocks& b) {
  const bool batched = x.rank() == 3;
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
  const DType t = x.dtype();
  T kernel = g.numbers(one_hot, {taps, 1, b.kernel[0], b.kernel[1]}, t);
  ir::Attributes a{{"kernel_shape", b.kernel},
                   {"strides", b.stride},
                   {"dilations", b.dilation},
                   {"pads", Ints{b.padding[0], b.padding[1], b.padding[0], b.padding[1]}}};
  if (extra[0] != 0 || extra[1] != 0) a.set("output_padding", extra);
  const Int c = floor_div(size_of(x, x.rank() - 2), taps);
  const Int n = batched ? size_of(x, 0) : known(1);
  T y = reshape(x, Dims{n * c, known(taps), known(counts[0]), known(counts[1])});
  y = node("ConvTranspose", {y, kernel}, std::move(a));
  Dims shape = batched ? Dims{n, c} : Dims{c};
  shape.insert(shape.end(), {known(out[0]), known(out[1])});
  return reshape(y, shape);
}

constexpr Lowering table[] = {
    op<pixel_shuffle>("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"),
    op<pixel_unshuffle>("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"),
    op<channel_shuffle>(names("aten::channel_shuffle", "aten::native_channel_shuffle"),
                        "(Tensor self, SymInt groups) -> Tensor"),
    op("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       [](Call& g, T x, Ints kernel, Ints dilation, Ints padding, Ints stride) {
         return im2col(g, x, blocks(kernel, dilation, padding, stride));
       }),
    op("aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       [](Call& g, T x, Ints size, Ints kernel, Ints dilation, Ints padding, Ints stride) {
         return col2im(g, x, size, blocks(kernel, dilation, padding, stride));
       }),
};

}  // namespace

Table shuffle_rows() { return table; }

}  // namespace oe::lower
