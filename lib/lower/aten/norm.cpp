// Normalisations over batches, features, groups and instances.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/lower/lowering.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

struct Moments {
  T centered, variance, mean;
};

// Mean and biased variance over `axes`, kept as axes of size 1.
Moments moments(T x, const Ints& axes) {
  T mean = reduce("ReduceMean", x, axes);
  T centered = x - mean;
  return {centered, reduce("ReduceMean", centered * centered, axes), mean};
}

T rsqrt(T variance, double eps) { return reciprocal(sqrt(variance + eps)); }

// [C] -> [C, 1, 1, ...] so that it lines up with axis 1 of a tensor of `rank`.
T per_channel(T v, int64_t rank, DType t) {
  Ints shape(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
  shape[0] = -1;
  v = cast(v, t);
  return shape.size() == 1 ? v : reshape(v, shape);
}

T affine(T y, MaybeValue weight, MaybeValue bias, int64_t rank) {
  const DType t = y.dtype();
  if (weight) y = y * per_channel(*weight, rank, t);
  if (bias) y = y + per_channel(*bias, rank, t);
  return y;
}

Ints all_but(int64_t rank, int64_t axis) {
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

// Length of the channel axis, from whichever operand knows it.
std::optional<int64_t> channels(T x, std::initializer_list<MaybeValue> parameters) {
  for (const MaybeValue& p : parameters)
    if (p)
      if (auto n = p->dim(0)) return n;
  return x.dim(1);
}

// One type for the data and all the parameters: float32 when half data meets float32 statistics.
DType common_type(T x, std::initializer_list<MaybeValue> parameters) {
  DType t = x.dtype();
  for (const MaybeValue& p : parameters)
    if (p && p->dtype() != t && narrow_float(t)) t = DType::Float;
  return t;
}

// The operator on operands of one type t, with running statistics or (training) the batch's own.
// Null where it cannot say it: its eps is a float32, and it needs both parameters.
T batch_norm_node(Call& g, DType t, T x, MaybeValue w, MaybeValue b, T mean, T var, double eps,
                  bool training, double momentum) {
  const auto n = channels(x, {w, b, mean, var});
  if (!n || t == DType::Double) return nullptr;
  T scale = w ? cast(*w, t) : g.filled(t, Ints{*n}, 1);
  T shift = b ? cast(*b, t) : g.filled(t, Ints{*n}, 0);
  ir::Attributes attributes{{"epsilon", static_cast<float>(eps)}};
  if (training) {
    // How much stays of the old statistics, where ATen says how much comes of the new ones.
    attributes.set("momentum", static_cast<float>(1 - momentum));
    attributes.set("training_mode", 1);
  }
  return nodes("BatchNormalization", {cast(x, t), scale, shift, cast(mean, t), cast(var, t)},
               std::move(attributes), training ? 3 : 1)[0];
}

T batch_norm_fixed(Call& g, T x, MaybeValue w, MaybeValue b, T mean, T var, double eps) {
  const DType t = common_type(x, {w, b, mean, var});
  const int64_t rank = x.rank();
  T in = cast(x, t);
  T y = batch_norm_node(g, t, x, w, b, mean, var, eps, false, 0);
  if (!y) {
    y = in - per_channel(mean, rank, t);
    y = y * rsqrt(per_channel(var, rank, t), eps);
    y = affine(y, w, b, rank);
  }
  return cast(y, x.dtype());
}

// Normalises by the batch's own statistics; also their mean and 1/sqrt(var + eps), as [C], which
// ONNX's BatchNormalization in training mode does not give.
Values batch_norm_computed(T x, MaybeValue w, MaybeValue b, double eps) {
  const DType t = compute_type(x.dtype());
  const int64_t rank = x.rank();
  const Ints axes = all_but(rank, 1);
  Moments m = moments(cast(x, t), axes);
  T inverse = rsqrt(m.variance, eps);
  T y = cast(affine(m.centered * inverse, w, b, rank), x.dtype());
  return {y, squeeze(m.mean, axes), squeeze(inverse, axes)};
}

T batch_norm(Call& g, T x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
             bool training, Skip, double eps, Rest) {
  if (training || !mean || !var) return batch_norm_computed(x, w, b, eps)[0];
  return batch_norm_fixed(g, x, w, b, *mean, *var, eps);
}

// What capture records of a batch_norm in train mode that has running statistics. The new ones it
// records by themselves: ONNX's take the biased variance.
Values batch_norm_functional(Call& g, T x, MaybeValue w, MaybeValue b, T mean, T var, bool training,
                             double momentum, double eps) {
  Values y = batch_norm_computed(x, w, b, eps);
  if (!training)
    y[0] = batch_norm_fixed(g, x, w, b, mean, var, eps);
  else if (x.dtype() == DType::Float)
    if (T trained = batch_norm_node(g, DType::Float, x, w, b, mean, var, eps, true, momentum))
      y[0] = trained;
  return {y[0], y[1], y[2], nullptr, nullptr};
}

// Unlike batch_norm this one reads as many parameters as there are channels and checks nothing.
Values native_batch_norm(Call& g, T x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
                         bool training, Skip, double eps) {
  for (MaybeValue* p : {&w, &b, &mean, &var})
    if (*p && !same_dim(**p, 0, x, 1)) *p = slice(**p, 0, known(0), size_of(x, 1));
  if (training || !mean || !var) return batch_norm_computed(x, w, b, eps);
  T none = g.filled(compute_type(x.dtype()), Ints{0}, 0);
  return {batch_norm_fixed(g, x, w, b, *mean, *var, eps), none, none};
}

// All three results of layer normalization over the last axes.
Values layer_norm_parts(T x, size_t axes, MaybeValue w, MaybeValue b, double eps) {
  const DType t = compute_type(x.dtype());
  const int64_t rank = x.rank();
  Moments m = moments(cast(x, t), range(rank - static_cast<int64_t>(axes), rank));
  T inverse = rsqrt(m.variance, eps);
  T y = m.centered * inverse;
  if (w) y = y * cast(*w, t);
  if (b) y = y + cast(*b, t);
  return {cast(y, x.dtype()), m.mean, inverse};
}

Values layer_norm(Call& g, T x, const Dims& shape, MaybeValue w, MaybeValue b, double eps,
                  bool statistics) {
  const DType t = x.dtype();
  const bool mixed = common_type(x, {w, b}) != t;
  // The operator's epsilon and statistics are float32: too coarse for double.
  if (t == DType::Double || mixed || (!w && !all_known(shape)))
    return layer_norm_parts(x, shape.size(), w, b, eps);
  T scale = w ? *w : g.filled(t, g.known(shape, "normalized_shape"), 1);
  Values in{x, scale};
  if (b) in.push_back(*b);
  ir::Attributes a{{"axis", x.rank() - static_cast<int64_t>(shape.size())},
                   {"epsilon", static_cast<float>(eps)}};
  return nodes("LayerNormalization", in, std::move(a), statistics ? 3 : 1);
}

// Instances of `x` as [N, groups, rest]: what InstanceNormalization wants. ONNX Runtime has no
// kernel of GroupNormalization and takes twice as long for its body.
T group_norm(Call& g, T x, int64_t groups, MaybeValue w, MaybeValue b, double eps, Rest) {
  const DType t = common_type(x, {w, b});
  const int64_t rank = x.rank();
  const Dims shape = sizes_of(x, rank);
  // Named where it is static: -1 has no answer for an empty batch.
  int64_t rest = shape[1].known ? *shape[1].known / groups : -1;
  for (int64_t i = 2; i < rank; ++i) rest = rest < 0 ? -1 : shape[i].known.value_or(-1) * rest;
  T in = cast(x, t);
  T grouped = reshape(in, Ints{0, groups, std::max<int64_t>(rest, -1)});
  T y = nullptr;
  if (t == DType::Double) {
    Moments m = moments(grouped, {2});
    y = m.centered * rsqrt(m.variance, eps);
  } else {
    y = node("InstanceNormalization",
             {grouped, g.filled(t, Ints{groups}, 1), g.filled(t, Ints{groups}, 0)},
             {{"epsilon", static_cast<float>(eps)}});
  }
  int unknown = 0;
  for (const Int& i : shape) unknown += !i.known;
  y = unknown <= 1 ? reshape(y, shape) : reshape(y, build::shape(x));
  return cast(affine(y, w, b, rank), x.dtype());
}

// The sizes are arguments of their own: x is their elements in order, of any rank.
Values native_group_norm(Call& g, T x, MaybeValue w, MaybeValue b, const Int& batch,
                         const Int& channels, const Int& each, int64_t groups, double eps) {
  T grouped = reshape(cast(x, compute_type(x.dtype())), Dims{batch, known(groups), known(-1)});
  Moments m = moments(grouped, {2});
  T inverse = rsqrt(m.variance, eps);
  T y = affine(reshape(m.centered * inverse, Dims{batch, channels, each}), w, b, 3);
  y = node("Reshape", {y, shape(x)});
  return {cast(y, x.dtype()), cast(squeeze(m.mean, {2}), g.result_dtype(1)),
          cast(squeeze(inverse, {2}), g.result_dtype(2))};
}

T instance_norm(Call& g, T x, MaybeValue w, MaybeValue b, MaybeValue mean, MaybeValue var,
                bool use_input_stats, Skip, double eps, Rest) {
  if (!use_input_stats && mean && var) return batch_norm_fixed(g, x, w, b, *mean, *var, eps);
  const DType t = common_type(x, {w, b});
  const int64_t rank = x.rank();
  auto n = channels(x, {w, b});
  T in = cast(x, t), y = nullptr;
  if (rank == 2) {  // of one element each: its own mean
    y = affine((in - in) * (1 / std::sqrt(eps)), w, b, rank);
  } else if (n && t != DType::Double) {
    y = node("InstanceNormalization",
             {in, w ? cast(*w, t) : g.filled(t, Ints{*n}, 1),
              b ? cast(*b, t) : g.filled(t, Ints{*n}, 0)},
             {{"epsilon", static_cast<float>(eps)}});
  } else {
    Moments m = moments(in, range(2, rank));
    y = affine(m.centered * rsqrt(m.variance, eps), w, b, rank);
  }
  return cast(y, x.dtype());
}

// Without eps PyTorch takes the epsilon of the type it computes in: float32's for half types.
T rms_norm(Call& g, T x, const Dims& shape, MaybeValue w, std::optional<double> eps) {
  const DType t = compute_type(x.dtype());
  const int64_t rank = x.rank();
  const double small = eps.value_or(t == DType::Double ? std::numeric_limits<double>::epsilon()
                                                       : std::numeric_limits<float>::epsilon());
  const int64_t axis = rank - static_cast<int64_t>(shape.size());
  T in = cast(x, t), y = nullptr;
  // The operator's epsilon is float32: too coarse for double.
  if (t == DType::Double) {
    T square = reduce("ReduceMean", in * in, range(axis, rank));
    y = in * rsqrt(square, small);
    if (w) y = y * cast(*w, t);
  } else {
    y = node("RMSNormalization", {in, w ? cast(*w, t) : g.number(1, t)},
             {{"axis", axis}, {"epsilon", static_cast<float>(small)}});
  }
  return cast(y, g.result_dtype());
}

// v * g / |v|, the norm taken over every axis but `dim` (-1: over all of them).
Values weight_norm(T v, T scale, int64_t dim) {
  const Ints axes = dim == -1 ? Ints{} : all_but(v.rank(), v.axis(dim));
  T norm = axes.empty() && dim != -1 ? abs(v) : reduce("ReduceL2", v, axes, dim != -1);
  // The kernel for the outer axes takes a factor for each slice, whatever the shape they come in.
  if (const int64_t axis = v.axis(dim); dim == 0 || (dim != -1 && axis == v.rank() - 1)) {
    Ints shape(static_cast<size_t>(v.rank()), 1);
    shape[static_cast<size_t>(axis)] = -1;
    return {v * (reshape(scale, shape) / norm), restore(flat(norm), scale)};
  }
  return {v * (scale / norm), norm};
}

constexpr Lowering table[] = {
    op<batch_norm>(
        "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor"),
    op<native_batch_norm>(
        "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    op<batch_norm_functional>(
        "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)"),
    op("aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       [](Call& g, T x, MaybeValue w, MaybeValue b, T mean, T var, Skip, double eps) {
         return native_batch_norm(g, x, w, b, mean, var, false, {}, eps);
       }),
    op("aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       [](T x, MaybeValue w, MaybeValue b, Skip, Skip, double eps) {
         return batch_norm_computed(x, w, b, eps);
       }),
    op("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
       [](Call& g, T x, Dims shape, MaybeValue w, MaybeValue b, double eps, Skip) {
         return layer_norm(g, x, shape, w, b, eps, false)[0];
       }),
    op("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
       [](Call& g, T x, Dims shape, MaybeValue w, MaybeValue b, double eps) {
         Values y = layer_norm(g, x, shape, w, b, eps, true);
         return Values{y[0], cast(y[1], g.result_dtype(1)), cast(y[2], g.result_dtype(2))};
       }),
    op<group_norm>(
        "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor"),
    op<native_group_norm>(
        "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)"),
    op<instance_norm>(
        "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor"),
    op<rms_norm>(
        "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"),
    op("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
       [](T v, T scale, int64_t dim) { return weight_norm(v, scale, dim)[0]; }),
    op<weight_norm>(
        "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"),
};

}  // namespace

Table norm_rows() { return table; }

}  // namespace oe::lower
