// Gathering and scattering in terms of simpler indexing.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

// Sizes of axes [from, rank) as a vector; empty when there are none.
T trailing_sizes(Rewriter& r, T v, int64_t from) {
  Values sizes;
  for (int64_t a = from; a < v.rank(); ++a) sizes.push_back(vector(size(v, a)));
  return sizes.empty() ? r.i64s({}) : concat(sizes, 0);
}

// How many elements the first `count` axes have; -1, for Reshape to find out, where the rest has
// some: beside an axis of 0 it cannot.
T leading_size(Rewriter& r, T v, int64_t count) {
  T product = r.i64s({1});
  bool empty = false;
  for (int64_t a = 0; a < v.rank(); ++a) {
    if (a < count)
      product = product * vector(size(v, a));
    else
      empty = empty || v.dim(a).value_or(0) == 0;
  }
  return empty ? product : r.i64s({-1});
}

// `v` with its first `count` axes made one: [product, rest...].
T flatten_leading(Rewriter& r, T v, int64_t count) {
  T shape = concat({leading_size(r, v, count), trailing_sizes(r, v, count)}, 0);
  return reshape(v, shape_with_zero(shape), v.rank() - count + 1);
}

// The coordinates in the last axis of `indices`, wrapped, as a position in flattened `data`.
T tuple_positions(Rewriter& r, T data, T indices, int64_t coordinates) {
  const int64_t last = indices.rank() - 1;
  Values parts;
  for (int64_t i = 0; i < coordinates; ++i)
    parts.push_back(wrap_indices(r, gather(indices, r.i64(i), last), size(data, i)));
  return linear_index(data, parts);
}

int64_t tuple_length(Rewriter& r, T indices) {
  if (auto k = indices.dim(-1)) return *k;
  throw Unsupported("needs opset " + std::to_string(r.below() + 1) +
                    " or later where the length of an index is not known");
}

}  // namespace

T shape_with_zero(T shape) {
  const auto known = ints(shape);
  if (known && std::find(known->begin(), known->end(), 0) == known->end()) return shape;
  return shape - cast(equal(shape, 0), DType::Int64);
}

void scatter_elements_loop(Rewriter& r, ir::Node& n, std::string_view combine) {
  T data = r.in(0), indices = r.in(1), updates = r.in(2);
  const int64_t axis = data.axis(n.attributes.get_or<int64_t>("axis", 0));
  // Within one step no position occurs twice: its entries differ in another axis.
  const Values results =
      r.loop(size(indices, axis), {data}, [&](T i, const Values& state) -> Values {
        T at = vector(i);
        T where = gather(indices, at, axis), what = gather(updates, at, axis);
        T old =
            node("GatherElements", {state[0], where}, {{"axis", axis}}, like(where, data.dtype()));
        T fresh = node(combine, {old, what});
        return {node("ScatterElements", {state[0], where, fresh}, {{"axis", axis}},
                     like(data, data.dtype()))};
      });
  r.bind(n.outputs[0], results[0]);
}

void scatter_nd_loop(Rewriter& r, ir::Node& n, std::string_view combine) {
  T data = r.in(0), indices = r.in(1), updates = r.in(2);
  const int64_t k = tuple_length(r, indices);
  T tuples = reshape(indices, Ints{-1, k});
  T rows = flatten_leading(r, updates, indices.rank() - 1);
  const Values results = r.loop(size(tuples, 0), {data}, [&](T i, const Values& state) -> Values {
    T at = vector(i);
    T where = gather(tuples, at, 0), what = gather(rows, at, 0);
    T old = node("GatherND", {state[0], where}, {}, like(what, data.dtype()));
    T fresh = node(combine, {old, what});
    return {node("ScatterND", {state[0], where, fresh}, {}, like(data, data.dtype()))};
  });
  r.bind(n.outputs[0], results[0]);
}

void flat_gather_elements(Rewriter& r, ir::Node& n) {
  T data = r.in(0), indices = cast(r.in(1), DType::Int64);
  const int64_t rank = data.rank();
  const int64_t axis = wrapped(n.attributes.get_or<int64_t>("axis", 0), rank);
  Values coordinates;
  for (int64_t a = 0; a < rank; ++a) {
    if (a == axis) {
      coordinates.push_back(wrap_indices(r, indices, size(data, axis)));
      continue;
    }
    Ints others;
    for (int64_t b = 0; b < rank; ++b)
      if (b != a) others.push_back(b);
    T counter = arange(size(indices, a));
    coordinates.push_back(others.empty() ? counter : unsqueeze(counter, others));
  }
  T flat = reshape(data, Ints{-1});
  r.bind(n.outputs[0], gather(flat, linear_index(data, coordinates), 0));
}

void flat_gather_nd(Rewriter& r, ir::Node& n) {
  T data = r.in(0), indices = r.in(1);
  const int64_t k = tuple_length(r, indices);
  T position = tuple_positions(r, data, indices, k);
  r.bind(n.outputs[0], gather(flatten_leading(r, data, k), position, 0));
}

void flat_scatter_nd(Rewriter& r, ir::Node& n) {
  T data = r.in(0), indices = r.in(1), updates = r.in(2);
  const int64_t k = tuple_length(r, indices), rank = data.rank();
  // Data as [positions, elements of a row], one row of updates for each index.
  T row = r.i64s({1});
  for (int64_t a = k; a < rank; ++a) row = row * vector(size(data, a));
  T matrix = reshape(data, shape_with_zero(concat({leading_size(r, data, k), row}, 0)), 2);
  T position = reshape(tuple_positions(r, data, indices, k), Ints{-1, 1});
  T where = expand(position, concat({r.i64s({1}), row}, 0));
  T what = reshape(updates, shape_with_zero(shape(where)), 2);
  T scattered =
      node("Scatter", {matrix, where, what}, {{"axis", int64_t{0}}}, ranked(data.dtype(), 2));
  r.bind(n.outputs[0], reshape(scattered, shape_with_zero(shape(data)), rank));
}

void reverse_sequence(Rewriter& r, ir::Node& n) {
  T x = r.in(0), lengths = r.in(1);
  const int64_t time = n.attributes.get_or<int64_t>("time_axis", 0);
  // Position t reads length - 1 - t inside the sequence and t behind it; axes [time, batch].
  T t = unsqueeze(arange(size(x, time)), {1});
  T length = unsqueeze(lengths, {0});
  T turned = length - 1 - t;
  T step = where(t < length, turned, t);
  T sequence = unsqueeze(arange(size(x, 1 - time)), {0});
  if (time == 1) {
    step = transpose(step, {1, 0});
    sequence = transpose(sequence, {1, 0});
  }
  T position = linear_index(x, time == 0 ? Values{step, sequence} : Values{sequence, step});
  r.bind(n.outputs[0], gather(flatten_leading(r, x, 2), position, 0));
}

void move_blocks(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const int64_t b = n.attributes.get_or<int64_t>("blocksize", 1);
  const bool channel_first = n.attributes.get_or<std::string>("mode", "DCR") == "CRD";
  const Dims d = sizes_of(x, 4);
  const Int block = known(b);
  Dims apart, together;
  Ints perm;
  if (n.op == "DepthToSpace") {
    const Int depth = floor_div(d[1], b * b);
    apart = channel_first ? Dims{d[0], depth, block, block} : Dims{d[0], block, block, depth};
    apart.insert(apart.end(), {d[2], d[3]});
    perm = channel_first ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2};
    together = {d[0], depth, d[2] * block, d[3] * block};
  } else {
    const Int h = floor_div(d[2], b), w = floor_div(d[3], b);
    apart = {d[0], d[1], h, block, w, block};
    perm = channel_first ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
    together = {d[0], d[1] * known(b * b), h, w};
  }
  r.bind(n.outputs[0], reshape(transpose(reshape(x, apart), perm), together));
}

}  // namespace oe::opsets
