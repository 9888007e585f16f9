// Max and average pooling with fixed windows.
//
// PyTorch's ceil rule: round the number of windows up, then drop the last one if it would start in
// the padding behind the input. ONNX has ceil_mode only from opset 10, so it is written as padding
// at the end wherever that is the same.
#include <algorithm>
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil = false;
};

Window window(const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation,
              bool ceil, size_t n) {
  Window w{per_axis(kernel, n, 1), {}, per_axis(padding, n, 0), per_axis(dilation, n, 1), ceil};
  w.stride = stride.empty() ? w.kernel : per_axis(stride, n, 1);
  return w;
}

int64_t extent(const Window& w, size_t i) { return w.dilation[i] * (w.kernel[i] - 1) + 1; }

// How many windows fit on an axis of `size` elements.
int64_t count(const Window& w, size_t i, int64_t size) {
  const int64_t room = size + 2 * w.padding[i] - extent(w, i);
  const int64_t s = w.stride[i];
  if (!w.ceil) return room / s + 1;
  int64_t out = (room + s - 1) / s + 1;
  if ((out - 1) * s >= size + w.padding[i]) --out;
  return out;
}

// What to write: paddings, and whether some axis still needs ONNX's own ceil_mode.
struct Plan {
  Ints pads;
  bool ceil_mode = false;
  bool partial = false;  // some window may reach beyond the padded input
};

Plan plan(T x, const Window& w, size_t n) {
  Plan p;
  Ints ends = w.padding;
  const int64_t first = x.rank() - static_cast<int64_t>(n);
  // Dilation came to ONNX together with ceil_mode; padding could outgrow the kernel there.
  if (w.ceil)
    p.ceil_mode =
        std::any_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d != 1; });
  for (size_t i = 0; i < n && w.ceil; ++i) {
    if (auto size = x.dim(first + static_cast<int64_t>(i))) {
      const int64_t need =
          (count(w, i, *size) - 1) * w.stride[i] + extent(w, i) - *size - w.padding[i];
      ends[i] = std::max(ends[i], need);
    } else if (w.stride[i] > 1) {
      // No window is ever dropped when padding + stride <= extent: one more stride of padding
      // rounds up. Otherwise only ceil_mode knows.
      if (w.padding[i] + w.stride[i] <= extent(w, i)) {
        ends[i] += w.stride[i] - 1;
      } else {
        p.ceil_mode = true;
      }
    }
    p.partial = p.partial || ends[i] != w.padding[i] || p.ceil_mode;
  }
  if (p.ceil_mode) ends = w.padding;
  p.pads = w.padding;
  p.pads.insert(p.pads.end(), ends.begin(), ends.end());
  return p;
}

ir::Attributes attributes(const Window& w, const Plan& p) {
  ir::Attributes a{{"kernel_shape", w.kernel}, {"strides", w.stride}, {"pads", p.pads}};
  if (p.ceil_mode) a.set("ceil_mode", int64_t{1});
  return a;
}

// The element type to pool in: ONNX pools floats only (and bytes).
DType pool_type(DType t) { return is_float(t) ? t : DType::Double; }

// Values, and with `indices` each one's position in its own plane.
Values max_pool(Call& g, T x, const Window& w, size_t n, bool indices) {
  const bool batched = x.rank() == static_cast<int64_t>(n) + 2;
  const Plan p = plan(x, w, n);
  ir::Attributes a = attributes(w, p);
  if (std::any_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d != 1; }))
    a.set("dilations", w.dilation);
  T in = cast(x, pool_type(x.dtype()));
  if (!batched) in = unsqueeze(in, {0});
  Values y = nodes("MaxPool", {in}, std::move(a), indices ? 2 : 1);
  if (indices) {
    // ONNX counts over the whole tensor. The plane's own part is the remainder by its size;
    // Mod exists only from opset 10.
    Int plane = known(1);
    for (size_t i = 0; i < n; ++i)
      plane = plane * size_of(x, x.rank() - static_cast<int64_t>(n - i));
    T size = g.value(plane);
    y[1] = y[1] - y[1] / size * size;
  }
  if (!batched)
    for (T& v : y) v = squeeze(v, {0});
  y[0] = cast(y[0], x.dtype());
  return y;
}

// Number of windows along axis i by PyTorch's ceil rule, computed in the graph.
Int computed_count(Call& g, const Window& w, size_t i, const Int& size) {
  const int64_t s = w.stride[i];
  Int rounded_up = floor_div(size + known(2 * w.padding[i] - extent(w, i) + s - 1), s);
  Int last_start = floor_div(size + known(w.padding[i] - 1), s);
  T last = minimum(g.value(rounded_up), g.value(last_start));
  return computed(last) + known(1);
}

// Zeros before and behind each of the last n axes of a batch.
T pad_zeros(Call& g, T x, const Ints& begins, const Ints& ends) {
  const size_t n = begins.size();
  Ints pads(2 * (n + 2), 0);
  for (size_t i = 0; i < n; ++i) {
    pads[2 + i] = begins[i];
    pads[n + 4 + i] = ends[i];
  }
  return node("Pad", {x, g.i64s(pads), number(0, x)}, {{"mode", std::string("constant")}});
}

T avg_pool(Call& g, T x, Window w, bool count_include_pad, std::optional<int64_t> divisor,
           size_t n) {
  if (!is_float(x.dtype())) throw Unsupported("average pooling of integers");
  const int64_t rank = x.rank();
  const bool batched = rank == static_cast<int64_t>(n) + 2;
  Plan p = plan(x, w, n);
  T in = batched ? x : unsqueeze(x, {0});
  bool include = count_include_pad || divisor;
  Dims crop;
  if (p.partial && include) {
    // The padding counts, what lies beyond it does not: pad for real, then leave out the rest.
    // With a divisor of the model's own everything may count.
    const Ints begins(p.pads.begin(), p.pads.begin() + static_cast<int64_t>(n));
    Ints ends = begins;
    for (size_t i = 0; i < n; ++i) {
      if (divisor && p.ceil_mode) ends[i] += w.stride[i] - 1;
      if (p.ceil_mode)  // one window more than PyTorch has is possible
        crop.push_back(computed_count(g, w, i, size_of(x, rank - static_cast<int64_t>(n - i))));
      p.pads[n + i] -= begins[i];
      p.pads[i] = 0;
    }
    if (divisor) p.ceil_mode = false;
    if (std::any_of(ends.begin(), ends.end(), [](int64_t v) { return v != 0; }))
      in = pad_zeros(g, in, begins, ends);
    include = divisor.has_value();
  }
  double factor = 1;  // from the window's own divisor to the model's
  if (divisor) {
    factor /= static_cast<double>(*divisor);
    for (int64_t k : w.kernel) factor *= static_cast<double>(k);
  }
  // Before the pool, which is the same: ONNX Runtime joins a Pad that stands right before a pool
  // and then rejects the padding.
  if (factor != 1) in = in * factor;
  ir::Attributes a = attributes(w, p);
  if (include) a.set("count_include_pad", int64_t{1});
  T y = node("AveragePool", {in}, std::move(a));
  for (size_t i = 0; i < crop.size(); ++i)
    y = slice(y, static_cast<int64_t>(i) + 2, known(0), crop[i]);
  return batched ? y : squeeze(y, {0});
}

template <size_t N>
Values max_indices(Call& g, T x, const Ints& kernel, const Ints& stride, const Ints& padding,
                   const Ints& dilation, bool ceil) {
  return max_pool(g, x, window(kernel, stride, padding, dilation, ceil, N), N, true);
}
template <size_t N>
Values max_values(Call& g, T x, const Ints& kernel, const Ints& stride, const Ints& padding,
                  const Ints& dilation, bool ceil) {
  return max_pool(g, x, window(kernel, stride, padding, dilation, ceil, N), N, false);
}
template <size_t N>
T average(Call& g, T x, const Ints& kernel, const Ints& stride, const Ints& padding, bool ceil,
          bool include, std::optional<int64_t> divisor) {
  return avg_pool(g, x, window(kernel, stride, padding, {}, ceil, N), include, divisor, N);
}
T average1d(Call& g, T x, const Ints& kernel, const Ints& stride, const Ints& padding, bool ceil,
            bool include) {
  return average<1>(g, x, kernel, stride, padding, ceil, include, std::nullopt);
}

// Puts each value back at the position that pooling took it from; everything else is 0. ONNX's
// MaxUnpool counts positions over the whole tensor, ATen's in each plane, and asks for the window.
T max_unpool(T x, T indices, const Dims& output_size, Rest) {
  const int64_t n = static_cast<int64_t>(output_size.size());
  const int64_t rank = x.rank();
  const int64_t lead = rank - n;
  Dims planes;
  for (int64_t i = 0; i < lead; ++i) planes.push_back(size_of(x, i));
  Dims flat_in = planes, flat_out = planes, result = planes;
  Int plane = known(1);
  for (int64_t i = lead; i < rank; ++i) plane = plane * size_of(x, i);
  flat_in.push_back(plane);
  flat_out.push_back(product(output_size));
  result.insert(result.end(), output_size.begin(), output_size.end());
  T zeros = expand(number(0, x), flat_out);
  T y = node("ScatterElements", {zeros, reshape(indices, flat_in), reshape(x, flat_in)},
             {{"axis", lead}});
  return reshape(y, result);
}

constexpr Lowering table[] = {
    op<max_values<1>>(
        "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor"),
    op<max_values<2>>(
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor"),
    op<max_values<3>>(
        "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor"),
    op<max_indices<1>>(
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)"),
    op<max_indices<2>>(
        "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
    op<max_indices<3>>(
        "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
    op<average1d>(
        "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor"),
    op<average<2>>(
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    op<average<3>>(
        "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    op<max_unpool>(
        "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"),
    op<max_unpool>(
        "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor"),
};

}  // namespace

Table pool_rows() { return table; }

}  // namespace oe::lower
