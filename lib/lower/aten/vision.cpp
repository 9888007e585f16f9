// Sampling grids and torchvision's operators on boxes.
#include <string>

#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

Value grid_sample(Emit& g, Value x, Value grid, int64_t interpolation, int64_t padding,
                  bool align_corners) {
  static constexpr const char* modes[] = {"linear", "nearest", "cubic"};
  static constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  return g.node("GridSample", {x, grid},
                {{"mode", std::string(modes[interpolation])},
                 {"padding_mode", std::string(paddings[padding])},
                 {"align_corners", int64_t{align_corners}}});
}

// Positions of `n` elements in [-1, 1]: the ends, or the middles of n equal cells.
std::vector<double> cell_positions(int64_t n, bool align_corners) {
  std::vector<double> r;
  for (int64_t i = 0; i < n; ++i) {
    const auto count = static_cast<double>(n), at = static_cast<double>(i);
    if (align_corners)
      r.push_back(n > 1 ? -1 + 2 * at / (count - 1) : 0);
    else
      r.push_back((2 * at + 1) / count - 1);
  }
  return r;
}

// The same for a computed number of elements.
Value cell_positions(Emit& g, const Int& n, bool align_corners, DType t) {
  const DType exact = DType::Double;
  Value last = sub(g, g.to_value(n), g.i64(1));
  Value cells = align_corners ? g.node("Max", {last, g.i64(1)}) : g.to_value(n);
  Value twice = sub(g, mul(g, iota(g, n), g.i64(2)), last);
  return g.cast(div(g, g.cast(twice, exact), g.cast(cells, exact)), t);
}

// A grid whose size is computed, by axes: the translation and a share of each axis. ONNX's
// AffineGrid would put the one element of an axis at -1 with align_corners, not in the middle.
Value affine_grid_by_axes(Emit& g, Value theta, const Dims& size, bool align_corners) {
  const auto n = static_cast<int64_t>(size.size()) - 2;
  auto column = [&](int64_t i) {  // [N, n] -> [N, 1, .., 1, n]
    return unsqueeze(g, gather(g, theta, g.i64(i), 2), range(1, n + 1));
  };
  Value y = column(n);
  for (int64_t i = 0; i < n; ++i) {
    const Int& length = size[static_cast<size_t>(i) + 2];
    Value at = cell_positions(g, length, align_corners, g.dtype(theta));
    Value share = mul(g, unsqueeze(g, at, range(1, n - i + 1)), column(n - 1 - i));
    y = add(g, y, share);
  }
  return y;
}

// theta [N, 2, 3] or [N, 3, 4]; the grid's last axis counts from the innermost image axis.
Value affine_grid(Emit& g, Value theta, const Dims& size, bool align_corners) {
  const size_t n = size.size() - 2;
  for (size_t i = 0; i < n; ++i)
    if (!size[i + 2].known) return affine_grid_by_axes(g, theta, size, align_corners);
  std::vector<std::vector<double>> at;
  int64_t points = 1;
  for (size_t i = 0; i < n; ++i) {
    at.push_back(cell_positions(*size[i + 2].known, align_corners));
    points *= *size[i + 2].known;
  }
  std::vector<double> base;
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    for (size_t i = n; i-- > 0;) {  // x, y, z: innermost first
      const auto length = static_cast<int64_t>(at[i].size());
      base.push_back(at[i][static_cast<size_t>(rest % length)]);
      rest /= length;
    }
    base.push_back(1);
  }
  const auto columns = static_cast<int64_t>(n + 1);
  Value y =
      matmul(g, floats(g, g.dtype(theta), {points, columns}, base), transpose(g, theta, {0, 2, 1}));
  Dims shape{dim(g, theta, 0)};
  for (size_t i = 0; i < n; ++i) shape.push_back(size[i + 2]);
  shape.push_back(known(static_cast<int64_t>(n)));
  return reshape(g, y, shape);
}

// Indices of the kept boxes, best score first.
Value nms(Emit& g, Value boxes, Value scores, double threshold) {
  Value most = unsqueeze(g, g.size(boxes, 0), {0});
  Value limit = g.tensor(Tensor::of<float>(DType::Float, {1}, {static_cast<float>(threshold)}));
  Value kept = g.node("NonMaxSuppression",
                      {unsqueeze(g, g.cast(boxes, DType::Float), {0}),
                       unsqueeze(g, g.cast(scores, DType::Float), {0, 1}), most, limit});
  return gather(g, kept, g.i64(2), 1);  // batch, class, box
}

// Boxes come as [K, 5]: the number of the image, then the corners.
Value roi_align(Emit& g, Value x, Value rois, double scale, int64_t height, int64_t width,
                int64_t sampling, bool aligned) {
  Value batch = g.cast(gather(g, rois, g.i64(0), 1), DType::Int64);
  Value boxes = slice(g, rois, 1, known(1), known(5));
  return g.node("RoiAlign", {x, boxes, batch},
                {{"spatial_scale", static_cast<float>(scale)},
                 {"output_height", height},
                 {"output_width", width},
                 {"sampling_ratio", std::max<int64_t>(sampling, 0)},
                 {"coordinate_transformation_mode",
                  std::string(aligned ? "half_pixel" : "output_half_pixel")}});
}

// The largest element of each bin. The positions of those elements are for the backward pass.
Values roi_pool(Emit& g, Value x, Value rois, double scale, int64_t height, int64_t width) {
  return {
      g.node("MaxRoiPool", {x, rois},
             {{"spatial_scale", static_cast<float>(scale)}, {"pooled_shape", Ints{height, width}}}),
      nullptr};
}

constexpr auto sampler = [](Emit& g, Value x, Value grid, int64_t mode, int64_t padding,
                            bool align_corners) {
  return grid_sample(g, x, grid, mode, padding, align_corners);
};

constexpr Lowering table[] = {
    op("aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       sampler),
    op("aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       sampler),
    op("aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       sampler),
    op("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
       [](Emit& g, Value theta, Dims size, bool align_corners) {
         return affine_grid(g, theta, size, align_corners);
       }),
    op("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
       [](Emit& g, Value boxes, Value scores, double threshold) {
         return nms(g, boxes, scores, threshold);
       }),
    op("torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
       [](Emit& g, Value x, Value rois, double scale, int64_t height, int64_t width,
          int64_t sampling,
          bool aligned) { return roi_align(g, x, rois, scale, height, width, sampling, aligned); }),
    op<roi_pool>(
        "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, Tensor)"),
};

}  // namespace

Table vision_rows() { return table; }

}  // namespace oe::lower
