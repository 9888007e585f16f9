// Sampling grids and torchvision's operators on boxes.
#include <string>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T grid_sample(T x, T grid, int64_t interpolation, int64_t padding, bool align_corners) {
  static constexpr const char* modes[] = {"linear", "nearest", "cubic"};
  static constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  return node("GridSample", {x, grid},
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
T cell_positions(Call& g, const Int& n, bool align_corners, DType t) {
  const DType exact = DType::Double;
  T last = g.value(n) - 1;
  T cells = align_corners ? maximum(last, 1) : g.value(n);
  T twice = g.iota(n) * 2 - last;
  return cast(cast(twice, exact) / cast(cells, exact), t);
}

// A grid whose size is computed, by axes: the translation and a share of each axis. ONNX's
// AffineGrid would put the one element of an axis at -1 with align_corners, not in the middle.
T affine_grid_by_axes(Call& g, T theta, const Dims& size, bool align_corners) {
  const auto n = static_cast<int64_t>(size.size()) - 2;
  auto column = [&](int64_t i) {  // [N, n] -> [N, 1, .., 1, n]
    return unsqueeze(gather(theta, g.i64(i), 2), range(1, n + 1));
  };
  T y = column(n);
  for (int64_t i = 0; i < n; ++i) {
    const Int& length = size[static_cast<size_t>(i) + 2];
    T at = cell_positions(g, length, align_corners, theta.dtype());
    T share = unsqueeze(at, range(1, n - i + 1)) * column(n - 1 - i);
    y = y + share;
  }
  return y;
}

// theta [N, 2, 3] or [N, 3, 4]; the grid's last axis counts from the innermost image axis.
T affine_grid(Call& g, T theta, const Dims& size, bool align_corners) {
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
  T y = matmul(g.numbers(base, {points, columns}, theta.dtype()), transpose(theta, {0, 2, 1}));
  Dims shape{size_of(theta, 0)};
  for (size_t i = 0; i < n; ++i) shape.push_back(size[i + 2]);
  shape.push_back(known(static_cast<int64_t>(n)));
  return reshape(y, shape);
}

// Indices of the kept boxes, best score first.
T nms(Call& g, T boxes, T scores, double threshold) {
  T most = unsqueeze(size(boxes, 0), {0});
  T limit = g.tensor(Tensor::of<float>(DType::Float, {1}, {static_cast<float>(threshold)}));
  T kept = node("NonMaxSuppression", {unsqueeze(cast(boxes, DType::Float), {0}),
                                      unsqueeze(cast(scores, DType::Float), {0, 1}), most, limit});
  return gather(kept, g.i64(2), 1);  // batch, class, box
}

// Boxes come as [K, 5]: the number of the image, then the corners.
T roi_align(Call& g, T x, T rois, double scale, int64_t height, int64_t width, int64_t sampling,
            bool aligned) {
  T batch = cast(gather(rois, g.i64(0), 1), DType::Int64);
  T boxes = slice(rois, 1, known(1), known(5));
  return node("RoiAlign", {x, boxes, batch},
              {{"spatial_scale", static_cast<float>(scale)},
               {"output_height", height},
               {"output_width", width},
               {"sampling_ratio", std::max<int64_t>(sampling, 0)},
               {"coordinate_transformation_mode",
                std::string(aligned ? "half_pixel" : "output_half_pixel")}});
}

// The largest element of each bin. The positions of those elements are for the backward pass.
Values roi_pool(T x, T rois, double scale, int64_t height, int64_t width) {
  return {
      node("MaxRoiPool", {x, rois},
           {{"spatial_scale", static_cast<float>(scale)}, {"pooled_shape", Ints{height, width}}}),
      nullptr};
}

constexpr Lowering table[] = {
    op<grid_sample>(
        names("aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d"),
        "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"),
    op<affine_grid>(
        "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"),
    op<nms>("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"),
    op<roi_align>(
        "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor"),
    op<roi_pool>(
        "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, Tensor)"),
};

}  // namespace

Table vision_rows() { return table; }

}  // namespace oe::lower
