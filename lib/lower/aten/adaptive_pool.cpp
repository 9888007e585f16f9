// Adaptive pooling: window j of an axis of L elements is [floor(j*L/o), ceil((j+1)*L/o)).
#include "lib/lower/aten/adaptive_pool.h"

#include <algorithm>
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// Start and end of window j; exact for computed lengths too.
Int window_start(Emit& g, const Int& length, int64_t j, int64_t out) {
  return floor_div(g, mul(g, length, known(j)), out);
}
Int window_end(Emit& g, const Int& length, int64_t j, int64_t out) {
  return floor_div(g, add(g, mul(g, length, known(j + 1)), known(out - 1)), out);
}

// [L, o]: column j holds 1/len inside window j and 0 elsewhere.
Value averaging_matrix(Emit& g, const Int& length, const Int& out, DType t) {
  if (length.known && out.known) {
    const int64_t l = *length.known, o = *out.known;
    std::vector<double> m(static_cast<size_t>(l * o), 0.0);
    for (int64_t j = 0; j < o; ++j) {
      const int64_t s = j * l / o, e = ((j + 1) * l + o - 1) / o;
      for (int64_t i = s; i < e; ++i) m[i * o + j] = 1.0 / static_cast<double>(e - s);
    }
    return floats(g, t, {l, o}, m);
  }
  Value l = g.to_value(length), o = g.to_value(out);
  Value i = unsqueeze(g, iota(g, length), {1});
  Value j = unsqueeze(g, iota(g, out), {0});
  Value start = div(g, mul(g, j, l), o);
  Value next = mul(g, add(g, j, g.i64(1)), l);
  Value end = div(g, add(g, next, sub(g, o, g.i64(1))), o);
  Value outside =
      g.node("Or", {g.node("Less", {i, start}), g.node("Not", {g.node("Less", {i, end})})});
  Value weight = div(g, g.number(1, t), g.cast(sub(g, end, start), t));
  return where(g, outside, g.number(0, t), weight);
}

}  // namespace

Value nn::adaptive_avg(Emit& g, Value x, Dims out, size_t n) {
  if (!is_float(g.dtype(x))) throw Unsupported("adaptive average pooling of integers");
  if (out.size() == 1) out.resize(n, out[0]);
  const int64_t rank = g.rank(x), first = rank - static_cast<int64_t>(n);
  Ints axes = range(first, rank), ratio;
  bool ones = true, divides = true, same = true;
  for (size_t i = 0; i < n; ++i) {
    auto size = g.dim(x, axes[i]);
    ones = ones && out[i].known == 1;
    const bool both = size && out[i].known && *out[i].known > 0;
    divides = divides && both && *size % *out[i].known == 0;
    same = same && both && *size == *out[i].known;
    if (divides) ratio.push_back(*size / *out[i].known);
  }
  if (same) return x;
  if (ones) {
    if (first == 2 && g.dtype(x) != DType::Double) return g.node("GlobalAveragePool", {x});
    return reduce(g, "ReduceMean", x, axes);
  }
  if (divides) {
    Value in = first == 2 ? x : unsqueeze(g, x, {0});
    Value y = g.node("AveragePool", {in}, {{"kernel_shape", ratio}, {"strides", ratio}});
    return first == 2 ? y : squeeze(g, y, {0});
  }
  Dims lengths;
  for (int64_t a : axes) lengths.push_back(dim(g, x, a));
  for (size_t i = n; i-- > 0;) {
    if (out[i].known && lengths[i].known && *out[i].known == *lengths[i].known) continue;
    x = weigh_axis(g, x, rank, axes[i], averaging_matrix(g, lengths[i], out[i], g.dtype(x)));
  }
  return x;
}

namespace {

// None as a size keeps the axis: it arrives as the input's own size.
bool keeps_axis(Emit& g, Value x, int64_t axis, const Int& length, const Int& out) {
  if (length.known || out.known) return length.known == out.known;
  const Shape &from = x->type.shape, &to = g.result_shape();
  if (!from || !to) return false;
  const Dim &a = (*from)[static_cast<size_t>(axis)], &b = (*to)[static_cast<size_t>(axis)];
  return a.is_symbol() && b.is_symbol() && a.symbol == b.symbol;
}

// Largest element of each window of one axis: o slices, each reduced.
Value max_axis(Emit& g, Value x, int64_t axis, const Int& length, int64_t out) {
  Values parts;
  for (int64_t j = 0; j < out; ++j) {
    Value s = slice(g, x, axis, window_start(g, length, j, out), window_end(g, length, j, out));
    parts.push_back(reduce(g, "ReduceMax", s, {axis}));
  }
  return concat(g, parts, axis);
}

// The same for a number of windows known at run time only: every window looks at the whole axis.
Value masked_max_axis(Emit& g, Value x, int64_t rank, int64_t axis, const Int& length,
                      const Int& out) {
  Value l = g.to_value(length), o = g.to_value(out);
  Value i = unsqueeze(g, iota(g, length), {0}), j = unsqueeze(g, iota(g, out), {1});
  Value next = add(g, mul(g, add(g, j, g.i64(1)), l), sub(g, o, g.i64(1)));
  Value before = g.node("Less", {i, div(g, mul(g, j, l), o)});
  Value inside = g.node("And", {g.node("Not", {before}), g.node("Less", {i, div(g, next, o)})});
  inside = unsqueeze(g, inside, range(2, rank - axis + 1));  // [o, L, 1, ..]
  Value lowest = num(g, -std::numeric_limits<double>::infinity(), x);
  Value seen = where(g, inside, unsqueeze(g, x, {axis}), lowest);
  return reduce(g, "ReduceMax", seen, {axis + 1}, false);
}

// Position in the plane of the first largest element of every window, one window at a time.
Value max_positions(Emit& g, Value x, int64_t rank, const Dims& lengths, const Ints& out) {
  const int64_t n = static_cast<int64_t>(out.size()), first = rank - n;
  int64_t windows = 1;
  for (int64_t o : out) windows *= o;
  Dims lead;
  for (int64_t i = 0; i < first; ++i) lead.push_back(dim(g, x, i));
  Values found;
  for (int64_t k = 0; k < windows; ++k) {
    Value part = x;
    Dims starts, extents;
    for (int64_t i = n - 1, rest = k; i >= 0; --i) {
      const int64_t j = rest % out[i];
      rest /= out[i];
      Int s = window_start(g, lengths[i], j, out[i]), e = window_end(g, lengths[i], j, out[i]);
      part = slice(g, part, first + i, s, e);
      starts.insert(starts.begin(), s);
      extents.insert(extents.begin(), sub(g, e, s));
    }
    Dims flat = lead;
    flat.push_back(product(g, extents));
    Value local =
        g.node("ArgMax", {reshape(g, part, flat)}, {{"axis", first}, {"keepdims", int64_t{1}}});
    Value position = nullptr;  // row-major: peel the axes off from the last one
    Int stride = known(1);
    for (int64_t i = n - 1; i >= 0; --i) {
      Value size = g.to_value(extents[i]);
      Value quotient = div(g, local, size);
      Value coordinate = i == 0 ? local : sub(g, local, mul(g, quotient, size));
      coordinate = mul(g, add(g, coordinate, g.to_value(starts[i])), g.to_value(stride));
      position = position ? add(g, position, coordinate) : coordinate;
      stride = mul(g, stride, lengths[i]);
      local = quotient;
    }
    found.push_back(position);
  }
  Dims shape = lead;
  for (int64_t o : out) shape.push_back(known(o));
  return reshape(g, concat(g, found, first), shape);
}

// Values and positions are computed apart: whoever uses only the values pays only for them.
Values adaptive_max(Emit& g, Value x, Dims out, size_t n) {
  if (out.size() == 1) out.resize(n, out[0]);
  const int64_t rank = g.rank(x), first = rank - static_cast<int64_t>(n);
  const DType t = g.dtype(x);
  Ints axes = range(first, rank);
  Dims lengths;
  for (int64_t a : axes) lengths.push_back(dim(g, x, a));
  Value in = g.cast(x, is_float(t) ? t : DType::Double);
  Value best = in;
  if (std::all_of(out.begin(), out.end(), [](const Int& o) { return o.known == 1; })) {
    best = reduce(g, "ReduceMax", in, axes);
  } else {
    for (size_t i = 0; i < n; ++i) {
      if (keeps_axis(g, x, axes[i], lengths[i], out[i])) continue;
      best = out[i].known ? max_axis(g, best, axes[i], lengths[i], *out[i].known)
                          : masked_max_axis(g, best, rank, axes[i], lengths[i], out[i]);
    }
  }
  Value positions = nullptr;  // of windows whose number is not known: nobody has asked yet
  if (Emit::all_known(out))
    positions = max_positions(g, in, rank, lengths, g.known(out, "output_size"));
  return {g.cast(best, t), positions};
}

template <size_t N>
constexpr auto average = [](Emit& g, Value x, Dims size) { return adaptive_avg(g, x, size, N); };
template <size_t N>
constexpr auto maximum = [](Emit& g, Value x, Dims size) { return adaptive_max(g, x, size, N); };

constexpr Lowering table[] = {
    op("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", average<1>),
    op("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", average<2>),
    op("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", average<3>),
    op("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", average<2>),
    op("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", average<3>),
    op("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
       maximum<1>),
    op("aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
       maximum<2>),
    op("aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
       maximum<3>),
};

}  // namespace

Table adaptive_pool_rows() { return table; }

}  // namespace oe::lower
