// Parts of values, and values put together.
#include <algorithm>
#include <limits>
#include <utility>

#include "lib/build/builder.h"

namespace oe::build {
T concat(const Values& v, int64_t axis) {
  if (v.size() == 1) return v[0];
  Builder& g = v[0].builder();
  if (axis == 0) {  // pieces of a shape
    Ints all;
    const bool known = std::all_of(v.begin(), v.end(), [&](T x) {
      const auto part = x.dtype() == DType::Int64 && x->rank() == 1 ? ints(x) : std::nullopt;
      if (part) all.insert(all.end(), part->begin(), part->end());
      return part.has_value();
    });
    if (known) return g.i64s(all);
  }
  ir::Type type = ir::Type::tensor(v[0].dtype(), v[0]->type.shape);
  if (type.shape) {
    // An axis that is static in any piece is static in the whole, but for the joined one.
    std::vector<Dim>& out = *type.shape;
    for (T piece : v)
      for (size_t i = 0; i < out.size(); ++i)
        if (!out[i].is_number() && piece.ranked() && (*piece->type.shape)[i].is_number())
          out[i] = (*piece->type.shape)[i];
    int64_t total = 0;
    bool all = true;
    for (T piece : v) {
      const auto n = piece.dim(axis);
      all = all && n;
      total += n.value_or(0);
    }
    out[static_cast<size_t>(v[0].axis(axis))] = all ? Dim::of(total) : Dim::unknown();
  }
  return g.op("Concat", v, {{"axis", axis}}, std::move(type));
}

T slice(T x, int64_t axis, const Int& start, const Int& end, int64_t step) {
  return slice(x, axis, start, end, known(step));
}

T slice(T x, int64_t axis, const Int& start, const Int& end, const Int& step) {
  if (start.known == 0 && end.known == kEnd && step.known == 1) return x;
  Builder& g = x.builder();
  ir::Type type = ir::Type::tensor(x.dtype(), x->type.shape);
  if (type.shape) {
    Dim& size = (*type.shape)[static_cast<size_t>(x.axis(axis))];
    const Dim whole = std::exchange(size, Dim::unknown());
    if (whole.is_number() && start.known && end.known && step.known) {
      const auto place = [&](int64_t i) {
        return std::clamp<int64_t>(i < 0 ? i + whole.number : i, 0, whole.number);
      };
      const int64_t length = std::max<int64_t>(place(*end.known) - place(*start.known), 0);
      size = Dim::of((length + *step.known - 1) / *step.known);
    }
  }
  if (g.opset() >= 10) {
    Values in{x, g.vector({start}), g.vector({end}), g.i64s({axis})};
    if (step.known != 1) in.push_back(g.vector({step}));
    return g.op("Slice", in, {}, std::move(type));
  }
  if (start.known && end.known && step.known == 1)
    return g.op("Slice", {x},
                {{"starts", Ints{*start.known}}, {"ends", Ints{*end.known}}, {"axes", Ints{axis}}},
                std::move(type));
  if (step.known != 1) throw Unsupported("needs opset 10 or later for slices with steps", 10);
  T first = g.value(start);
  return gather(x, first + arange(g.value(end) - first), axis);
}

T slice(T x, int64_t axis, T start, T end) {
  const auto bound = [](T v) {
    const auto known = ints(v);
    return known ? build::known(known->at(0)) : computed(v);
  };
  return slice(x, axis, bound(start), bound(end));
}

T entry(T x, int64_t axis, const Int& index) {
  Int i = index;
  // Gather takes indices from the end only since opset 11; static axes need none.
  const auto size = x.dim(axis);
  if (i.known && *i.known < 0 && size) i = known(*i.known + *size);
  if (i.known && *i.known < 0) {
    const int64_t end = *i.known == -1 ? kEnd : *i.known + 1;
    return squeeze(slice(x, axis, i, known(end)), {axis});
  }
  return gather(x, x.builder().value(i), axis);
}

T reverse(T x, int64_t axis) {
  constexpr int64_t kTable = 4096;  // larger axes do not deserve an index tensor in the file
  Builder& g = x.builder();
  const auto n = x.dim(axis);
  if (n && *n <= kTable) {
    Ints order = range(0, *n);
    std::reverse(order.begin(), order.end());
    return gather(x, g.i64s(order), axis);
  }
  if (g.opset() >= 10)
    return g.op("Slice",
                {x, g.i64s({-1}), g.i64s({std::numeric_limits<int64_t>::min()}), g.i64s({axis}),
                 g.i64s({-1})},
                {}, ir::Type::tensor(x.dtype(), x->type.shape));
  T count = size(x, axis);
  return gather(x, (count - g.i64(1)) - arange(count), axis);
}

T gather(T x, T indices, int64_t axis) {
  Builder& g = x.builder();
  ir::Type type = ir::Type::tensor(x.dtype());
  if (x.ranked() && indices.ranked()) {
    type.shape = x->type.shape;
    const int64_t a = x.axis(axis);
    type.shape->erase(type.shape->begin() + a);
    type.shape->insert(type.shape->begin() + a, indices->type.shape->begin(),
                       indices->type.shape->end());
  }
  return g.op("Gather", {x, indices}, {{"axis", axis}}, std::move(type));
}

Values split(T x, int64_t axis, const Ints& sizes) {
  if (sizes.size() == 1) return {x};
  Builder& g = x.builder();
  Values out = g.opset() >= 13
                   ? g.ops("Split", {x, g.i64s(sizes)}, {{"axis", axis}}, sizes.size())
                   : g.ops("Split", {x}, {{"axis", axis}, {"split", sizes}}, sizes.size());
  if (x.ranked())
    for (size_t i = 0; i < out.size(); ++i) {
      std::vector<Dim> dims = *x->type.shape;
      dims[static_cast<size_t>(x.axis(axis))] = Dim::of(sizes[i]);
      with_dims(out[i], std::move(dims));
    }
  return out;
}

}  // namespace oe::build
