// Elements repeated or in another order: repeat, tile, roll, flip, rot90, meshgrid.
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T tile(Call& g, T x, Dims repeats) {
  const auto wanted = static_cast<int64_t>(repeats.size());
  for (int64_t missing = x.rank() - wanted; missing > 0; --missing)
    repeats.insert(repeats.begin(), known(1));
  if (x.rank() < wanted) x = unsqueeze(x, range(0, wanted - x.rank()));
  if (std::all_of(repeats.begin(), repeats.end(), [](const Int& i) { return i.known == 1; }))
    return x;
  std::vector<Dim> dims;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const Dim& d = (*x->type.shape)[i];
    dims.push_back(d.is_number() && repeats[i].known ? Dim::of(d.number * *repeats[i].known)
                   : repeats[i].known == 1           ? d
                                                     : Dim::unknown());
  }
  return with_dims(node("Tile", {x, g.vector(repeats)}), std::move(dims));
}

// The last `shift` entries come first, whatever the sign and the size of the shift.
T roll_axis(T x, int64_t axis, const Int& shift) {
  const Int size = size_of(x, axis);
  if (size.known == 0) return x;
  const Int by = modulo(shift, max(size, known(1)));
  if (by.known == 0) return x;
  const Int at = size - by;
  return concat({slice(x, axis, at, known(kEnd)), slice(x, axis, known(0), at)}, axis);
}

T roll(T x, const Dims& shifts, const Axes& axes) {
  if (axes.empty()) return restore(roll_axis(flat(x), 0, shifts.at(0)), x);
  if (x.rank() == 0) return x;
  T y = x;
  for (size_t i = 0; i < axes.size(); ++i) y = roll_axis(y, axes[i], shifts[i]);
  return y;
}

T flip(T x, const Axes& axes) {
  if (x.rank() == 0) return x;
  T y = x;
  for (int64_t a : axes) y = reverse(y, a);
  return y;
}

T rot90(T x, int64_t k, const Axes& axes) {
  const int64_t turns = ((k % 4) + 4) % 4;
  if (turns == 0) return x;
  if (turns == 2) return flip(x, axes);
  const int64_t a = axes.at(0), b = axes.at(1);
  Ints perm = range(0, x.rank());
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(reverse(x, turns == 1 ? b : a), perm);
}

// "xy" swaps the first two axes of every result.
Values meshgrid(Call& g, const Values& v, bool xy) {
  const auto rank = static_cast<int64_t>(v.size());
  auto place = [&](int64_t i) { return xy && rank > 1 && i < 2 ? 1 - i : i; };
  Dims shape(v.size());
  Values lines;
  for (int64_t i = 0; i < rank; ++i) {
    T line = at_least_1d(v[static_cast<size_t>(i)]);
    shape[static_cast<size_t>(place(i))] = size_of(line, 0);
    lines.push_back(line);
  }
  std::vector<Dim> dims;
  for (const Int& i : shape) dims.push_back(dim_of(i));
  Values out;
  for (int64_t i = 0; i < rank; ++i) {
    T line = along(lines[static_cast<size_t>(i)], place(i), rank);
    out.push_back(rank == 1 ? line : with_dims(expand(line, g.vector(shape)), dims));
  }
  return out;
}

// --- repeat_interleave: every entry several times in a row

T repeat_each(Call& g, T given, const Int& repeats, const std::optional<Axis>& dim, Rest = {}) {
  T x = dim ? at_least_1d(given) : flat(given);
  const int64_t axis = dim ? *dim : 0, rank = x.rank();
  Dims target(static_cast<size_t>(rank + 1), known(1)), rest;
  target[static_cast<size_t>(axis) + 1] = repeats;
  T y = expand(unsqueeze(x, {axis + 1}), g.vector(target));
  rest.push_back(size_of(x, axis) * repeats);
  for (int64_t i = axis + 1; i < rank; ++i) rest.push_back(size_of(x, i));
  std::vector<Dim> dims = *x->type.shape;
  dims.insert(dims.begin() + axis + 1, Dim::unknown());
  return reshape_to(with_dims(y, std::move(dims)), rest, axis);
}

// Which entry each place of the result holds: the number of entries that end before it.
T repeated_places(Call& g, T repeats, Rest = {}) {
  T ends = node("CumSum", {cast(repeats, DType::Int64), g.i64(0)});
  ends = with_dims(ends, *repeats->type.shape);
  T total = node("ReduceSum", {cast(repeats, DType::Int64)}, {{"keepdims", int64_t{0}}});
  T place = along(g.iota(computed(with_rank(total, 0))), 0, 2);
  T before = ~(place < ends);
  T count =
      node("ReduceSum", {cast(before, DType::Int64), g.i64s({1})}, {{"keepdims", int64_t{0}}});
  return with_rank(count, 1);
}

T repeat_by(Call& g, T given, T repeats, const std::optional<Axis>& dim, Rest) {
  T x = dim ? at_least_1d(given) : flat(given);
  const Axis axis = dim.value_or(Axis{0});
  // One number stands for all entries.
  if (repeats.rank() == 0 || repeats.dim(0) == 1) {
    T one = to_0d(cast(repeats, DType::Int64));
    return repeat_each(g, x, computed(one), axis);
  }
  if (!repeats.dim(0) && !same_dim(repeats, 0, x, axis))  // there may be one
    repeats = expand(repeats, g.vector({size_of(x, axis)}), 1);
  return gather(x, repeated_places(g, repeats), axis);
}

constexpr Lowering table[] = {
    op<tile>("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor"),
    op<tile>("aten::tile(Tensor self, SymInt[] dims) -> Tensor"),
    op<roll>("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"),
    op<flip>("aten::flip(Tensor self, int[] dims) -> Tensor"),
    op("aten::fliplr(Tensor self) -> Tensor", [](T x) { return flip(x, {1}); }),
    op("aten::flipud(Tensor self) -> Tensor", [](T x) { return flip(x, {0}); }),
    op<rot90>("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor"),
    op<repeat_each>(
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor"),
    op<repeat_by>(
        "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor"),
    op<repeated_places>(
        "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor"),
    op("aten::meshgrid(Tensor[] tensors) -> Tensor[]",
       [](Call& g, Values v) { return meshgrid(g, v, false); }),
    op("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       [](Call& g, Values v, std::string indexing) { return meshgrid(g, v, indexing == "xy"); }),
};

}  // namespace

Table repeat_rows() { return table; }

}  // namespace oe::lower
