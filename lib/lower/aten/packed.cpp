// Packed sequences: rows of all sequences step by step, longest sequence first.
#include "lib/lower/aten/rnn.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

T step_mask(Call& g, T batch_sizes) {
  T steps = unsqueeze(batch_sizes, {1});
  T widest = reduce("ReduceMax", batch_sizes, {0}, false);
  return unsqueeze(g.iota(computed(widest)), {0}) < steps;
}

T pad_packed(Call& g, T data, T batch_sizes, T fill, int64_t trailing) {
  T mask = step_mask(g, batch_sizes);
  // Row of step t, sequence b: everything before step t, then b.
  T before = node("CumSum", {batch_sizes, g.i64(0)}, {{"exclusive", int64_t{1}}});
  T widest = reduce("ReduceMax", batch_sizes, {0}, false);
  T b = unsqueeze(g.iota(computed(widest)), {0});
  T row = where(mask, unsqueeze(before, {1}) + b, 0);
  return where(unsqueeze(mask, range(2, 2 + trailing)), gather(data, row, 0), fill);
}

T pack(Call& g, T padded, T mask, int64_t trailing) {
  // NonZero lists (t, b) pairs in row-major order: the order of packed data.
  T total = unary("Shape", mask);
  T flat = squeeze(unary("NonZero", reshape(mask, Ints{-1})), {0});
  T rest = nullptr;
  if (trailing > 0)
    rest =
        node("Slice", {unary("Shape", padded), g.i64s({2}), g.i64s({2 + trailing}), g.i64s({0})});
  T rows = reduce("ReduceProd", total, {0});
  T shape = rest ? concat({rows, rest}, 0) : rows;
  return gather(node("Reshape", {padded, shape}), flat, 0);
}

T lengths_of(T mask) { return reduce("ReduceSum", cast(mask, DType::Int64), {0}, false); }

namespace {

// The first `lengths[b]` steps of every sequence; lengths do not increase.
Values pack_padded_sequence(Call& g, T input, T lengths, bool batch_first) {
  const int64_t rank = input.rank();
  T steps_first = batch_first ? swap(input, rank, 0, 1) : input;
  T longest = reduce("ReduceMax", cast(lengths, DType::Int64), {0}, false);
  T t = unsqueeze(g.iota(computed(longest)), {1});
  T mask = t < unsqueeze(cast(lengths, DType::Int64), {0});
  T batch_sizes = reduce("ReduceSum", cast(mask, DType::Int64), {1}, false);
  T used = slice(steps_first, 0, known(0), computed(longest));
  return {pack(g, used, mask, rank - 2), batch_sizes};
}

Values pad_packed_sequence(Call& g, T data, T batch_sizes, bool batch_first, T padding,
                           const Int& total_length) {
  const int64_t rank = data.rank();
  T fill = cast(padding, data.dtype());
  T y = pad_packed(g, data, batch_sizes, fill, rank - 1);
  if (total_length.known.value_or(1) > 0) {  // a computed one is never below the longest length
    T missing = g.value(total_length) - size(batch_sizes, 0);
    Dims pads(static_cast<size_t>(2 * (rank + 1)), known(0));
    pads[static_cast<size_t>(rank + 1)] = computed(missing);
    y = node("Pad", {y, g.vector(pads), fill}, {{"mode", std::string("constant")}});
  }
  if (batch_first) y = swap(y, rank + 1, 0, 1);
  return {y, lengths_of(step_mask(g, batch_sizes))};
}

constexpr Lowering table[] = {
    op<pack_padded_sequence>(
        "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"),
    op<pad_packed_sequence>(
        "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)"),
};

}  // namespace

Table packed_rows() { return table; }

}  // namespace oe::lower
