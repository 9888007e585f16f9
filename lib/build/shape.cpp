// Shapes: views, broadcasting, reductions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/build/builder.h"

namespace oe::build {
namespace {

std::vector<Dim> unknown_dims(int64_t rank) { return std::vector<Dim>(static_cast<size_t>(rank)); }
ir::Type ranked(DType t, int64_t rank) { return ir::Type::tensor(t, unknown_dims(rank)); }
ir::Type vector_type(int64_t length) {
  return ir::Type::tensor(DType::Int64, std::vector<Dim>{Dim::of(length)});
}

// The dims of x, all unknown when even the rank is.
std::vector<Dim> dims_of(T x, int64_t rank) {
  return x.ranked() ? *x->type.shape : unknown_dims(rank);
}

std::vector<Dim> known_dims(const Dims& d) {
  std::vector<Dim> out;
  for (const Int& i : d)
    out.push_back(i.known && *i.known >= 0 ? Dim::of(*i.known) : Dim::unknown());
  return out;
}

Ints wrapped(const Ints& axes, int64_t rank) {
  Ints out;
  for (int64_t a : axes) out.push_back(a < 0 ? a + rank : a);
  std::sort(out.begin(), out.end());
  return out;
}

// `axes` as the input or the attribute that the operator has at the builder's opset.
T with_axes(std::string_view op, T x, const Ints& axes, int64_t input_since, ir::Attributes a,
            ir::Type type) {
  Builder& g = x.builder();
  if (g.opset() >= input_since) return g.op(op, {x, g.i64s(axes)}, std::move(a), std::move(type));
  a.set("axes", axes);
  return g.op(op, {x}, std::move(a), std::move(type));
}

// A tensor of no elements in this shape.
T empty_tensor(Builder& g, const Dims& shape, DType t) {
  if (all_known(shape)) {
    std::vector<int64_t> sizes;
    for (const Int& i : shape) sizes.push_back(*i.known);
    return g.tensor(Tensor::from_bytes(t, sizes, nullptr, 0), "empty");
  }
  return with_dims(cast(g.op("ConstantOfShape", {g.vector(shape)}), t), known_dims(shape));
}

Dim broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim::of(1)) return a;
  if (a == Dim::of(1)) return b;
  if (a.is_number()) return a;  // the other is either the same or 1
  return b.is_number() ? b : Dim::unknown();
}

}  // namespace

std::vector<Dim> broadcast_dims(const std::vector<std::vector<Dim>>& shapes) {
  std::vector<Dim> out;
  for (const std::vector<Dim>& in : shapes) {
    if (in.size() > out.size()) out.insert(out.begin(), in.size() - out.size(), Dim::of(1));
    const size_t shift = out.size() - in.size();
    for (size_t i = 0; i < in.size(); ++i) out[shift + i] = broadcast(out[shift + i], in[i]);
  }
  return out;
}

Shape broadcast_shape(const std::vector<ir::Value*>& inputs) {
  std::vector<std::vector<Dim>> shapes;
  for (const ir::Value* v : inputs) {
    if (!v || !v->type.shape) return std::nullopt;
    shapes.push_back(*v->type.shape);
  }
  return broadcast_dims(shapes);
}

T with_rank(T x, int64_t rank) {
  if (!x.ranked()) x->type.shape = unknown_dims(rank);
  return x;
}
T with_dims(T x, std::vector<Dim> dims) {
  with_rank(x, static_cast<int64_t>(dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim& d = x->type.shape->at(i);
    if (d.kind == Dim::Kind::Unknown) d = std::move(dims[i]);
  }
  return x;
}

// --- reshaping

T reshape(T x, const Ints& shape) {
  std::vector<Dim> out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool copied = shape[i] == 0 && x.ranked() && i < x->type.shape->size();
    out.push_back(shape[i] > 0 ? Dim::of(shape[i]) : copied ? (*x->type.shape)[i] : Dim::unknown());
  }
  Builder& g = x.builder();
  return g.op("Reshape", {x, g.i64s(shape)}, {}, ir::Type::tensor(x.dtype(), std::move(out)));
}

T reshape(T x, const Dims& shape) {
  Ints fixed;
  int left_open = 0;
  bool zero = false;
  for (const Int& i : shape) {
    fixed.push_back(i.known.value_or(-1));
    left_open += fixed.back() == -1;
    zero = zero || i.known == 0;
  }
  Builder& g = x.builder();
  ir::Type type = ir::Type::tensor(x.dtype(), known_dims(shape));
  // -1 beside a 0 has no answer, and a plain 0 would mean "copy the axis".
  if (zero)
    return g.op("Reshape", {x, g.vector(shape)}, {{"allowzero", int64_t{1}}}, std::move(type));
  if (left_open <= 1) return reshape(x, fixed);
  return g.op("Reshape", {x, g.vector(shape)}, {}, std::move(type));
}

T reshape(T x, T shape, std::optional<int64_t> rank) {
  if (const auto known = ints(shape)) return reshape(x, *known);
  if (!rank) rank = shape.dim(0);
  return x.builder().op("Reshape", {x, shape}, {},
                        rank ? ranked(x.dtype(), *rank) : ir::Type::tensor(x.dtype()));
}

T reshape_to(T x, const Dims& rest, int64_t keep) {
  Builder& g = x.builder();
  const auto kept_dims = dims_of(x, keep);
  Ints fixed;
  bool kept_static = true;
  for (int64_t i = 0; i < keep; ++i) {
    const Dim& d = kept_dims[static_cast<size_t>(i)];
    const bool number = d.is_number() && d.number != 0;
    kept_static = kept_static && number;
    fixed.push_back(number ? d.number : 0);  // 0 copies the axis
  }
  size_t computed = 0;
  bool zero = false, inferred = false;
  for (const Int& i : rest) {
    computed += !i.known;
    zero = zero || i.known == 0;
    inferred = inferred || i.known == -1;
    fixed.push_back(i.known.value_or(-1));
  }
  std::vector<Dim> result(kept_dims.begin(), kept_dims.begin() + keep);
  for (const Dim& d : known_dims(rest)) result.push_back(d);
  ir::Type type = ir::Type::tensor(x.dtype(), std::move(result));

  // Beside a -1 no axis may be empty in PyTorch either, so nothing here depends on allowzero.
  if (inferred) return g.op("Reshape", {x, g.vector(rest)}, {}, std::move(type));
  if (!zero && (computed == 0 || (computed == 1 && kept_static)))
    return g.op("Reshape", {x, g.i64s(fixed)}, {}, std::move(type));
  Dims all;
  for (int64_t i = 0; i < keep; ++i) all.push_back(size_of(x, i));
  all.insert(all.end(), rest.begin(), rest.end());
  if (zero) return empty_tensor(g, all, x.dtype());
  return g.op("Reshape", {x, g.vector(all)}, {{"allowzero", int64_t{1}}}, std::move(type));
}

T flat(T x) { return x->rank() == 1 ? x : reshape(x, Ints{-1}); }
T restore(T flat, T like) {
  const int64_t rank = like.rank();
  return rank == 1 ? flat : reshape_to(flat, sizes_of(like, rank));
}
T at_least_1d(T x) { return x.rank() > 0 ? x : reshape(x, Ints{1}); }
T to_0d(T x) { return x->rank() == 0 ? x : reshape(x, Ints{}); }
T vector(T x) {
  if (const auto known = ints(x)) return x.builder().i64s(*known);
  return reshape(x, Ints{1});
}

T transpose(T x, const Ints& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  if (perm == range(0, rank)) return x;
  const auto in = dims_of(x, rank);
  std::vector<Dim> out;
  for (int64_t p : perm) out.push_back(in[static_cast<size_t>(p)]);
  return x.builder().op("Transpose", {x}, {{"perm", perm}},
                        ir::Type::tensor(x.dtype(), std::move(out)));
}

T swap(T x, int64_t rank, int64_t a, int64_t b) {
  Ints perm = range(0, rank);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(x, perm);
}

T unsqueeze(T x, const Ints& axes) {
  if (axes.empty()) return x;
  ir::Type type = ir::Type::tensor(x.dtype(), x->type.shape);
  if (x.ranked())
    for (int64_t a : wrapped(axes, static_cast<int64_t>(x->type.shape->size() + axes.size())))
      type.shape->insert(type.shape->begin() + a, Dim::of(1));
  return with_axes("Unsqueeze", x, axes, 13, {}, std::move(type));
}

T squeeze(T x, const Ints& axes) {
  if (axes.empty()) return x;
  ir::Type type = ir::Type::tensor(x.dtype(), x->type.shape);
  if (x.ranked()) {
    const Ints gone = wrapped(axes, static_cast<int64_t>(x->type.shape->size()));
    for (auto a = gone.rbegin(); a != gone.rend(); ++a) type.shape->erase(type.shape->begin() + *a);
  }
  return with_axes("Squeeze", x, axes, 13, {}, std::move(type));
}

T along(T vector, int64_t axis, int64_t rank) {
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return unsqueeze(with_rank(vector, 1), axes);
}

// --- sizes and broadcasting

T shape(T x) {
  Builder& g = x.builder();
  if (!x.ranked()) return g.op("Shape", {x}, {}, ranked(DType::Int64, 1));
  if (const auto fixed = numbers(*x->type.shape)) return g.i64s(*fixed);
  return g.op("Shape", {x}, {}, vector_type(x.rank()));
}

T size(T x, int64_t axis) {
  Builder& g = x.builder();
  if (auto known = x.dim(axis)) return g.i64(*known);
  // Gather counts from the end from opset 11 on.
  if (x.ranked() || (axis < 0 && g.opset() < 11)) axis = x.axis(axis);
  T all = g.op("Shape", {x}, {}, x.ranked() ? vector_type(x.rank()) : ranked(DType::Int64, 1));
  return gather(all, g.i64(axis), 0);
}

Int size_of(T x, int64_t axis) {
  if (auto n = x.dim(axis)) return known(*n);
  return computed(size(x, axis));
}

Dims sizes_of(T x, int64_t rank) {
  Dims d;
  for (int64_t i = 0; i < rank; ++i) d.push_back(size_of(x, i));
  return d;
}

T sizes(T x, int64_t from, int64_t to) {
  if (x.ranked())
    if (const auto fixed = numbers({x->type.shape->begin() + from, x->type.shape->begin() + to}))
      return x.builder().i64s(*fixed);
  return slice(shape(x), 0, known(from), known(to == x.rank() ? kEnd : to));
}

std::optional<Ints> numbers(const std::vector<Dim>& dims) {
  Ints out;
  for (const Dim& d : dims)
    if (d.is_number()) out.push_back(d.number);
  return out.size() == dims.size() ? std::optional(out) : std::nullopt;
}

bool same_static(T a, T b) {
  return a.ranked() && a->type.shape == b->type.shape && numbers(*a->type.shape);
}

bool same_dim(T a, int64_t a_axis, T b, int64_t b_axis) {
  if (!a.ranked() || !b.ranked()) return false;
  const Dim& p = a->type.shape->at(static_cast<size_t>(a_axis));
  return p.kind != Dim::Kind::Unknown && p == b->type.shape->at(static_cast<size_t>(b_axis));
}

T expand(T x, T shape, std::optional<int64_t> rank) {
  Builder& g = x.builder();
  if (!rank && shape.dim(0) && x.ranked()) rank = std::max(*shape.dim(0), x.rank());
  if (g.opset() >= 8)
    return g.op("Expand", {x, shape}, {},
                rank ? ranked(x.dtype(), *rank) : ir::Type::tensor(x.dtype()));
  // Tile every axis whose size is 1. Repeats are computed, because a size may turn out to be 1.
  const auto length = shape.dim(0);
  if (!length)
    throw Unsupported("needs opset 8 or later where the rank of the result is not known");
  const int64_t r = x.rank();
  T wide = r < *length ? unsqueeze(x, range(0, *length - r)) : x;
  if (*length < r) shape = concat({g.i64s(Ints(static_cast<size_t>(r - *length), 1)), shape}, 0);
  T have = build::shape(wide), repeats;
  if (const auto old = ints(have), wanted = ints(shape); old && wanted) {
    Ints n;
    for (size_t i = 0; i < old->size(); ++i) n.push_back((*old)[i] == 1 ? (*wanted)[i] : 1);
    repeats = g.i64s(n);
  } else {
    T one = g.i64s({1});
    repeats = one + cast(equal(have, one), DType::Int64) * (shape - one);
  }
  return g.op("Tile", {wide, repeats}, {}, ranked(x.dtype(), std::max(r, *length)));
}

T expand(T x, const Dims& shape) {
  T y = expand(x, x.builder().vector(shape));
  if (y.ranked() && y->type.shape->size() == shape.size())
    for (size_t i = 0; i < shape.size(); ++i)  // 1 leaves the axis as it is
      if (shape[i].known && *shape[i].known != 1) (*y->type.shape)[i] = Dim::of(*shape[i].known);
  return y;
}

T widened(T x, int64_t axis, const Int& size) {
  if (size.known && x.dim(axis) == size.known) return x;
  Builder& g = x.builder();
  Dims shape(static_cast<size_t>(x.rank()), known(1));
  shape[static_cast<size_t>(axis)] = size;
  std::vector<Dim> dims = *x->type.shape;
  dims[static_cast<size_t>(axis)] = dim_of(size);
  T y = expand(x, g.vector(shape));
  y->type.shape = std::move(dims);
  return y;
}

Values broadcast(const Values& v) {
  Values out;
  for (T x : v) {
    T y = x;
    for (T other : v) {
      bool neutral = other == x;
      // One shape, or a 0-d or all-ones partner of no higher rank, changes nothing.
      const int64_t more = y.rank() - other.rank();
      for (int64_t i = 0; !neutral && more >= 0; ++i) {
        neutral = i == other.rank();
        if (!neutral && other.dim(i) != 1 && (more > 0 || !same_dim(y, i, other, i))) break;
      }
      if (neutral) continue;
      const Shape common = broadcast_shape({y, other});
      y = expand(y, shape(other), std::max(y.rank(), other.rank()));
      y->type.shape = common;
    }
    out.push_back(y);
  }
  return out;
}

T full(T shape, T value) {
  Builder& g = value.builder();
  const auto length = shape.dim(0);
  const TensorPtr c = content(value);
  if (!c || g.opset() < 9) return expand(value, shape);
  return g.op("ConstantOfShape", {shape},
              {{"value", Tensor::from_bytes(c->dtype(), {1}, c->data(), c->nbytes())}},
              length ? ranked(value.dtype(), *length) : ir::Type::tensor(value.dtype()));
}

T arange(T n) {
  Builder& g = n.builder();
  const ir::Type counted = ranked(DType::Int64, 1);
  if (const auto known = ints(n); known && (*known)[0] <= 4096)
    return g.i64s(range(0, (*known)[0]));
  if (g.opset() >= 11) return g.op("Range", {g.i64(0), n, g.i64(1)}, {}, counted);
  if (g.opset() >= 9) {
    T ones = full(vector(n), g.i64(1));
    return squeeze(g.op("NonZero", {ones}, {}, ranked(DType::Int64, 2)), {0});
  }
  return g.loop(n, {}, [&](T i, const Values&) { return Values{g.op("Identity", {i})}; })[0];
}

// --- reductions

T reduce(std::string_view op, T x, const Ints& given, bool keepdims) {
  const Ints axes = x.ranked() && x->type.shape->empty() ? Ints{} : given;  // 0-d: axis 0 is none
  ir::Attributes a{{"keepdims", int64_t{keepdims}}};
  ir::Type type = ir::Type::tensor(x.dtype(), x->type.shape);
  if (x.ranked()) {
    const auto rank = static_cast<int64_t>(x->type.shape->size());
    const Ints gone = axes.empty() ? range(0, rank) : wrapped(axes, rank);
    for (auto i = gone.rbegin(); i != gone.rend(); ++i) {
      if (keepdims)
        (*type.shape)[static_cast<size_t>(*i)] = Dim::of(1);
      else
        type.shape->erase(type.shape->begin() + *i);
    }
  } else if (axes.empty() && !keepdims) {
    type.shape = std::vector<Dim>{};
  }
  if (axes.empty()) return x.builder().op(op, {x}, std::move(a), std::move(type));
  return with_axes(op, x, axes, op == "ReduceSum" ? 13 : 18, std::move(a), std::move(type));
}

}  // namespace oe::build
