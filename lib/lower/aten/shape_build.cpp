// Builders shared by the families that move elements.
#include "lib/lower/aten/shape_build.h"

#include <algorithm>

namespace oe::lower::shape {

Int min(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(std::min(*a.known, *b.known));
  return from_value(with_rank(g.node("Min", {g.to_value(a), g.to_value(b)}), 0));
}

Int max(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(std::max(*a.known, *b.known));
  return from_value(with_rank(g.node("Max", {g.to_value(a), g.to_value(b)}), 0));
}

Int wrap(Emit& g, const Int& i, const Int& size) {
  if (i.known) return *i.known < 0 ? nn::add(g, i, size) : i;
  Value negative = g.node("Less", {i.computed, g.i64(0)});
  Value moved = g.to_value(nn::add(g, i, size));
  return from_value(with_rank(g.node("Where", {negative, moved, i.computed}), 0));
}

Int ceil_div(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known((*a.known + *b.known - 1) / *b.known);
  const Int top = nn::sub(g, nn::add(g, a, b), known(1));
  return from_value(with_rank(g.node("Div", {g.to_value(top), g.to_value(b)}), 0));
}

Int modulo(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(((*a.known % *b.known) + *b.known) % *b.known);
  return from_value(with_rank(g.node("Mod", {g.to_value(a), g.to_value(b)}), 0));
}

Int broadcast_size(Emit& g, const Int& a, const Int& b) {
  if (a.known == 1) return b;
  if (b.known == 1 || a.known) return a;
  if (b.known) return b;
  Value one = g.node("Equal", {a.computed, g.i64(1)});
  return from_value(with_rank(g.node("Where", {one, b.computed, a.computed}), 0));
}

Value with_rank(Value v, int64_t rank) {
  if (!v->type.shape) v->type.shape = std::vector<Dim>(static_cast<size_t>(rank));
  return v;
}

Value with_dims(Value v, std::vector<Dim> dims) {
  if (!v->type.shape) v->type.shape = std::move(dims);
  return v;
}

namespace {

// The dims of v, all unknown when even the rank is.
std::vector<Dim> dims_of(Value v, int64_t rank) {
  return v->type.shape ? *v->type.shape : std::vector<Dim>(static_cast<size_t>(rank));
}

std::vector<Dim> known_dims(const Dims& d) {
  std::vector<Dim> out;
  for (const Int& i : d)
    out.push_back(i.known && *i.known >= 0 ? Dim::of(*i.known) : Dim::unknown());
  return out;
}

// A tensor of no elements in this shape.
Value empty_tensor(Emit& g, const Dims& shape, DType t) {
  if (g.all_known(shape))
    return g.tensor(Tensor::from_bytes(t, g.known(shape, "size"), nullptr, 0), "empty");
  Value zeros = g.node("ConstantOfShape", {g.to_vector(shape)});
  return with_dims(g.cast(zeros, t), known_dims(shape));
}

}  // namespace

Value reshape_to(Emit& g, Value x, const Dims& rest, int64_t keep) {
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

  // Beside a -1 no axis may be empty in PyTorch either, so nothing here depends on allowzero.
  if (inferred) return with_dims(g.node("Reshape", {x, g.to_vector(rest)}), result);
  if (!zero && (computed == 0 || (computed == 1 && kept_static)))
    return with_dims(g.node("Reshape", {x, g.i64s(fixed)}), result);
  Dims all;
  for (int64_t i = 0; i < keep; ++i) all.push_back(dim(g, x, i));
  all.insert(all.end(), rest.begin(), rest.end());
  if (zero) return empty_tensor(g, all, g.dtype(x));
  return with_dims(g.node("Reshape", {x, g.to_vector(all)}, {{"allowzero", int64_t{1}}}), result);
}

Value flat(Emit& g, Value x) {
  if (x->rank() == 1) return x;
  return with_rank(g.node("Reshape", {x, g.i64s({-1})}), 1);
}

Value restore(Emit& g, Value flat, Value like) {
  const int64_t rank = g.rank(like);
  if (rank == 1) return flat;
  return reshape_to(g, flat, dims(g, like, rank));
}

Value at_least_1d(Emit& g, Value x) {
  if (g.rank(x) > 0) return x;
  return with_dims(g.node("Reshape", {x, g.i64s({1})}), {Dim::of(1)});
}

Value to_0d(Emit& g, Value x) {
  if (x->rank() == 0) return x;
  return with_rank(g.node("Reshape", {x, g.i64s({})}), 0);
}

Value permuted(Emit& g, Value x, const Ints& perm) {
  Value y = transpose(g, x, perm);
  if (y == x) return x;
  std::vector<Dim> out;
  const auto in = dims_of(x, static_cast<int64_t>(perm.size()));
  for (int64_t p : perm) out.push_back(in[static_cast<size_t>(p)]);
  return with_dims(y, std::move(out));
}

Value unsqueezed(Emit& g, Value x, Ints axes) {
  if (axes.empty()) return x;
  std::sort(axes.begin(), axes.end());
  Value y = g.node("Unsqueeze", {x, g.i64s(axes)});
  if (!x->type.shape) return y;
  std::vector<Dim> out = *x->type.shape;
  for (int64_t a : axes) out.insert(out.begin() + a, Dim::of(1));
  return with_dims(y, std::move(out));
}

Value squeezed(Emit& g, Value x, const Ints& axes) {
  if (axes.empty()) return x;
  Value y = g.node("Squeeze", {x, g.i64s(axes)});
  if (!x->type.shape) return y;
  std::vector<Dim> out;
  for (size_t i = 0; i < x->type.shape->size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      out.push_back((*x->type.shape)[i]);
  return with_dims(y, std::move(out));
}

Value along(Emit& g, Value vector, int64_t axis, int64_t rank) {
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return unsqueezed(g, with_rank(vector, 1), axes);
}

Value cut(Emit& g, Value x, int64_t axis, const Int& start, const Int& end, int64_t step) {
  if (start.known == 0 && end.known == kEnd && step == 1) return x;
  Values in{x, g.to_vector({start}), g.to_vector({end}), g.i64s({axis})};
  if (step != 1) in.push_back(g.i64s({step}));
  Value y = g.node("Slice", in);
  if (!x->type.shape) return y;
  std::vector<Dim> out = *x->type.shape;
  const Dim size = out[static_cast<size_t>(axis)];
  Dim& cut_size = out[static_cast<size_t>(axis)];
  cut_size = Dim::unknown();
  if (size.is_number() && start.known && end.known) {
    auto place = [&](int64_t i) {
      return std::clamp<int64_t>(i < 0 ? i + size.number : i, 0, size.number);
    };
    const int64_t length = std::max<int64_t>(place(*end.known) - place(*start.known), 0);
    cut_size = Dim::of((length + step - 1) / step);
  }
  return with_dims(y, std::move(out));
}

Value entry(Emit& g, Value x, int64_t axis, const Int& index) {
  std::vector<Dim> out = dims_of(x, axis + 1);
  Int i = index;
  // Gather takes indices from the end only since opset 11; static axes need none.
  if (i.known && *i.known < 0 && out[static_cast<size_t>(axis)].is_number())
    i = known(*i.known + out[static_cast<size_t>(axis)].number);
  if (i.known && *i.known < 0) {
    const int64_t end = *i.known == -1 ? kEnd : *i.known + 1;
    return squeezed(g, cut(g, x, axis, i, known(end)), {axis});
  }
  Value y = g.node("Gather", {x, g.to_value(i)}, {{"axis", axis}});
  if (!x->type.shape) return y;
  out.erase(out.begin() + axis);
  return with_dims(y, std::move(out));
}

Value joined(Emit& g, const Values& v, int64_t axis) {
  Value y = concat(g, v, axis);
  if (y == v[0] || !v[0]->type.shape) return y;
  // An axis that is static in any piece is static in the whole, but for the joined one.
  std::vector<Dim> out = *v[0]->type.shape;
  for (Value piece : v)
    for (size_t i = 0; i < out.size(); ++i)
      if (!out[i].is_number() && piece->type.shape && (*piece->type.shape)[i].is_number())
        out[i] = (*piece->type.shape)[i];
  int64_t total = 0;
  bool all = true;
  for (Value piece : v) {
    const auto n = g.dim(piece, axis);
    all = all && n;
    total += n.value_or(0);
  }
  out[static_cast<size_t>(axis)] = all ? Dim::of(total) : Dim::unknown();
  return with_dims(y, std::move(out));
}

Value reversed(Emit& g, Value x, int64_t axis) {
  constexpr int64_t kTable = 4096;  // larger axes do not deserve an index tensor in the file
  const auto n = g.dim(x, axis);
  Value y;
  if (n && *n <= kTable) {
    Ints order = range(0, *n);
    std::reverse(order.begin(), order.end());
    y = g.node("Gather", {x, g.i64s(order)}, {{"axis", axis}});
  } else {
    y = g.node("Slice", {x, g.i64s({-1}), g.i64s({INT64_MIN}), g.i64s({axis}), g.i64s({-1})});
  }
  if (x->type.shape) with_dims(y, *x->type.shape);
  return y;
}

Value taken(Emit& g, Value x, Value indices, int64_t axis) {
  Value y = gather(g, x, indices, axis);
  if (!x->type.shape || !indices->type.shape) return y;
  std::vector<Dim> out = *x->type.shape;
  out.erase(out.begin() + axis);
  out.insert(out.begin() + axis, indices->type.shape->begin(), indices->type.shape->end());
  return with_dims(y, std::move(out));
}

Value sizes(Emit& g, Value x, int64_t from, int64_t to) {
  Ints numbers;
  for (int64_t i = from; i < to; ++i)
    if (auto n = g.dim(x, i)) numbers.push_back(*n);
  Value v = static_cast<int64_t>(numbers.size()) == to - from
                ? g.i64s(numbers)
                : cut(g, g.shape(x), 0, known(from), known(to == g.rank(x) ? kEnd : to));
  return with_dims(v, {Dim::of(to - from)});
}

bool same_static(Value a, Value b) {
  if (!a->type.shape || !b->type.shape || a->type.shape->size() != b->type.shape->size())
    return false;
  for (size_t i = 0; i < a->type.shape->size(); ++i) {
    const Dim &p = (*a->type.shape)[i], &q = (*b->type.shape)[i];
    if (!p.is_number() || !(p == q)) return false;
  }
  return true;
}

bool same_dim(Value a, int64_t a_axis, Value b, int64_t b_axis) {
  if (!a->type.shape || !b->type.shape) return false;
  const Dim& p = a->type.shape->at(static_cast<size_t>(a_axis));
  return p.kind != Dim::Kind::Unknown && p == b->type.shape->at(static_cast<size_t>(b_axis));
}

Value expanded(Emit& g, Value x, Value shape_vector, int64_t rank) {
  return with_rank(g.node("Expand", {x, shape_vector}), rank);
}

Value widened(Emit& g, Value x, int64_t axis, const Int& size) {
  const int64_t rank = g.rank(x);
  if (size.known && g.dim(x, axis) == size.known) return x;
  Dims shape(static_cast<size_t>(rank), known(1));
  shape[static_cast<size_t>(axis)] = size;
  std::vector<Dim> dims = *x->type.shape;
  dims[static_cast<size_t>(axis)] = size.known ? Dim::of(*size.known) : Dim::unknown();
  return with_dims(g.node("Expand", {x, g.to_vector(shape)}), std::move(dims));
}

Values broadcast(Emit& g, const Values& v) {
  int64_t rank = 0;
  for (Value x : v) rank = std::max(rank, g.rank(x));
  Values out;
  for (Value x : v) {
    Value y = x;
    for (Value other : v) {
      // A 0-d or all-ones partner of no higher rank changes nothing.
      bool neutral = other == x || same_static(y, other);
      if (!neutral && g.rank(other) <= g.rank(y))
        neutral = std::all_of(other->type.shape->begin(), other->type.shape->end(),
                              [](const Dim& d) { return d.is_number() && d.number == 1; });
      if (!neutral) y = expanded(g, y, g.shape(other), std::max(g.rank(y), g.rank(other)));
    }
    out.push_back(y);
  }
  return out;
}

}  // namespace oe::lower::shape
