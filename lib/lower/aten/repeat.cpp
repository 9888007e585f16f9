// Elements repeated or in another order: repeat, tile, roll, flip, rot90, meshgrid.
#include <algorithm>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

Value tile(Emit& g, Value x, Dims repeats) {
  const auto wanted = static_cast<int64_t>(repeats.size());
  for (int64_t missing = g.rank(x) - wanted; missing > 0; --missing)
    repeats.insert(repeats.begin(), known(1));
  if (g.rank(x) < wanted) x = unsqueezed(g, x, range(0, wanted - g.rank(x)));
  if (std::all_of(repeats.begin(), repeats.end(), [](const Int& i) { return i.known == 1; }))
    return x;
  std::vector<Dim> dims;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const Dim& d = (*x->type.shape)[i];
    dims.push_back(d.is_number() && repeats[i].known ? Dim::of(d.number * *repeats[i].known)
                   : repeats[i].known == 1           ? d
                                                     : Dim::unknown());
  }
  return with_dims(g.node("Tile", {x, g.to_vector(repeats)}), std::move(dims));
}

// The last `shift` entries come first, whatever the sign and the size of the shift.
Value roll_axis(Emit& g, Value x, int64_t axis, const Int& shift) {
  const Int size = nn::dim(g, x, axis);
  if (size.known == 0) return x;
  const Int by = modulo(g, shift, max(g, size, known(1)));
  if (by.known == 0) return x;
  const Int at = sub(g, size, by);
  return joined(g, {cut(g, x, axis, at, known(kEnd)), cut(g, x, axis, known(0), at)}, axis);
}

Value roll(Emit& g, Value x, const Dims& shifts, const Ints& dims) {
  if (dims.empty()) return restore(g, roll_axis(g, flat(g, x), 0, shifts.at(0)), x);
  if (g.rank(x) == 0) return x;
  Value y = x;
  for (size_t i = 0; i < dims.size(); ++i) y = roll_axis(g, y, g.axis(x, dims[i]), shifts[i]);
  return y;
}

Value flip(Emit& g, Value x, const Ints& dims) {
  if (g.rank(x) == 0) return x;
  Value y = x;
  for (int64_t d : dims) y = reversed(g, y, g.axis(x, d));
  return y;
}

Value rot90(Emit& g, Value x, int64_t k, const Ints& dims) {
  const int64_t turns = ((k % 4) + 4) % 4;
  if (turns == 0) return x;
  if (turns == 2) return flip(g, x, dims);
  const int64_t a = g.axis(x, dims.at(0)), b = g.axis(x, dims.at(1));
  Ints perm = range(0, g.rank(x));
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return permuted(g, reversed(g, x, turns == 1 ? b : a), perm);
}

// "xy" swaps the first two axes of every result.
Values meshgrid(Emit& g, const Values& v, bool xy) {
  const auto rank = static_cast<int64_t>(v.size());
  auto place = [&](int64_t i) { return xy && rank > 1 && i < 2 ? 1 - i : i; };
  Dims shape(v.size());
  Values lines;
  for (int64_t i = 0; i < rank; ++i) {
    Value line = at_least_1d(g, v[static_cast<size_t>(i)]);
    shape[static_cast<size_t>(place(i))] = nn::dim(g, line, 0);
    lines.push_back(line);
  }
  std::vector<Dim> dims;
  for (const Int& i : shape) dims.push_back(i.known ? Dim::of(*i.known) : Dim::unknown());
  Values out;
  for (int64_t i = 0; i < rank; ++i) {
    Value line = along(g, lines[static_cast<size_t>(i)], place(i), rank);
    out.push_back(rank == 1 ? line : with_dims(g.node("Expand", {line, g.to_vector(shape)}), dims));
  }
  return out;
}

// --- repeat_interleave: every entry several times in a row

Value repeat_each(Emit& g, Value given, const Int& repeats, std::optional<int64_t> dim) {
  Value x = dim ? at_least_1d(g, given) : flat(g, given);
  const int64_t axis = g.axis(x, dim.value_or(0)), rank = g.rank(x);
  Dims target(static_cast<size_t>(rank + 1), known(1)), rest;
  target[static_cast<size_t>(axis) + 1] = repeats;
  Value y = g.node("Expand", {unsqueezed(g, x, {axis + 1}), g.to_vector(target)});
  rest.push_back(mul(g, nn::dim(g, x, axis), repeats));
  for (int64_t i = axis + 1; i < rank; ++i) rest.push_back(nn::dim(g, x, i));
  std::vector<Dim> dims = *x->type.shape;
  dims.insert(dims.begin() + axis + 1, Dim::unknown());
  return reshape_to(g, with_dims(y, std::move(dims)), rest, axis);
}

// Which entry each place of the result holds: the number of entries that end before it.
Value repeated_places(Emit& g, Value repeats) {
  Value ends = g.node("CumSum", {g.cast(repeats, DType::Int64), g.i64(0)});
  ends = with_dims(ends, *repeats->type.shape);
  Value total = g.node("ReduceSum", {g.cast(repeats, DType::Int64)}, {{"keepdims", int64_t{0}}});
  Value place = along(g, iota(g, from_value(with_rank(total, 0))), 0, 2);
  Value before = g.node("Not", {g.node("Less", {place, ends})});
  Value count =
      g.node("ReduceSum", {g.cast(before, DType::Int64), g.i64s({1})}, {{"keepdims", int64_t{0}}});
  return with_rank(count, 1);
}

Value repeat_by(Emit& g, Value given, Value repeats, std::optional<int64_t> dim) {
  Value x = dim ? at_least_1d(g, given) : flat(g, given);
  const int64_t axis = g.axis(x, dim.value_or(0));
  // One number stands for all entries.
  if (g.rank(repeats) == 0 || g.dim(repeats, 0) == 1) {
    Value one = to_0d(g, g.cast(repeats, DType::Int64));
    return repeat_each(g, x, from_value(one), axis);
  }
  if (!g.dim(repeats, 0) && !same_dim(repeats, 0, x, axis))  // there may be one
    repeats = expanded(g, repeats, g.to_vector({nn::dim(g, x, axis)}), 1);
  return taken(g, x, repeated_places(g, repeats), axis);
}

constexpr auto tile_lambda = [](Emit& g, Value x, Dims repeats) { return tile(g, x, repeats); };

constexpr Lowering table[] = {
    op("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", tile_lambda),
    op("aten::tile(Tensor self, SymInt[] dims) -> Tensor", tile_lambda),
    op("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
       [](Emit& g, Value x, Dims shifts, Ints dims) { return roll(g, x, shifts, dims); }),
    op("aten::flip(Tensor self, int[] dims) -> Tensor",
       [](Emit& g, Value x, Ints dims) { return flip(g, x, dims); }),
    op("aten::fliplr(Tensor self) -> Tensor", [](Emit& g, Value x) { return flip(g, x, {1}); }),
    op("aten::flipud(Tensor self) -> Tensor", [](Emit& g, Value x) { return flip(g, x, {0}); }),
    op("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
       [](Emit& g, Value x, int64_t k, Ints dims) { return rot90(g, x, k, dims); }),
    op("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
       [](Emit& g, Value x, Int n, std::optional<int64_t> dim, Skip) {
         return repeat_each(g, x, n, dim);
       }),
    op("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
       [](Emit& g, Value x, Value n, std::optional<int64_t> dim, Skip) {
         return repeat_by(g, x, n, dim);
       }),
    op("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
       [](Emit& g, Value n, Skip) { return repeated_places(g, n); }),
    op("aten::meshgrid(Tensor[] tensors) -> Tensor[]",
       [](Emit& g, Values v) { return meshgrid(g, v, false); }),
    op("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       [](Emit& g, Values v, std::string indexing) { return meshgrid(g, v, indexing == "xy"); }),
};

}  // namespace

Table repeat_rows() { return table; }

}  // namespace oe::lower
