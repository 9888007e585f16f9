// Sampling grids and torchvision's operators on boxes.
#include <algorithm>
#include <string>

#include "lib/build/grid.h"
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

// With align_corners ATen puts the one element of an axis in the middle, ONNX at -1.
T affine_grid_of(T theta, const Dims& size, bool align_corners) {
  Builder& g = theta.builder();
  const Dims image(size.begin() + 2, size.end());
  const auto longer = [](const Int& n) { return n.known.value_or(1) != 1; };
  if (!align_corners || std::all_of(image.begin(), image.end(), longer))
    return node("AffineGrid", {theta, g.vector(size)}, {{"align_corners", int64_t{align_corners}}});
  Values positions;
  for (const Int& n : image)
    positions.push_back(grid_positions(g, n, align_corners, theta.dtype()));
  return affine_grid(theta, positions);
}

// Indices of the kept boxes, best score first.
T nms(Call& g, T boxes, T scores, double threshold) {
  T most = unsqueeze(size(boxes, 0), {0});
  T limit = g.tensor(Tensor::of<float>(DType::Float, {1}, {static_cast<float>(threshold)}));
  T kept = node("NonMaxSuppression", {unsqueeze(cast(boxes, DType::Float), {0}),
                                      unsqueeze(cast(scores, DType::Float), {0, 1}), most, limit});
  return gather(kept, g.i64(2), 1);  // batch, class, box
}

// Boxes come as [K, 5]: the number of the image, then the corners. A scale that is computed (from
// the sizes of image and features) is applied before: the kernels multiply in the boxes' type too.
T roi_align(Call& g, T x, T rois, T scale, int64_t height, int64_t width, int64_t sampling,
            bool aligned) {
  T batch = cast(gather(rois, g.i64(0), 1), DType::Int64);
  T boxes = slice(rois, 1, known(1), known(5));
  float factor = 1;
  if (scale->data)
    factor = static_cast<float>(cast(scale, DType::Double)->data->values<double>()[0]);
  else
    boxes = boxes * cast(scale, boxes.dtype());
  return node("RoiAlign", {x, boxes, batch},
              {{"spatial_scale", factor},
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
    op<affine_grid_of>(
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
