// Normalisations over batches, features, groups and instances.
#include <algorithm>
#include <limits>

#include "lib/lower/aten/shape_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;
using MaybeValue = std::optional<Value>;

struct Moments {
  Value centered, variance, mean;
};

// Mean and biased variance over `axes`, kept as axes of size 1.
Moments moments(Emit& g, Value x, const Ints& axes) {
  Value mean = reduce(g, "ReduceMean", x, axes);
  Value centered = sub(g, x, mean);
  return {centered, reduce(g, "ReduceMean", mul(g, centered, centered), axes), mean};
}

Value rsqrt(Emit& g, Value variance, double eps) {
  return g.node("Reciprocal", {sqrt(g, add(g, variance, num(g, eps, variance)))});
}

// [C] -> [C, 1, 1, ...] so that it lines up with axis 1 of a tensor of `rank`.
Value per_channel(Emit& g, Value v, int64_t rank, DType t) {
  Ints shape(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
  shape[0] = -1;
  v = g.cast(v, t);
  return shape.size() == 1 ? v : reshape(g, v, shape);
}

Value affine(Emit& g, Value y, MaybeValue weight, MaybeValue bias, int64_t rank) {
  const DType t = g.dtype(y);
  if (weight) y = mul(g, y, per_channel(g, *weight, rank, t));
  if (bias) y = add(g, y, per_channel(g, *bias, rank, t));
  return y;
}

Ints all_but(int64_t rank, int64_t axis) {
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

// Length of the channel axis, from whichever operand knows it.
std::optional<int64_t> channels(Emit& g, Value x, std::initializer_list<MaybeValue> parameters) {
  for (const MaybeValue& p : parameters)
    if (p)
      if (auto n = g.dim(*p, 0)) return n;
  return g.dim(x, 1);
}

// One type for the data and all the parameters: float32 when half data meets float32 statistics.
DType common_type(Emit& g, Value x, std::initializer_list<MaybeValue> parameters) {
  DType t = g.dtype(x);
  for (const MaybeValue& p : parameters)
    if (p && g.dtype(*p) != t && narrow_float(t)) t = DType::Float;
  return t;
}

Value batch_norm_fixed(Emit& g, Value x, MaybeValue w, MaybeValue b, Value mean, Value var,
                       double eps) {
  const DType t = common_type(g, x, {w, b, mean, var});
  const int64_t rank = g.rank(x);
  Value in = g.cast(x, t), y = nullptr;
  auto n = channels(g, x, {w, b, mean, var});
  if (n && t != DType::Double) {
    Value scale = w ? g.cast(*w, t) : filled(g, t, Ints{*n}, 1);
    Value shift = b ? g.cast(*b, t) : filled(g, t, Ints{*n}, 0);
    y = g.node("BatchNormalization", {in, scale, shift, g.cast(mean, t), g.cast(var, t)},
               {{"epsilon", static_cast<float>(eps)}});
  } else {
    // The attribute holds eps as float32 only, and the operator needs both parameters.
    y = sub(g, in, per_channel(g, mean, rank, t));
    y = mul(g, y, rsqrt(g, per_channel(g, var, rank, t), eps));
    y = affine(g, y, w, b, rank);
  }
  return g.cast(y, g.dtype(x));
}

// Normalises by the batch's own statistics; also their mean and 1/sqrt(var + eps), as [C].
Values batch_norm_computed(Emit& g, Value x, MaybeValue w, MaybeValue b, double eps) {
  const DType t = accumulate_type(g.dtype(x));
  const int64_t rank = g.rank(x);
  const Ints axes = all_but(rank, 1);
  Moments m = moments(g, g.cast(x, t), axes);
  Value inverse = rsqrt(g, m.variance, eps);
  Value y = g.cast(affine(g, mul(g, m.centered, inverse), w, b, rank), g.dtype(x));
  return {y, squeeze(g, m.mean, axes), squeeze(g, inverse, axes)};
}

Value batch_norm(Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
                 bool training, double eps) {
  if (training || !mean || !var) return batch_norm_computed(g, x, w, b, eps)[0];
  return batch_norm_fixed(g, x, w, b, *mean, *var, eps);
}

// Unlike batch_norm this one reads as many parameters as there are channels and checks nothing.
Values native_batch_norm(Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean,
                         MaybeValue var, bool training, double eps) {
  for (MaybeValue* p : {&w, &b, &mean, &var})
    if (*p && !shape::same_dim(**p, 0, x, 1)) *p = shape::cut(g, **p, 0, known(0), dim(g, x, 1));
  if (training || !mean || !var) return batch_norm_computed(g, x, w, b, eps);
  Value none = filled(g, accumulate_type(g.dtype(x)), Ints{0}, 0);
  return {batch_norm_fixed(g, x, w, b, *mean, *var, eps), none, none};
}

// All three results of layer normalisation over the last axes.
Values layer_norm_parts(Emit& g, Value x, size_t axes, MaybeValue w, MaybeValue b, double eps) {
  const DType t = accumulate_type(g.dtype(x));
  const int64_t rank = g.rank(x);
  Moments m = moments(g, g.cast(x, t), range(rank - static_cast<int64_t>(axes), rank));
  Value inverse = rsqrt(g, m.variance, eps);
  Value y = mul(g, m.centered, inverse);
  if (w) y = mul(g, y, g.cast(*w, t));
  if (b) y = add(g, y, g.cast(*b, t));
  return {g.cast(y, g.dtype(x)), m.mean, inverse};
}

Values layer_norm(Emit& g, Value x, const Dims& shape, MaybeValue w, MaybeValue b, double eps,
                  bool statistics) {
  const DType t = g.dtype(x);
  const bool mixed = common_type(g, x, {w, b}) != t;
  // The operator's epsilon and statistics are float32: too coarse for double.
  if (t == DType::Double || mixed || (!w && !Emit::all_known(shape)))
    return layer_norm_parts(g, x, shape.size(), w, b, eps);
  Value scale = w ? *w : filled(g, t, g.known(shape, "normalized_shape"), 1);
  Values in{x, scale};
  if (b) in.push_back(*b);
  ir::Attributes a{{"axis", g.rank(x) - static_cast<int64_t>(shape.size())},
                   {"epsilon", static_cast<float>(eps)}};
  return g.nodes("LayerNormalization", in, std::move(a), statistics ? 3 : 1);
}

// Instances of `x` as [N, groups, rest]: what InstanceNormalization wants.
Value group_norm(Emit& g, Value x, int64_t groups, MaybeValue w, MaybeValue b, double eps) {
  const DType t = common_type(g, x, {w, b});
  const int64_t rank = g.rank(x);
  const Dims shape = dims(g, x, rank);
  // Named where it is static: -1 has no answer for an empty batch.
  int64_t rest = shape[1].known ? *shape[1].known / groups : -1;
  for (int64_t i = 2; i < rank; ++i) rest = rest < 0 ? -1 : shape[i].known.value_or(-1) * rest;
  Value in = g.cast(x, t);
  Value grouped = reshape(g, in, Ints{0, groups, std::max<int64_t>(rest, -1)});
  Value y = nullptr;
  if (t == DType::Double) {
    Moments m = moments(g, grouped, {2});
    y = mul(g, m.centered, rsqrt(g, m.variance, eps));
  } else {
    y = g.node("InstanceNormalization",
               {grouped, filled(g, t, Ints{groups}, 1), filled(g, t, Ints{groups}, 0)},
               {{"epsilon", static_cast<float>(eps)}});
  }
  int unknown = 0;
  for (const Int& i : shape) unknown += !i.known;
  y = unknown <= 1 ? reshape(g, y, shape) : g.node("Reshape", {y, g.shape(x)});
  return g.cast(affine(g, y, w, b, rank), g.dtype(x));
}

Values native_group_norm(Emit& g, Value x, MaybeValue w, MaybeValue b, int64_t groups, double eps) {
  const DType t = accumulate_type(g.dtype(x));
  Value grouped = reshape(g, g.cast(x, t), Ints{0, groups, -1});
  Moments m = moments(g, grouped, {2});
  Value inverse = rsqrt(g, m.variance, eps);
  Value y = g.node("Reshape", {mul(g, m.centered, inverse), g.shape(x)});
  y = affine(g, y, w, b, g.rank(x));
  return {g.cast(y, g.dtype(x)), g.cast(squeeze(g, m.mean, {2}), g.result_dtype(1)),
          g.cast(squeeze(g, inverse, {2}), g.result_dtype(2))};
}

Value instance_norm(Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
                    bool use_input_stats, double eps) {
  if (!use_input_stats && mean && var) return batch_norm_fixed(g, x, w, b, *mean, *var, eps);
  const DType t = common_type(g, x, {w, b});
  const int64_t rank = g.rank(x);
  auto n = channels(g, x, {w, b});
  Value in = g.cast(x, t), y = nullptr;
  if (n && t != DType::Double) {
    y = g.node("InstanceNormalization",
               {in, w ? g.cast(*w, t) : filled(g, t, Ints{*n}, 1),
                b ? g.cast(*b, t) : filled(g, t, Ints{*n}, 0)},
               {{"epsilon", static_cast<float>(eps)}});
  } else {
    Moments m = moments(g, in, range(2, rank));
    y = affine(g, mul(g, m.centered, rsqrt(g, m.variance, eps)), w, b, rank);
  }
  return g.cast(y, g.dtype(x));
}

// Without eps PyTorch takes the epsilon of the type it computes in: float32's for half types.
Value rms_norm(Emit& g, Value x, size_t axes, MaybeValue w, std::optional<double> eps) {
  const DType t = accumulate_type(g.dtype(x));
  const int64_t rank = g.rank(x);
  const double small = eps.value_or(t == DType::Double ? std::numeric_limits<double>::epsilon()
                                                       : std::numeric_limits<float>::epsilon());
  Value in = g.cast(x, t);
  Value square =
      reduce(g, "ReduceMean", mul(g, in, in), range(rank - static_cast<int64_t>(axes), rank));
  Value y = mul(g, in, rsqrt(g, square, small));
  if (w) y = mul(g, y, g.cast(*w, t));
  return g.cast(y, g.result_dtype());
}

// v * g / |v|, the norm taken over every axis but `dim` (-1: over all of them).
Values weight_norm(Emit& g, Value v, Value scale, int64_t dim) {
  const int64_t axis = g.axis(v, dim);
  // The kernel for the outer axes reads as many factors as there are rows and checks nothing.
  if ((dim == 0 || axis == g.rank(v) - 1) && dim != -1 && !shape::same_dim(scale, axis, v, axis))
    scale = shape::cut(g, scale, axis, known(0), nn::dim(g, v, axis));
  const Ints axes = dim == -1 ? Ints{} : all_but(g.rank(v), g.axis(v, dim));
  Value norm =
      axes.empty() && dim != -1 ? g.node("Abs", {v}) : reduce(g, "ReduceL2", v, axes, dim != -1);
  return {mul(g, v, div(g, scale, norm)), norm};
}

constexpr Lowering table[] = {
    op("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
          bool training, Skip, double eps,
          Skip) { return batch_norm(g, x, w, b, mean, var, training, eps); }),
    op("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
          bool training, Skip,
          double eps) { return native_batch_norm(g, x, w, b, mean, var, training, eps); }),
    op("aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, Value mean, Value var, Skip, double eps) {
         return native_batch_norm(g, x, w, b, mean, var, false, eps);
       }),
    op("aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, Skip, Skip, double eps) {
         return batch_norm_computed(g, x, w, b, eps);
       }),
    op("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
       [](Emit& g, Value x, Dims shape, MaybeValue w, MaybeValue b, double eps, Skip) {
         return layer_norm(g, x, shape, w, b, eps, false)[0];
       }),
    op("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, Dims shape, MaybeValue w, MaybeValue b, double eps) {
         Values y = layer_norm(g, x, shape, w, b, eps, true);
         return Values{y[0], g.cast(y[1], g.result_dtype(1)), g.cast(y[2], g.result_dtype(2))};
       }),
    op("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
       [](Emit& g, Value x, int64_t groups, MaybeValue w, MaybeValue b, double eps, Skip) {
         return group_norm(g, x, groups, w, b, eps);
       }),
    op("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, Skip, Skip, Skip, int64_t groups,
          double eps) { return native_group_norm(g, x, w, b, groups, eps); }),
    op("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
       [](Emit& g, Value x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
          bool use_input_stats, Skip, double eps,
          Skip) { return instance_norm(g, x, w, b, mean, var, use_input_stats, eps); }),
    op("aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
       [](Emit& g, Value x, Dims shape, MaybeValue w, std::optional<double> eps) {
         return rms_norm(g, x, shape.size(), w, eps);
       }),
    op("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
       [](Emit& g, Value v, Value scale, int64_t dim) { return weight_norm(g, v, scale, dim)[0]; }),
    op("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
       [](Emit& g, Value v, Value scale, int64_t dim) { return weight_norm(g, v, scale, dim); }),
};

}  // namespace

Table norm_rows() { return table; }

}  // namespace oe::lower
