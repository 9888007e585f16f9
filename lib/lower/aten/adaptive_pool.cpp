// Adaptive pooling: window j of an axis of L elements is [floor(j*L/o), ceil((j+1)*L/o)).
#include "lib/lower/aten/adaptive_pool.h"

#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// [L, o]: column j holds 1/len inside window j and 0 elsewhere.
T averaging_matrix(Call& g, const Int& length, const Int& out, DType t) {
  if (length.known && out.known) {
    const int64_t l = *length.known, o = *out.known;
    std::vector<double> m(static_cast<size_t>(l * o), 0.0);
    for (int64_t j = 0; j < o; ++j) {
      const int64_t s = j * l / o, e = ((j + 1) * l + o - 1) / o;
      for (int64_t i = s; i < e; ++i) m[i * o + j] = 1.0 / static_cast<double>(e - s);
    }
    return g.numbers(m, {l, o}, t);
  }
  T l = g.value(length), o = g.value(out);
  T i = unsqueeze(g.iota(length), {1});
  T j = unsqueeze(g.iota(out), {0});
  T start = j * l / o;
  T next = (j + 1) * l;
  T end = (next + (o - 1)) / o;
  T outside = (i < start) | ~(i < end);
  T weight = 1 / cast(end - start, t);
  return where(outside, 0, weight);
}

}  // namespace

T adaptive_avg(Call& g, T x, Dims out, size_t n) {
  if (!is_float(x.dtype())) throw Unsupported("adaptive average pooling of integers");
  if (out.size() == 1) out.resize(n, out[0]);
  const int64_t rank = x.rank(), first = rank - static_cast<int64_t>(n);
  Ints axes = range(first, rank), ratio;
  bool ones = true, divides = true, same = true;
  for (size_t i = 0; i < n; ++i) {
    auto size = x.dim(axes[i]);
    ones = ones && out[i].known == 1;
    const bool both = size && out[i].known && *out[i].known > 0;
    divides = divides && both && *size % *out[i].known == 0;
    same = same && both && *size == *out[i].known;
    if (divides) ratio.push_back(*size / *out[i].known);
  }
  if (same) return x;
  if (ones) {
    if (first == 2) return unary("GlobalAveragePool", x);
    return reduce("ReduceMean", x, axes);
  }
  if (divides) {
    T in = first == 2 ? x : unsqueeze(x, {0});
    T y = node("AveragePool", {in}, {{"kernel_shape", ratio}, {"strides", ratio}});
    return first == 2 ? y : squeeze(y, {0});
  }
  Dims lengths;
  for (int64_t a : axes) lengths.push_back(size_of(x, a));
  for (size_t i = n; i-- > 0;) {
    if (out[i].known && lengths[i].known && *out[i].known == *lengths[i].known) continue;
    x = weigh_axis(x, rank, axes[i], averaging_matrix(g, lengths[i], out[i], x.dtype()));
  }
  return x;
}

namespace {

// None as a size keeps the axis: it arrives as the input's own size.
bool keeps_axis(Call& g, T x, int64_t axis, const Int& length, const Int& out) {
  if (length.known || out.known) return length.known == out.known;
  const Shape &from = x->type.shape, &to = g.result_shape();
  if (!from || !to) return false;
  const Dim &a = (*from)[static_cast<size_t>(axis)], &b = (*to)[static_cast<size_t>(axis)];
  return a.is_symbol() && b.is_symbol() && a.symbol == b.symbol;
}

// Where the windows of an axis begin, [o], and which elements they hold, [o, k]: those of a shorter
// window end with repetitions of its last one, which changes no maximum and is never the first.
struct Places {
  T starts, elements;
  Int width;  // k
};

Places window_places(Call& g, const Int& length, const Int& out) {
  if (length.known && out.known) {
    const int64_t l = *length.known, o = *out.known;
    Ints starts, ends, table;
    int64_t width = 1;
    for (int64_t j = 0; j < o; ++j) {
      starts.push_back(j * l / o);
      ends.push_back(((j + 1) * l + o - 1) / o);
      width = std::max(width, ends.back() - starts.back());
    }
    for (size_t j = 0; j < starts.size(); ++j)
      for (int64_t k = 0; k < width; ++k) table.push_back(std::min(starts[j] + k, ends[j] - 1));
    return {g.i64s(starts), g.tensor(Tensor::of<int64_t>(DType::Int64, {o, width}, table)),
            known(width)};
  }
  T l = g.value(length), o = g.value(out), j = g.iota(out);
  T starts = j * l / o;
  // The last element of window j: ceil((j + 1) * l / o) - 1.
  T last = ((j + 1) * l - 1) / o;
  const Int width{std::nullopt, (l + (o - 1)) / o + 1};
  T along = unsqueeze(starts, {1}) + unsqueeze(g.iota(width), {0});
  return {starts, minimum(along, unsqueeze(last, {1})), width};
}

// Position in the plane of the first largest element of every window: [.., windows.., elements of a
// window], and of the place among these the coordinates in the plane.
T max_positions(Call& g, T x, int64_t rank, const Dims& lengths, const Dims& out) {
  const auto n = static_cast<int64_t>(out.size());
  const int64_t first = rank - n;
  std::vector<Places> axes;
  Dims shape;
  for (int64_t i = 0; i < first; ++i) shape.push_back(size_of(x, i));
  T all = x;
  Ints perm = range(0, first);
  for (int64_t i = 0; i < n; ++i) {
    axes.push_back(window_places(g, lengths[i], out[i]));
    all = gather(all, axes.back().elements, first + 2 * i);
    perm.push_back(first + 2 * i);
    shape.push_back(out[i]);
  }
  for (int64_t i = 0; i < n; ++i) perm.push_back(first + 2 * i + 1);
  Dims widths;
  for (const Places& p : axes) widths.push_back(p.width);
  shape.push_back(product(widths));
  all = reshape(transpose(all, perm), shape);
  T place = node("ArgMax", {all}, {{"axis", rank}, {"keepdims", int64_t{0}}});
  T position = nullptr;  // row-major: peel the axes off from the last one
  Int stride = known(1);
  for (int64_t i = n - 1; i >= 0; --i) {
    T width = g.value(widths[i]);
    T quotient = i == 0 ? nullptr : place / width;
    T within = i == 0 ? place : place - quotient * width;
    T start = unsqueeze(axes[i].starts, range(1, n - i));
    T coordinate = (within + start) * g.value(stride);
    position = position ? position + coordinate : coordinate;
    stride = stride * lengths[i];
    place = quotient;
  }
  return position;
}

// Values and positions are computed apart: whoever uses only the values pays only for them.
Values adaptive_max(Call& g, T x, Dims out, size_t n) {
  if (out.size() == 1) out.resize(n, out[0]);
  const int64_t rank = x.rank(), first = rank - static_cast<int64_t>(n);
  const DType t = x.dtype();
  Ints axes = range(first, rank);
  Dims lengths;
  for (int64_t a : axes) lengths.push_back(size_of(x, a));
  T in = cast(x, is_float(t) ? t : DType::Double);
  T best = in;
  if (std::all_of(out.begin(), out.end(), [](const Int& o) { return o.known == 1; })) {
    best = reduce("ReduceMax", in, axes);  // GlobalMaxPool needs a batch and is slower
  } else {
    for (size_t i = 0; i < n; ++i) {
      if (keeps_axis(g, x, axes[i], lengths[i], out[i])) continue;
      const Places p = window_places(g, lengths[i], out[i]);
      best = reduce("ReduceMax", gather(best, p.elements, axes[i]), {axes[i] + 1}, false);
    }
  }
  return {cast(best, t), max_positions(g, in, rank, lengths, out)};
}

template <size_t N>
T average(Call& g, T x, const Dims& size) {
  return adaptive_avg(g, x, size, N);
}
template <size_t N>
Values maximum(Call& g, T x, const Dims& size) {
  return adaptive_max(g, x, size, N);
}

constexpr Lowering table[] = {
    op<average<1>>("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor"),
    op<average<2>>(names("aten::adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d"),
                   "(Tensor self, SymInt[2] output_size) -> Tensor"),
    op<average<3>>(names("aten::adaptive_avg_pool3d", "aten::_adaptive_avg_pool3d"),
                   "(Tensor self, SymInt[3] output_size) -> Tensor"),
    op<maximum<1>>(
        "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)"),
    op<maximum<2>>(
        "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"),
    op<maximum<3>>(
        "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"),
};

}  // namespace

Table adaptive_pool_rows() { return table; }

}  // namespace oe::lower
