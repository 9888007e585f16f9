// Affine grids axis by axis, and Col2Im by gathering.
#include <algorithm>

#include "lib/build/grid.h"
#include "opsets/expand.h"

namespace oe::opsets {
void affine_grid(Rewriter& r, ir::Node& n) {
  T theta = r.in(0), target = r.in(1);
  const bool corners = n.attributes.get_or<int64_t>("align_corners", 0) != 0;
  const auto length = target.dim(0);
  if (!length) throw Unsupported("");
  const auto sizes = ints(target);
  Values positions;
  for (int64_t a = 2; a < *length; ++a) {
    const Int count = sizes ? known((*sizes)[static_cast<size_t>(a)])
                            : computed(cast(gather(target, r.i64(a), 0), DType::Int64));
    T at = grid_positions(r, count, corners, theta.dtype());
    // One element is where the axis begins.
    if (corners && count.known == 1) at = r.numbers({-1}, {1}, theta.dtype());
    if (corners && !count.known) at = where(equal(count.computed, 1), -1, at);
    positions.push_back(at);
  }
  r.bind(n.outputs[0], affine_grid(theta, positions));
}

namespace {

// One axis of Col2Im: `counts` blocks of `block` places each, over an image with padding.
struct BlockAxis {
  int64_t image, block, stride, dilation, low, counts;
};

// [image, k]: the places, [block, counts] in a row, that add to each element of the axis; what has
// fewer than k ends with the place behind all of them, where a zero is.
TensorPtr contributions(const BlockAxis& b) {
  std::vector<Ints> lists(static_cast<size_t>(b.image));
  size_t width = 1;
  for (int64_t p = 0; p < b.block; ++p)
    for (int64_t c = 0; c < b.counts; ++c) {
      const int64_t at = c * b.stride + p * b.dilation - b.low;
      if (at < 0 || at >= b.image) continue;
      Ints& list = lists[static_cast<size_t>(at)];
      list.push_back(p * b.counts + c);
      width = std::max(width, list.size());
    }
  Ints table;
  for (Ints& list : lists) {
    list.resize(width, b.block * b.counts);
    table.insert(table.end(), list.begin(), list.end());
  }
  return Tensor::of<int64_t>(DType::Int64, {b.image, static_cast<int64_t>(width)}, table);
}

}  // namespace

// Axis by axis every element of the image gathers what adds to it.
void col_to_im(Rewriter& r, ir::Node& n) {
  const auto image = ints(r.in(1)), block = ints(r.in(2));
  if (!image || !block) throw Unsupported("needs opset 18 or later where the sizes are computed");
  T x = r.in(0);
  const size_t axes = image->size();
  const auto strides = n.attributes.get_or<Ints>("strides", Ints(axes, 1));
  const auto dilations = n.attributes.get_or<Ints>("dilations", Ints(axes, 1));
  const auto pads = n.attributes.get_or<Ints>("pads", Ints(2 * axes, 0));
  std::vector<BlockAxis> all;
  Ints apart = {0, -1}, perm = {0, 1}, joined = {0, 0};
  for (size_t i = 0; i < axes; ++i) {
    BlockAxis b{(*image)[i], (*block)[i], strides[i], dilations[i], pads[i], 0};
    const int64_t canvas = b.image + pads[i] + pads[i + axes];
    b.counts = (canvas - b.dilation * (b.block - 1) - 1) / b.stride + 1;
    all.push_back(b);
    apart.push_back(b.block);
    perm.push_back(static_cast<int64_t>(2 + i));
    perm.push_back(static_cast<int64_t>(2 + axes + i));
    joined.push_back(b.block * b.counts);
  }
  for (const BlockAxis& b : all) apart.push_back(b.counts);
  T y = reshape(transpose(reshape(x, apart), perm), joined);
  const auto rank = static_cast<int64_t>(axes) + 2;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    Ints behind(static_cast<size_t>(2 * rank), 0);
    behind[static_cast<size_t>(rank + axis)] = 1;
    y = node("Pad", {y, r.i64s(behind)}, {}, ranked(x.dtype(), rank));
    y = gather(y, r.tensor(contributions(all[i])), axis);
    y = reduce("ReduceSum", y, {axis + 1}, false);
  }
  y->type = ranked(x.dtype(), rank);
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
