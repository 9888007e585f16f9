// Operators that files name but LibTorch does not have: schemas so that they load, kernels so that
// the example run works. The algorithms are those of the torchvision documentation.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lib/torch/load.h"

namespace oe::torch_io {
namespace {

// Greedy suppression of (x1, y1, x2, y2) boxes by descending score; indices of those kept.
at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double iou_threshold) {
  TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4, "boxes should be [N, 4], got ",
              boxes.sizes());
  TORCH_CHECK(scores.dim() == 1 && scores.size(0) == boxes.size(0),
              "boxes and scores should have the same number of elements, got ", boxes.size(0),
              " and ", scores.sizes());
  const at::Tensor b = boxes.to(at::kFloat).contiguous(), s = scores.to(at::kFloat).contiguous();
  const auto* box = b.const_data_ptr<float>();
  const auto* score = s.const_data_ptr<float>();
  std::vector<int64_t> order(static_cast<size_t>(b.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return score[i] > score[j]; });
  const auto area = [&](int64_t i) {
    return (box[4 * i + 2] - box[4 * i]) * (box[4 * i + 3] - box[4 * i + 1]);
  };
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    const bool suppressed = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      const float w = std::max(
          0.f, std::min(box[4 * i + 2], box[4 * k + 2]) - std::max(box[4 * i], box[4 * k]));
      const float h = std::max(
          0.f, std::min(box[4 * i + 3], box[4 * k + 3]) - std::max(box[4 * i + 1], box[4 * k + 1]));
      const float common = w * h;
      return common / (area(i) + area(k) - common) > iou_threshold;
    });
    if (!suppressed) kept.push_back(i);
  }
  at::Tensor out = at::empty({static_cast<int64_t>(kept.size())}, at::kLong);
  std::copy(kept.begin(), kept.end(), out.mutable_data_ptr<int64_t>());
  return out;
}

// Bilinear sample of a height x width plane; zero outside by more than one pixel.
float sample(const float* plane, int64_t height, int64_t width, float y, float x) {
  if (y < -1 || y > static_cast<float>(height) || x < -1 || x > static_cast<float>(width)) return 0;
  y = std::max(y, 0.f);
  x = std::max(x, 0.f);
  const auto clamp_axis = [](float& at, int64_t size) {
    int64_t low = static_cast<int64_t>(at), high = low + 1;
    if (low >= size - 1) {
      high = low = size - 1;
      at = static_cast<float>(low);
    }
    return std::pair{low, high};
  };
  const auto [y0, y1] = clamp_axis(y, height);
  const auto [x0, x1] = clamp_axis(x, width);
  const float fy = y - static_cast<float>(y0), fx = x - static_cast<float>(x0);
  return (1 - fy) * (1 - fx) * plane[y0 * width + x0] + (1 - fy) * fx * plane[y0 * width + x1] +
         fy * (1 - fx) * plane[y1 * width + x0] + fy * fx * plane[y1 * width + x1];
}

// The image that a box names, which drawn inputs do not always have.
int64_t image_of(float named, int64_t images) {
  TORCH_CHECK(named >= 0 && named < static_cast<float>(images), "a box of image ", named, " of ",
              images);
  return static_cast<int64_t>(named);
}

at::Tensor roi_align(const at::Tensor& input, const at::Tensor& rois, double spatial_scale,
                     int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                     bool aligned) {
  TORCH_CHECK(input.dim() == 4, "input should be [N, C, H, W], got ", input.sizes());
  TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "rois should be [K, 5], got ", rois.sizes());
  const at::Tensor in = input.to(at::kFloat).contiguous(), r = rois.to(at::kFloat).contiguous();
  const int64_t channels = in.size(1), height = in.size(2), width = in.size(3);
  at::Tensor out = at::empty({r.size(0), channels, pooled_height, pooled_width}, at::kFloat);
  const auto* data = in.const_data_ptr<float>();
  auto* result = out.mutable_data_ptr<float>();
  const auto scale = static_cast<float>(spatial_scale);
  const float offset = aligned ? 0.5f : 0.f;
  for (int64_t k = 0; k < r.size(0); ++k) {
    const float* roi = r.const_data_ptr<float>() + 5 * k;
    const int64_t image = image_of(roi[0], in.size(0));
    const float x0 = roi[1] * scale - offset, y0 = roi[2] * scale - offset;
    float roi_w = roi[3] * scale - offset - x0, roi_h = roi[4] * scale - offset - y0;
    if (!aligned) {  // the older form has no empty regions
      roi_w = std::max(roi_w, 1.f);
      roi_h = std::max(roi_h, 1.f);
    }
    const float bin_h = roi_h / static_cast<float>(pooled_height);
    const float bin_w = roi_w / static_cast<float>(pooled_width);
    const int64_t grid_h = sampling_ratio > 0 ? sampling_ratio : std::ceil(bin_h);
    const int64_t grid_w = sampling_ratio > 0 ? sampling_ratio : std::ceil(bin_w);
    const auto count = static_cast<float>(std::max<int64_t>(grid_h * grid_w, 1));
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane = data + (image * channels + c) * height * width;
      for (int64_t ph = 0; ph < pooled_height; ++ph)
        for (int64_t pw = 0; pw < pooled_width; ++pw) {
          float sum = 0;
          for (int64_t iy = 0; iy < grid_h; ++iy)
            for (int64_t ix = 0; ix < grid_w; ++ix)
              sum +=
                  sample(plane, height, width,
                         y0 + static_cast<float>(ph) * bin_h +
                             (static_cast<float>(iy) + .5f) * bin_h / static_cast<float>(grid_h),
                         x0 + static_cast<float>(pw) * bin_w +
                             (static_cast<float>(ix) + .5f) * bin_w / static_cast<float>(grid_w));
          *result++ = sum / count;
        }
    }
  }
  return out.to(input.scalar_type());
}

// The largest element of each bin, and its position in the plane; 0 and -1 for an empty bin.
std::tuple<at::Tensor, at::Tensor> roi_pool(const at::Tensor& input, const at::Tensor& rois,
                                            double spatial_scale, int64_t pooled_height,
                                            int64_t pooled_width) {
  const at::Tensor x = input.to(at::kFloat).contiguous(), boxes = rois.to(at::kFloat).contiguous();
  const int64_t count = boxes.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
  const std::vector<int64_t> shape{count, channels, pooled_height, pooled_width};
  at::Tensor out = at::empty(shape, x.options());
  at::Tensor where = at::empty(shape, x.options().dtype(at::kInt));
  const auto scale = static_cast<float>(spatial_scale);
  for (int64_t k = 0; k < count; ++k) {
    const float* box = boxes.const_data_ptr<float>() + k * 5;
    const auto corner = [&](int i) { return static_cast<int64_t>(std::round(box[i] * scale)); };
    const int64_t x0 = corner(1), y0 = corner(2);
    const auto bin_w = static_cast<float>(std::max<int64_t>(corner(3) - x0 + 1, 1)) /
                       static_cast<float>(pooled_width);
    const auto bin_h = static_cast<float>(std::max<int64_t>(corner(4) - y0 + 1, 1)) /
                       static_cast<float>(pooled_height);
    const auto edge = [](float at, int64_t start, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(at) + start, 0, size);
    };
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane =
          x.const_data_ptr<float>() + (image_of(box[0], x.size(0)) * channels + c) * height * width;
      for (int64_t bin = 0; bin < pooled_height * pooled_width; ++bin) {
        const auto ph = static_cast<float>(bin / pooled_width);
        const auto pw = static_cast<float>(bin % pooled_width);
        const int64_t top = edge(std::floor(ph * bin_h), y0, height);
        const int64_t bottom = edge(std::ceil((ph + 1) * bin_h), y0, height);
        const int64_t left = edge(std::floor(pw * bin_w), x0, width);
        const int64_t right = edge(std::ceil((pw + 1) * bin_w), x0, width);
        int64_t best = -1;
        for (int64_t i = top; i < bottom; ++i)
          for (int64_t j = left; j < right; ++j)
            if (best < 0 || plane[i * width + j] > plane[best]) best = i * width + j;
        const int64_t at = (k * channels + c) * pooled_height * pooled_width + bin;
        out.mutable_data_ptr<float>()[at] = best < 0 ? 0 : plane[best];
        where.mutable_data_ptr<int>()[at] = static_cast<int>(best);
      }
    }
  }
  return {out.to(input.scalar_type()), where};
}

bool registered(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""}).has_value();
}

void add_stubs(torch::Library& library) {
  if (!registered("torchvision::nms"))
    library.def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
                torch::dispatch(c10::DispatchKey::CPU, nms));
  if (!registered("torchvision::roi_align"))
    library.def(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
        "int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
        torch::dispatch(c10::DispatchKey::CPU, roi_align));
  if (!registered("torchvision::roi_pool"))
    library.def(
        "roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
        "int pooled_width) -> (Tensor, Tensor)",
        torch::dispatch(c10::DispatchKey::CPU, roi_pool));
}

}  // namespace

void register_stub_operators() {
  // Lives as long as the process: its destructor would take the operators away again.
  static torch::Library* const library = [] {
    auto* l =
        new torch::Library(torch::Library::FRAGMENT, "torchvision", std::nullopt, "onnx-export", 0);
    add_stubs(*l);
    return l;
  }();
  (void)library;
  register_quantized_operators();
}

}  // namespace oe::torch_io
