// Rearrangements between channels and space: pixel shuffles, sliding blocks.
#include <functional>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Blocks of r x r pixels moved between channels and space: [.., C * r * r, H, W] and
// [.., C, H * r, W * r]. The operators take four axes.
T move_blocks(std::string_view op, T x, int64_t r, const std::function<Dims(const Dims&)>& moved) {
  const ir::Attributes attributes{{"blocksize", r}, {"mode", std::string("CRD")}};
  const int64_t rank = x.rank();
  if (rank == 4) return node(op, {x}, attributes);
  const Dims all = sizes_of(x, rank);
  Dims lead(all.begin(), all.end() - 3), image(all.end() - 3, all.end());
  Dims batch = image, result = lead;
  batch.insert(batch.begin(), product(lead));
  for (const Int& size : moved(image)) result.push_back(size);
  return reshape(node(op, {reshape(x, batch)}, attributes), result);
}

T pixel_shuffle(T x, int64_t r) {
  return move_blocks("DepthToSpace", x, r, [&](const Dims& d) {
    return Dims{floor_div(d[0], r * r), d[1] * known(r), d[2] * known(r)};
  });
}

T pixel_unshuffle(T x, int64_t r) {
  return move_blocks("SpaceToDepth", x, r, [&](const Dims& d) {
    return Dims{d[0] * known(r * r), floor_div(d[1], r), floor_div(d[2], r)};
  });
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

// [N, C * kh * kw, blocks] -> [N, C, H, W], overlaps added.
T col2im(T x, const Ints& size, const Blocks& b) {
  Builder& g = x.builder();
  const bool batched = x.rank() == 3;
  Ints pads = b.padding;
  pads.insert(pads.end(), b.padding.begin(), b.padding.end());
  T y = node("Col2Im",
             {batched ? x : unsqueeze(x, {0}), g.i64s(per_axis(size, 2, 1)), g.i64s(b.kernel)},
             {{"dilations", b.dilation}, {"pads", pads}, {"strides", b.stride}});
  return batched ? y : squeeze(y, {0});
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
       [](T x, Ints size, Ints kernel, Ints dilation, Ints padding, Ints stride) {
         return col2im(x, size, blocks(kernel, dilation, padding, stride));
       }),
};

}  // namespace

Table shuffle_rows() { return table; }

}  // namespace oe::lower
