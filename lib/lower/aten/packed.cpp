// Packed sequences: rows of all sequences step by step, longest sequence first.
#include "lib/lower/aten/rnn.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace nn {

Value step_mask(Emit& g, Value batch_sizes) {
  Value steps = unsqueeze(g, batch_sizes, {1});
  Value widest = reduce(g, "ReduceMax", batch_sizes, {0}, false);
  return g.node("Less", {unsqueeze(g, iota(g, Int{std::nullopt, widest}), {0}), steps});
}

Value pad_packed(Emit& g, Value data, Value batch_sizes, Value fill, int64_t trailing) {
  Value mask = step_mask(g, batch_sizes);
  // Row of step t, sequence b: everything before step t, then b.
  Value before = g.node("CumSum", {batch_sizes, g.i64(0)}, {{"exclusive", int64_t{1}}});
  Value widest = reduce(g, "ReduceMax", batch_sizes, {0}, false);
  Value b = unsqueeze(g, iota(g, Int{std::nullopt, widest}), {0});
  Value row = where(g, mask, add(g, unsqueeze(g, before, {1}), b), g.i64(0));
  return where(g, unsqueeze(g, mask, range(2, 2 + trailing)), gather(g, data, row, 0), fill);
}

Value pack(Emit& g, Value padded, Value mask, int64_t trailing) {
  // NonZero lists (t, b) pairs in row-major order: the order of packed data.
  Value total = g.node("Shape", {mask});
  Value flat = g.node("Squeeze", {g.node("NonZero", {reshape(g, mask, Ints{-1})}), g.i64s({0})});
  Value rest = nullptr;
  if (trailing > 0)
    rest = g.node("Slice",
                  {g.node("Shape", {padded}), g.i64s({2}), g.i64s({2 + trailing}), g.i64s({0})});
  Value rows = reduce(g, "ReduceProd", total, {0});
  Value shape = rest ? concat(g, {rows, rest}, 0) : rows;
  return gather(g, g.node("Reshape", {padded, shape}), flat, 0);
}

Value lengths_of(Emit& g, Value mask) {
  return reduce(g, "ReduceSum", g.cast(mask, DType::Int64), {0}, false);
}

}  // namespace nn

namespace {

using namespace nn;

// The first `lengths[b]` steps of every sequence; lengths do not increase.
Values pack_padded_sequence(Emit& g, Value input, Value lengths, bool batch_first) {
  const int64_t rank = g.rank(input);
  Value steps_first = batch_first ? swap(g, input, rank, 0, 1) : input;
  Value longest = reduce(g, "ReduceMax", g.cast(lengths, DType::Int64), {0}, false);
  Value t = unsqueeze(g, iota(g, Int{std::nullopt, longest}), {1});
  Value mask = g.node("Less", {t, unsqueeze(g, g.cast(lengths, DType::Int64), {0})});
  Value batch_sizes = reduce(g, "ReduceSum", g.cast(mask, DType::Int64), {1}, false);
  Value used = slice(g, steps_first, 0, known(0), Int{std::nullopt, longest});
  return {pack(g, used, mask, rank - 2), batch_sizes};
}

Values pad_packed_sequence(Emit& g, Value data, Value batch_sizes, bool batch_first,
                           const Scalar& padding, const Int& total_length) {
  const int64_t rank = g.rank(data);
  Value fill = g.scalar(padding, g.dtype(data));
  Value y = pad_packed(g, data, batch_sizes, fill, rank - 1);
  if (total_length.known.value_or(1) > 0) {  // a computed one is never below the longest length
    Value missing = sub(g, g.to_value(total_length), g.size(batch_sizes, 0));
    Dims pads(static_cast<size_t>(2 * (rank + 1)), known(0));
    pads[static_cast<size_t>(rank + 1)] = Int{std::nullopt, missing};
    y = g.node("Pad", {y, g.to_vector(pads), fill}, {{"mode", std::string("constant")}});
  }
  if (batch_first) y = swap(g, y, rank + 1, 0, 1);
  return {y, lengths_of(g, step_mask(g, batch_sizes))};
}

constexpr Lowering table[] = {
    op("aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
       [](Emit& g, Value input, Value lengths, bool batch_first) {
         return pack_padded_sequence(g, input, lengths, batch_first);
       }),
    op("aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)",
       [](Emit& g, Value data, Value batch_sizes, bool batch_first, Scalar padding,
          const Int& total_length) {
         return pad_packed_sequence(g, data, batch_sizes, batch_first, padding, total_length);
       }),
};

}  // namespace

Table packed_rows() { return table; }

}  // namespace oe::lower
