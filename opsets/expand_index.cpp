// Gathering and scattering in terms of simpler indexing.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

// Sizes of axes [from, rank) as a vector; empty when there are none.
Value trailing_sizes(Rewriter& r, Value v, int64_t from) {
  Values sizes;
  for (int64_t a = from; a < r.rank(v); ++a) sizes.push_back(r.vector(r.size(v, a)));
  return sizes.empty() ? r.i64s({}) : r.concat(sizes, 0);
}

// `v` with its first `count` axes made one: [product, rest...].
Value flatten_leading(Rewriter& r, Value v, int64_t count) {
  Value shape = r.concat({r.i64s({-1}), trailing_sizes(r, v, count)}, 0);
  return r.reshape(v, shape, r.rank(v) - count + 1);
}

// The coordinates in the last axis of `indices`, wrapped, as a position in flattened `data`.
Value tuple_positions(Rewriter& r, Value data, Value indices, int64_t coordinates) {
  const int64_t last = r.rank(indices) - 1;
  Values parts;
  for (int64_t i = 0; i < coordinates; ++i)
    parts.push_back(wrap_indices(r, r.gather(indices, r.i64(i), last), r.size(data, i)));
  return linear_index(r, data, parts);
}

int64_t tuple_length(Rewriter& r, Value indices) {
  if (auto k = r.dim(indices, -1)) return *k;
  throw NotExpressible{"needs opset " + std::to_string(r.below() + 1) +
                       " or later where the length of an index is not known"};
}

}  // namespace

void scatter_elements_loop(Rewriter& r, ir::Node& n, std::string_view combine) {
  Value data = n.input(0), indices = n.input(1), updates = n.input(2);
  const int64_t axis = r.wrap(n.attributes.get_or<int64_t>("axis", 0), r.rank(data));
  // Within one step no position occurs twice: its entries differ in another axis.
  const Values results =
      r.loop(r.size(indices, axis), {data}, [&](Value i, const Values& state) -> Values {
        Value at = r.vector(i);
        Value where = r.gather(indices, at, axis), what = r.gather(updates, at, axis);
        Value old = r.op("GatherElements", {state[0], where}, {{"axis", axis}},
                         Rewriter::like(where, r.dtype(data)));
        Value fresh = r.op(combine, {old, what});
        return {r.op("ScatterElements", {state[0], where, fresh}, {{"axis", axis}},
                     Rewriter::like(data, r.dtype(data)))};
      });
  r.bind(n.outputs[0], results[0]);
}

void scatter_nd_loop(Rewriter& r, ir::Node& n, std::string_view combine) {
  Value data = n.input(0), indices = n.input(1), updates = n.input(2);
  const int64_t k = tuple_length(r, indices);
  Value tuples = r.reshape(indices, Ints{-1, k});
  Value rows = r.reshape(updates, r.concat({r.i64s({-1}), trailing_sizes(r, data, k)}, 0),
                         r.rank(data) - k + 1);
  const Values results =
      r.loop(r.size(tuples, 0), {data}, [&](Value i, const Values& state) -> Values {
        Value at = r.vector(i);
        Value where = r.gather(tuples, at, 0), what = r.gather(rows, at, 0);
        Value old = r.op("GatherND", {state[0], where}, {}, Rewriter::like(what, r.dtype(data)));
        Value fresh = r.op(combine, {old, what});
        return {
            r.op("ScatterND", {state[0], where, fresh}, {}, Rewriter::like(data, r.dtype(data)))};
      });
  r.bind(n.outputs[0], results[0]);
}

void flat_gather_elements(Rewriter& r, ir::Node& n) {
  Value data = n.input(0), indices = r.cast(n.input(1), DType::Int64);
  const int64_t rank = r.rank(data);
  const int64_t axis = r.wrap(n.attributes.get_or<int64_t>("axis", 0), rank);
  Values coordinates;
  for (int64_t a = 0; a < rank; ++a) {
    if (a == axis) {
      coordinates.push_back(wrap_indices(r, indices, r.size(data, axis)));
      continue;
    }
    Ints others;
    for (int64_t b = 0; b < rank; ++b)
      if (b != a) others.push_back(b);
    Value counter = r.arange(r.size(indices, a));
    coordinates.push_back(others.empty() ? counter : r.unsqueeze(counter, others));
  }
  Value flat = r.reshape(data, Ints{-1});
  r.bind(n.outputs[0], r.gather(flat, linear_index(r, data, coordinates), 0));
}

void flat_gather_nd(Rewriter& r, ir::Node& n) {
  Value data = n.input(0), indices = n.input(1);
  const int64_t k = tuple_length(r, indices);
  Value position = tuple_positions(r, data, indices, k);
  r.bind(n.outputs[0], r.gather(flatten_leading(r, data, k), position, 0));
}

void flat_scatter_nd(Rewriter& r, ir::Node& n) {
  Value data = n.input(0), indices = n.input(1), updates = n.input(2);
  const int64_t k = tuple_length(r, indices), rank = r.rank(data);
  // Data as [positions, elements of a row], one row of updates for each index.
  Value row = r.i64s({1});
  for (int64_t a = k; a < rank; ++a) row = r.mul(row, r.vector(r.size(data, a)));
  Value matrix = r.reshape(data, r.concat({r.i64s({-1}), row}, 0), 2);
  Value position = r.reshape(tuple_positions(r, data, indices, k), Ints{-1, 1});
  Value where = r.expand(position, r.concat({r.i64s({1}), row}, 0));
  Value what = r.reshape(updates, r.shape(where), 2);
  Value scattered = r.op("Scatter", {matrix, where, what}, {{"axis", int64_t{0}}},
                         Rewriter::ranked(r.dtype(data), 2));
  r.bind(n.outputs[0], r.reshape(scattered, r.shape(data), rank));
}

void reverse_sequence(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), lengths = n.input(1);
  const int64_t time = n.attributes.get_or<int64_t>("time_axis", 0);
  // Position t reads length - 1 - t inside the sequence and t behind it; axes [time, batch].
  Value t = r.unsqueeze(r.arange(r.size(x, time)), {1});
  Value length = r.unsqueeze(lengths, {0});
  Value turned = r.op("Sub", {r.op("Sub", {length, r.i64(1)}), t});
  Value step = r.where(r.less(t, length), turned, t);
  Value sequence = r.unsqueeze(r.arange(r.size(x, 1 - time)), {0});
  if (time == 1) {
    step = r.transpose(step, {1, 0});
    sequence = r.transpose(sequence, {1, 0});
  }
  Value position = linear_index(r, x, time == 0 ? Values{step, sequence} : Values{sequence, step});
  r.bind(n.outputs[0], r.gather(flatten_leading(r, x, 2), position, 0));
}

}  // namespace oe::opsets
