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

// How one axis is written: padding behind, elements cut off there, and whether ceil_mode is needed.
struct Fit {
  int64_t end = 0, crop = 0;
  bool ceil_mode = false;
};

// An axis of known size has one padding under which rounding makes no difference. ONNX states one
// window too many before opset 22 where PyTorch drops the last one, so no axis of known size may
// leave that to ceil_mode; `exact` asks for that padding even where it means to cut elements off.
// An unknown size needs one more stride of padding where no window can be dropped, else ceil_mode.
Fit fit_axis(const Window& w, size_t i, std::optional<int64_t> size, bool exact) {
  Fit f{w.padding[i]};
  if (!w.ceil) return f;
  if (size) {
    const int64_t windows = count(w, i, *size);
    const int64_t end = (windows - 1) * w.stride[i] + extent(w, i) - *size - w.padding[i];
    // ONNX Runtime takes no padding as large as the kernel. So much is only needed where windows
    // are dilated and none is dropped, which ceil_mode says too.
    if (end >= w.kernel[i]) {
      f.ceil_mode = true;
      return f;
    }
    f.end = exact ? std::max<int64_t>(end, 0) : std::max(f.end, end);
    f.crop = exact ? std::max<int64_t>(-end, 0) : 0;
  } else if (w.padding[i] + w.stride[i] <= w.kernel[i]) {
    f.end += exact ? 0 : w.stride[i] - 1;
  } else {
    f.ceil_mode = w.stride[i] > 1;
  }
  return f;
}

// All axes, as they are written.
struct Plan {
  Ints begins, ends, crops;
  bool ceil_mode = false;
  bool partial = false;  // some window may reach beyond the padded input
};

Plan plan(T x, const Window& w, size_t n) {
  const auto fits = [&](bool exact) {
    Plan p{w.padding, {}, {}};
    for (size_t i = 0; i < n; ++i) {
      const Fit f = fit_axis(w, i, x.dim(x.rank() - static_cast<int64_t>(n - i)), exact);
      p.ends.push_back(f.end);
      p.crops.push_back(f.crop);
      p.ceil_mode |= f.ceil_mode;
      p.partial |= f.ceil_mode || f.end != w.padding[i];
    }
    return p;
  };
  Plan p = fits(false);
  return p.ceil_mode ? fits(true) : p;
}

ir::Attributes attributes(const Window& w, const Plan& p) {
  Ints pads = p.begins;
  pads.insert(pads.end(), p.ends.begin(), p.ends.end());
  ir::Attributes a{{"kernel_shape", w.kernel}, {"strides", w.stride}, {"pads", pads}};
  if (p.ceil_mode) a.set("ceil_mode", int64_t{1});
  return a;
}

// Zeros before and behind each of the last axes of a batch.
T pad_zeros(Call& g, T x, const Ints& begins, const Ints& ends) {
  const size_t n = begins.size();
  Ints pads(2 * (n + 2), 0);
  for (size_t i = 0; i < n; ++i) {
    pads[2 + i] = begins[i];
    pads[n + 4 + i] = ends[i];
  }
  return node("Pad", {x, g.i64s(pads), number(0, x)}, {{"mode", std::string("constant")}});
}

// Cuts off elements behind that no window reaches.
T crop_axes(T x, const Ints& crops) {
  for (size_t i = 0; i < crops.size(); ++i)
    if (crops[i] > 0) x = slice(x, static_cast<int64_t>(i) + 2, known(0), known(-crops[i]));
  return x;
}

bool any_positive(const Ints& v) {
  return std::any_of(v.begin(), v.end(), [](int64_t n) { return n > 0; });
}

// Number of windows along axis i by PyTorch's ceil rule, computed in the graph.
Int computed_count(Call& g, const Window& w, size_t i, const Int& size) {
  const int64_t s = w.stride[i];
  Int rounded_up = floor_div(size + known(2 * w.padding[i] - extent(w, i) + s - 1), s);
  Int last_start = floor_div(size + known(w.padding[i] - 1), s);
  T last = minimum(g.value(rounded_up), g.value(last_start));
  return computed(last) + known(1);
}

// The element type to pool in: ONNX pools floats only (and bytes).
DType pool_type(DType t) { return is_float(t) ? t : DType::Double; }

// Whether some window may hold no element: its taps can step over an axis shorter than the
// dilation. LibTorch takes such an axis for kernels of two, and with ceil_mode.
bool has_empty_windows(T x, const Window& w) {
  const size_t n = w.kernel.size();
  for (size_t i = 0; i < n; ++i) {
    const auto size = x.dim(x.rank() - static_cast<int64_t>(n - i));
    const bool may_be_shorter = w.kernel[i] == 2 || w.ceil;
    if (may_be_shorter && w.padding[i] > 0 && w.dilation[i] > 1 && (!size || *size < w.dilation[i]))
      return true;
  }
  return false;
}

// Values, and with `indices` each one's position in its own plane.
Values max_pool(Call& g, T x, const Window& w, size_t n, bool indices) {
  const bool batched = x.rank() == static_cast<int64_t>(n) + 2;
  const Plan p = plan(x, w, n);
  const bool dilated =
      std::any_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d != 1; });
  if (indices && any_positive(p.crops))
    throw Unsupported(
        "indices of a max pool with ceil_mode whose stride is larger than its kernel");
  T in = cast(x, pool_type(x.dtype()));
  if (!batched) in = unsqueeze(in, {0});
  const auto pool = [&](T v) -> Values {
    v = crop_axes(v, p.crops);
    ir::Attributes a = attributes(w, p);
    if (dilated) a.set("dilations", w.dilation);
    return nodes("MaxPool", {v}, std::move(a), indices ? 2 : 1);
  };
  Values y = pool(in);
  if (has_empty_windows(x, w)) {
    // ONNX Runtime gives the lowest finite number for a window without elements, LibTorch -inf: a
    // pool over one plane of zeros tells which windows those are.
    Dims plane{known(1), known(1)};
    for (size_t i = 0; i < n; ++i)
      plane.push_back(size_of(x, x.rank() - static_cast<int64_t>(n - i)));
    T empty = pool(expand(number(0, in), plane))[0] < -1.0;
    y[0] = where(empty, -std::numeric_limits<double>::infinity(), y[0]);
  }
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

T avg_pool(Call& g, T x, const Window& w, bool count_include_pad, std::optional<int64_t> divisor,
           size_t n) {
  if (!is_float(x.dtype())) throw Unsupported("average pooling of integers");
  const int64_t rank = x.rank();
  const bool batched = rank == static_cast<int64_t>(n) + 2;
  Plan p = plan(x, w, n);
  T in = batched ? x : unsqueeze(x, {0});
  bool include = count_include_pad || divisor;
  Dims windows;
  double factor = 1;  // from the window's own divisor to the model's
  if (divisor) {
    factor /= static_cast<double>(*divisor);
    for (int64_t k : w.kernel) factor *= static_cast<double>(k);
  }
  if (p.partial && include) {
    // The padding counts, what lies beyond it does not: pad for real, then leave out the rest.
    // With a divisor of the model's own everything may count.
    const Ints begins = p.begins;
    Ints ends = begins;
    for (size_t i = 0; i < n; ++i) {
      const auto size = x.dim(rank - static_cast<int64_t>(n - i));
      if (divisor && p.ceil_mode && !size) ends[i] += w.stride[i] - 1;
      if (p.ceil_mode)  // one window more than PyTorch has is possible
        windows.push_back(computed_count(g, w, i, size_of(x, rank - static_cast<int64_t>(n - i))));
      // An end below the padding, or below 0, cuts off elements of the padded input.
      const int64_t end = p.ends[i] - p.crops[i] - begins[i];
      p.begins[i] = 0;
      p.ends[i] = std::max<int64_t>(end, 0);
      p.crops[i] = std::max<int64_t>(-end, 0);
    }
    if (divisor) p.ceil_mode = false;
    // ONNX Runtime joins a Pad that stands right before a pool and then rejects the padding. The
    // factor below comes between them; without one, a Slice of one more element does.
    if (divisor && factor == 1)
      for (size_t i = 0; i < n; ++i) {
        ++ends[i];
        ++p.crops[i];
      }
    if (any_positive(ends)) in = pad_zeros(g, in, begins, ends);
    include = divisor.has_value();
  }
  in = crop_axes(in, p.crops);
  if (factor != 1) in = in * factor;
  ir::Attributes a = attributes(w, p);
  if (include) a.set("count_include_pad", int64_t{1});
  T y = node("AveragePool", {in}, std::move(a));
  for (size_t i = 0; i < windows.size(); ++i)
    y = slice(y, static_cast<int64_t>(i) + 2, known(0), windows[i]);
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
