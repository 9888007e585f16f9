// A tensor with one view of it replaced: what writes through views become.
#include "lib/lower/aten/scatter_build.h"
#include "lib/lower/aten/strided.h"

namespace oe::lower {
namespace {

// The bounds of x[start:end] as PyTorch clamps them: 0 <= start <= end <= size.
struct Bounds {
  Int start, end;
};

Bounds clamped(T x, int64_t axis, const Int& start, const Int& end) {
  const Int size = size_of(x, axis), zero = known(0);
  auto place = [&](const Int& i) {
    if (i.known == 0) return i;
    if (i.known == kEnd) return size;
    return max(min(wrap(i, size), size), zero);
  };
  const Int first = place(start);
  return {first, first.known == 0 ? place(end) : max(first, place(end))};
}

// Head, source and tail in a row: valid at every opset.
T replace_range(T x, T src, int64_t axis, const Int& start, const Int& end) {
  Values parts;
  if (start.known != 0) parts.push_back(slice(x, axis, known(0), start));
  parts.push_back(src);
  const bool to_the_end = end.known && (*end.known == kEnd || end.known == x.dim(axis));
  if (!to_the_end) parts.push_back(slice(x, axis, end, known(kEnd)));
  return concat(parts, axis);
}

T slice_scatter(Call& g, T x, T src, Axis axis, const std::optional<Int>& start,
                const std::optional<Int>& end, const Int& step) {
  src = cast(src, x.dtype());
  const Int from = start.value_or(known(0)), to = end.value_or(known(kEnd));
  if (step.known == 1) {
    // Bounds from the start in the right order clamp by themselves when they are cut.
    if (from.known && to.known && *from.known >= 0 && *to.known >= *from.known)
      return replace_range(x, src, axis, from, to);
    const Bounds b = clamped(x, axis, from, to);
    return replace_range(x, src, axis, b.start, b.end);
  }
  const Bounds b = clamped(x, axis, from, to);
  const Int count = ceil_div(b.end - b.start, step);
  T steps = g.iota(count) * g.value(step);
  T places = with_rank(steps + g.value(b.start), 1);
  return scatter_slices(g, x, axis, places, src);
}

T select_scatter(T x, T src, Axis axis, const Int& index) {
  src = unsqueeze(cast(src, x.dtype()), {axis});
  if (index.known && *index.known < 0 && !x.dim(axis)) {
    const int64_t next = *index.known == -1 ? kEnd : *index.known + 1;
    return replace_range(x, src, axis, index, known(next));
  }
  const Int at = wrap(index, size_of(x, axis));
  return replace_range(x, src, axis, at, at + known(1));
}

T diagonal_scatter(Call& g, T x, T src, int64_t offset, Axis axis1, Axis axis2) {
  const Diagonal d(x, offset, axis1, axis2);
  T y = scatter_slices(g, d.flattened(x), d.rank - 2, d.places(g), src);
  return d.restored(y);
}

T as_strided_scatter(Call& g, T x, T src, const Dims& size, const Dims& stride,
                     const std::optional<Int>& offset) {
  T places = strided_places(g, size, stride, offset.value_or(known(0)));
  T y = scatter_elements(g, flat(x), 0, flat(places), flat(src));
  return x.rank() == 0 ? to_0d(y) : restore(y, x);
}

constexpr Lowering table[] = {
    op<slice_scatter>(
        "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
    op<select_scatter>(
        "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"),
    op<diagonal_scatter>(
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    op<as_strided_scatter>(
        "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
};

}  // namespace

Table slice_scatter_rows() { return table; }

}  // namespace oe::lower
