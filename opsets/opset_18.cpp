// Opset 18: axes as inputs, uneven Split, bitwise operators, Mish, scatter reductions max/min.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Equal parts with a shorter last one: sizes are spelled out, computed where the axis is dynamic.
void split(Rewriter& r, ir::Node& n) {
  n.attributes.erase("num_outputs");
  if (r.in(1)) return r.keep();
  n.inputs.resize(1);
  const auto parts = static_cast<int64_t>(n.outputs.size());
  const int64_t axis = n.attributes.get_or<int64_t>("axis", 0);
  if (const auto size = r.in(0).dim(axis); size && *size % parts == 0) return r.keep();
  T total = vector(size(r.in(0), axis));
  T part = (total + r.i64s({parts - 1})) / r.i64s({parts});
  Values sizes(static_cast<size_t>(parts - 1), part);
  sizes.push_back(total - part * r.i64s({parts - 1}));
  n.inputs.push_back(concat(sizes, 0));
  r.keep();
}

// A vector over `axes` becomes one over all axes, with `others` (1-d, one element per axis, or a
// single one) where `axes` says nothing. Null stays null.
T spread(Rewriter& r, T v, const Ints& axes, int64_t rank, T others) {
  if (!v) return v;
  Values all;
  for (int64_t a = 0; a < rank; ++a) {
    const auto it = std::find(axes.begin(), axes.end(), a);
    if (it != axes.end())
      all.push_back(gather(v, r.i64s({it - axes.begin()}), 0));
    else
      all.push_back(others.dim(0) == 1 ? others : gather(others, r.i64s({a}), 0));
  }
  return concat(all, 0);
}

Ints wrapped(Ints axes, int64_t rank) {
  for (int64_t& a : axes) a = opsets::wrapped(a, rank);
  return axes;
}

void pad(Rewriter& r, ir::Node& n) {
  T axes_value = r.in(3);
  n.inputs.resize(std::min<size_t>(n.inputs.size(), 3));
  while (!n.inputs.back()) n.inputs.pop_back();
  if (!axes_value) return r.keep();
  const auto given = ints(axes_value);
  if (!given) throw Unsupported("needs opset 18 or later where the axes are computed");
  const int64_t rank = r.in(0).rank(), count = static_cast<int64_t>(given->size());
  const Ints axes = wrapped(*given, rank);
  T pads = r.in(1);
  if (const auto known = ints(pads)) {
    Ints full(static_cast<size_t>(2 * rank), 0);
    for (int64_t i = 0; i < count; ++i) {
      full[static_cast<size_t>(axes[i])] = (*known)[i];
      full[static_cast<size_t>(axes[i] + rank)] = (*known)[i + count];
    }
    n.inputs[1] = r.i64s(full);
  } else {
    T zero = r.i64s({0});
    n.inputs[1] = concat(
        {spread(r, slice(pads, 0, build::known(0), build::known(count)), axes, rank, zero),
         spread(r, slice(pads, 0, build::known(count), build::known(2 * count)), axes, rank, zero)},
        0);
  }
  r.keep();
}

void resize(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<int64_t>("antialias", 0) != 0)
    throw Unsupported("needs opset 18 or later for antialiasing");
  if (n.attributes.get_or<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch")
    throw Unsupported("needs opset 18 or later for 'keep_aspect_ratio_policy'");
  n.attributes.erase("antialias");
  n.attributes.erase("keep_aspect_ratio_policy");
  const auto* given = n.attributes.get<Ints>("axes");
  if (!given) return r.keep();
  const int64_t rank = r.in(0).rank();
  const Ints axes = wrapped(*given, rank);
  n.attributes.erase("axes");
  if (r.in(1) && n.attributes.get_or<std::string>("coordinate_transformation_mode", "") ==
                     "tf_crop_and_resize")
    throw Unsupported("needs opset 18 or later for 'tf_crop_and_resize' with axes");
  n.inputs[1] = nullptr;
  if (T scales = r.in(2)) {
    if (const auto t = content(scales)) {
      std::vector<double> full(static_cast<size_t>(rank), 1.0);
      const auto values = t->as_double();
      for (size_t i = 0; i < values.size(); ++i) full[static_cast<size_t>(axes[i])] = values[i];
      n.inputs[2] = r.numbers(full, {rank}, DType::Float);
    } else {
      n.inputs[2] = spread(r, scales, axes, rank, r.numbers({1}, {1}, DType::Float));
    }
  }
  if (r.in(3)) n.inputs[3] = spread(r, r.in(3), axes, rank, shape(r.in(0)));
  r.keep();
}

void mish(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  r.bind(n.outputs[0], x * tanh(softplus(x)));
}

void scatter_elements(Rewriter& r, ir::Node& n) {
  const auto reduction = n.attributes.get_or<std::string>("reduction", "none");
  if (reduction != "max" && reduction != "min") return r.keep();
  scatter_elements_loop(r, n, reduction == "max" ? "Max" : "Min");
}
void scatter_nd(Rewriter& r, ir::Node& n) {
  const auto reduction = n.attributes.get_or<std::string>("reduction", "none");
  if (reduction != "max" && reduction != "min") return r.keep();
  scatter_nd_loop(r, n, reduction == "max" ? "Max" : "Min");
}

constexpr Row rows[] = {
    rewrite("BitwiseAnd", bitwise),
    rewrite("BitwiseNot", bitwise_not),
    rewrite("BitwiseOr", bitwise),
    rewrite("BitwiseXor", bitwise),
    body("CenterCropPad"),
    rewrite("Col2Im", col_to_im),
    needs("GroupNormalization"),
    defaults("LpPool"),
    rewrite("Mish", mish),
    needs("OptionalGetElement"),
    needs("OptionalHasElement"),
    rewrite("Pad", pad),
    rewrite("ReduceL1", reduce_axes_to_attribute),
    rewrite("ReduceL2", reduce_axes_to_attribute),
    rewrite("ReduceLogSum", reduce_axes_to_attribute),
    rewrite("ReduceLogSumExp", reduce_axes_to_attribute),
    rewrite("ReduceMax", reduce_axes_to_attribute),
    rewrite("ReduceMean", reduce_axes_to_attribute),
    rewrite("ReduceMin", reduce_axes_to_attribute),
    rewrite("ReduceProd", reduce_axes_to_attribute),
    rewrite("ReduceSumSquare", reduce_axes_to_attribute),
    rewrite("Resize", resize),
    rewrite("ScatterElements", scatter_elements),
    rewrite("ScatterND", scatter_nd),
    rewrite("Split", split),
};

}  // namespace

Rung opset_18() { return rows; }

}  // namespace oe::opsets
