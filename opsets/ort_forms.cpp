// The table of forms that ONNX Runtime lacks, or does not fuse: where a node has one, and what says
// the same.
#include "opsets/ort_forms.h"

#include <algorithm>
#include <limits>

#include "opsets/expand.h"
#include "opsets/ort_norms.h"

namespace oe::opsets {
namespace {

bool may_be_empty(const ir::Value* v) {
  return !v->type.shape || std::ranges::any_of(*v->type.shape, [](const Dim& d) {
    return !d.is_number() || d.number == 0;
  });
}

bool made_by(const ir::Value* v, std::string_view op) { return v->producer && v->producer->is(op); }

// where(IsNaN(x), 0, x)
bool without_nan(const ir::Value* v) {
  return made_by(v, "Where") && made_by(v->producer->inputs[0], "IsNaN");
}

// --- where a form occurs

// Its kernel moves the statistics in the initializers themselves, so that the next call and other
// readers find others; and where nobody reads the moved ones, an optimisation gives another result.
bool trains(const ir::Node& n) { return n.attributes.get_or<int64_t>("training_mode", 0) != 0; }

bool batch_first(const ir::Node& n) { return n.attributes.get_or<int64_t>("layout", 0) == 1; }

// Shape inference of opset 10 says that a constant piece of an axis with a name is as long as the
// axis, and ONNX Runtime plans its buffers by that. Of a computed end it says nothing. Below 10 the
// bounds are attributes, of which inference is right.
struct Piece {
  Ints starts, ends, axes, steps;
  // Whether the end along axes[i] has to be computed.
  bool misread(const ir::Value& x, size_t i) const {
    const int64_t step = steps.empty() ? 1 : steps[i];
    const bool whole = starts[i] == 0 && ends[i] == INT64_MAX && step == 1;
    const Dim& d = (*x.type.shape)[static_cast<size_t>(
        wrapped(axes[i], static_cast<int64_t>(x.type.shape->size())))];
    return !whole && step > 0 && !d.is_number();
  }
};
// Of a Slice with constant bounds.
std::optional<Piece> piece(const ir::Node& n) {
  const auto input = [&](size_t i) { return n.inputs.size() > i ? n.inputs[i] : nullptr; };
  if (!input(3) || !input(0)->type.shape) return std::nullopt;
  const auto starts = ints(input(1)), ends = ints(input(2)), axes = ints(input(3));
  const auto steps = input(4) ? ints(input(4)) : Ints{};
  if (!starts || !ends || !axes || !steps) return std::nullopt;
  return Piece{*starts, *ends, *axes, *steps};
}
bool cuts_a_named_axis(const ir::Node& n) {
  const auto p = piece(n);
  for (size_t i = 0; p && i < p->axes.size(); ++i)
    if (p->misread(*n.inputs[0], i)) return true;
  return false;
}
void compute_ends(Rewriter& r, ir::Node& n) {
  const Piece p = piece(n).value();
  T x = r.in(0);
  Values computed;
  for (size_t i = 0; i < p.axes.size(); ++i) {
    const int64_t end = p.ends[i];
    if (!p.misread(*x, i)) {
      computed.push_back(r.i64s({end}));
      continue;
    }
    T length = size(x, p.axes[i]);
    computed.push_back(
        vector(end == INT64_MAX ? length
                                : clamp(r, wrap_indices(r, r.i64(end), length), r.i64(0), length)));
  }
  n.inputs[2] = computed.size() == 1 ? computed[0] : concat(computed, 0);
  r.keep();
}

// Its DFT loses digits: of 400 random samples, transformed by it, the largest of an error is 4e-5
// of the largest result, of 512 it is 6e-7; LibTorch's is 2e-7.
// Its ReduceLogSumExp begins with the first element as the largest so far, but where that is
// infinite with 0, so that numbers far below 0 sum up to nothing.
bool always(const ir::Node&) { return true; }

// Integers that may be none at all, divided by one number that may be zero then: LibTorch divides
// nothing, ONNX Runtime refuses the zero.
bool divides_nothing(const ir::Node& n) {
  const ir::Value* by = n.inputs[1];
  if (!is_integer(by->type.dtype) || by->data || !by->type.shape || made_by(by, "Constant"))
    return false;
  const auto is_one = [](const Dim& d) { return d.is_number() && d.number == 1; };
  return std::ranges::all_of(*by->type.shape, is_one) && may_be_empty(n.inputs[0]);
}

// Sums and products of integers go through float64.
bool of_integers(const ir::Node& n) { return is_integer(n.inputs[0]->type.dtype); }
bool of_large_integers(const ir::Node& n) { return of_integers(n) && !small_integers(n.inputs[0]); }

// Squares along the last axis are added one to the other in one float: of 400,000 the error is
// 1e-4, ReduceSum's is 6e-6.
bool of_many_squares(const ir::Node& n) {
  constexpr int64_t kFew = 4096;
  if (n.inputs[0]->type.dtype != DType::Float || !n.inputs[0]->type.shape) return false;
  const auto axes = n.inputs.size() > 1 && n.inputs[1]
                        ? ints(n.inputs[1])
                        : std::optional(n.attributes.get_or<Ints>("axes", {}));
  if (!axes) return false;
  const auto& shape = *n.inputs[0]->type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t count = 1;
  for (int64_t a = 0; a < rank; ++a) {
    const bool reduced = axes->empty() || std::ranges::any_of(*axes, [&](int64_t b) {
                           return wrapped(b, rank) == a;
                         });
    const Dim& d = shape[static_cast<size_t>(a)];
    if (reduced && !d.is_number()) return true;
    if (reduced) count *= d.number;
    if (count > kFew) return true;
  }
  return false;
}

bool windowed(const ir::Node& n) {
  return n.attributes.get_or<int64_t>("left_window_size", -1) != -1 ||
         n.attributes.get_or<int64_t>("right_window_size", -1) != -1;
}

// It transposes an operand whose last axis is summed, and divides by the size of that axis.
bool sums_over_nothing(const ir::Node& n) {
  std::string equation = n.attributes.get_or<std::string>("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return false;
  const std::string output = equation.substr(arrow + 2);
  for (size_t i = 0, from = 0; i < n.inputs.size(); ++i) {
    const size_t to = std::min(equation.find(',', from), arrow);
    const bool sums = to > from && output.find(equation[to - 1]) == std::string::npos;
    const auto& shape = n.inputs[i]->type.shape;
    if (i > 0 && sums && (!shape || !shape->back().is_number() || shape->back().number == 0))
      return true;
    from = to + 1;
  }
  return false;
}

// A Scan runs over no empty axis, and dies of empty entries.
bool scans_nothing(const ir::Node& n) {
  const auto scanned = n.attributes.get_or<int64_t>("num_scan_inputs", 0);
  return std::any_of(n.inputs.end() - scanned, n.inputs.end(), may_be_empty);
}

// A Gather at a Range becomes a Slice, in which numbers below 0 mean something else.
bool at_range_below_zero(const ir::Node& n) {
  const ir::Value* at = n.inputs[1];
  if (!made_by(at, "Range")) return false;
  const auto start = scalar(at->producer->inputs[0]), step = scalar(at->producer->inputs[2]);
  return !start || *start < 0 || !step || *step <= 0;
}

// A Transpose on the left joins the product, which then gets a vector on the right wrong.
bool by_vector(const ir::Node& n) {
  const Shape &a = n.inputs[0]->type.shape, &b = n.inputs[1]->type.shape;
  return b && b->size() == 1 && (!a || a->size() > 1);
}

// The node that makes numbers of a constant of integers; null where `v` is no such.
const ir::Node* dequantizes(const ir::Value* v) {
  const ir::Node* made = v->producer;
  if (made && made->is("Transpose")) made = made->inputs[0]->producer;
  return made && made->is("DequantizeLinear") && made->inputs[0]->data ? made : nullptr;
}

// A product with such a constant becomes one that rounds the other operand to 8 bits, too
// (MatMulNBits).
bool by_integers(const ir::Node& n) { return dequantizes(n.inputs[0]) || dequantizes(n.inputs[1]); }

// The larger or smaller one of a number and NaN is the number.
bool scatters_extremes(const ir::Node& n) {
  const auto reduction = n.attributes.get_or<std::string>("reduction", "none");
  return (reduction == "max" || reduction == "min") && is_float(n.inputs[0]->type.dtype) &&
         !without_nan(n.inputs[2]);
}

// Padding of the output is refused from the stride on; ONNX asks that it is below the stride or the
// dilation.
bool pads_beyond_stride(const ir::Node& n) {
  const auto extra = n.attributes.get_or<Ints>("output_padding", {});
  const auto strides = n.attributes.get_or<Ints>("strides", Ints(extra.size(), 1));
  for (size_t i = 0; i < extra.size(); ++i)
    if (extra[i] >= strides[i]) return true;
  return false;
}

// What is added to the scores of an attention: 0 where a key counts, a large negative number
// elsewhere. The mask is [batch, keys]. The fusion of Attention finds two of the ways to write it:
//   (1 - Cast (Unsqueeze (Unsqueeze (mask)))) * low
//   Where (Cast (1 - Cast (Expand (Unsqueeze (Unsqueeze (mask)), shape))), low, 0)
struct ScoreMask {
  ir::Value *scores = nullptr, *mask = nullptr;
  double low = 0;
  bool of_truth = false;  // the mask is bools
};
// The mask of which `v` is Unsqueeze <axes = 1, 2>; null where it is not.
ir::Value* per_key(const ir::Value* v) {
  if (!made_by(v, "Unsqueeze") || !v->type.shape || v->type.shape->size() != 4) return nullptr;
  const ir::Node& n = *v->producer;
  const auto axes = n.inputs.size() > 1 ? ints(n.inputs[1])
                                        : std::optional(n.attributes.get_or<Ints>("axes", {}));
  return axes == Ints{1, 2} ? n.inputs[0] : nullptr;
}
std::optional<ScoreMask> score_mask(const ir::Value* v) {
  ScoreMask m;
  if (made_by(v, "Where")) {
    const auto& in = v->producer->inputs;
    const auto low = scalar(in[2]);
    m.mask = per_key(in[0]);
    if (!low || scalar(in[1]) != 0.0) return std::nullopt;
    m.low = *low;
    m.of_truth = true;
  } else if (made_by(v, "Mul") && made_by(v->producer->inputs[0], "Sub")) {
    const auto& in = v->producer->inputs[0]->producer->inputs;
    const auto low = scalar(v->producer->inputs[1]);
    if (!low || scalar(in[0]) != 1.0 || !made_by(in[1], "Cast")) return std::nullopt;
    m.mask = per_key(in[1]->producer->inputs[0]);
    m.low = *low;
  }
  const bool finite_number = m.low < 0 && m.low >= std::numeric_limits<float>::lowest();
  return m.mask && finite_number ? std::optional(m) : std::nullopt;
}
std::optional<ScoreMask> added_mask(const ir::Node& softmax) {
  const ir::Value* sum = softmax.inputs[0];
  if (sum->type.dtype != DType::Float || !made_by(sum, "Add")) return std::nullopt;
  for (const size_t i : {1, 0}) {
    if (auto m = score_mask(sum->producer->inputs[i])) {
      m->scores = sum->producer->inputs[1 - i];
      return m;
    }
  }
  return std::nullopt;
}
bool has_mask(const ir::Node& n) { return added_mask(n).has_value(); }

// Whether tensors of as many elements have the same dims: one that is not known is the same then.
bool same_dims(const Shape& a, const Shape& b) {
  if (!a || !b || a->size() != b->size()) return false;
  size_t unknown = 0;
  for (size_t i = 0; i < a->size(); ++i) {
    const Dim &x = (*a)[i], &y = (*b)[i];
    if (x == y && (x.is_symbol() || x.number > 0)) continue;
    if ((x.is_number() && y.is_number()) || ++unknown > 1) return false;
  }
  return true;
}

// The Reshape that takes the groups of images apart again. The fusion of GroupNorm, which is for
// images and for more than one group, looks for the shape of what was grouped.
ir::Value* grouped_images(const ir::Node& n) {
  if (!made_by(n.inputs[0], "InstanceNormalization")) return nullptr;
  const ir::Node& norm = *n.inputs[0]->producer;
  const TensorPtr& scale = norm.inputs[1]->data;
  if (!made_by(norm.inputs[0], "Reshape") || !scale || scale->numel() < 2) return nullptr;
  ir::Value* images = norm.inputs[0]->producer->inputs[0];
  const bool same = same_dims(images->type.shape, n.outputs[0]->type.shape);
  return same && images->type.shape->size() == 4 ? images : nullptr;
}
bool ungroups_images(const ir::Node& n) {
  const ir::Value* images = grouped_images(n);
  return images && !(made_by(n.inputs[1], "Shape") && n.inputs[1]->producer->inputs[0] == images);
}

// A float, as int64 and then as int32, becomes a Cast to int32: what wraps around is lost.
bool wraps_float(const ir::Node& n) {
  if (!made_by(n.inputs[0], "Cast")) return false;
  const DType from = n.inputs[0]->producer->inputs[0]->type.dtype, over = n.inputs[0]->type.dtype,
              to = n.outputs[0]->type.dtype;
  return is_float(from) && is_integer(over) && is_integer(to) && byte_size(over) >= 4 &&
         byte_size(to) >= 2 && byte_size(to) < byte_size(over);
}

// --- and how to say it

void mask_for_fusion(Rewriter& r, ir::Node& n) {
  const ScoreMask m = added_mask(n).value();
  T mask = unsqueeze(unsqueeze(r.at(m.mask), {1}), {2});
  if (m.of_truth) {
    // To its own shape: the fusion looks for an Expand.
    T wide = node("Expand", {mask, shape(mask)}, {}, mask->type);
    T hidden = cast(1.0 - cast(wide, DType::Float), DType::Bool);
    n.inputs[0] = r.at(m.scores) + where(hidden, r.number(m.low, DType::Float), 0.0);
  } else {
    n.inputs[0] = r.at(m.scores) + (1.0 - cast(mask, DType::Float)) * m.low;
  }
  r.keep();
}

void gather_from_end(Rewriter& r, ir::Node& n) {
  const int64_t axis = n.attributes.get_or<int64_t>("axis", 0);
  T at = r.in(1), length = cast(size(r.in(0), axis), at.dtype());
  n.inputs[1] = where(at < 0, at + length, at);
  r.keep();
}

void vector_as_column(Rewriter& r, ir::Node& n) {
  T a = r.in(0);
  r.bind(n.outputs[0], squeeze(matmul(a, unsqueeze(r.in(1), {1})), {a.rank() - 1}));
}

// The constant as a Cast and arithmetic, which it folds when it loads the model.
void cast_integers(Rewriter& r, ir::Node& n) {
  for (size_t i = 0; i < 2; ++i) {
    const ir::Node* made = dequantizes(n.inputs[i]);
    if (!made) continue;
    const ir::Node* transposed = n.inputs[i]->producer;
    T numbers = dequantized(r, *made);
    n.inputs[i] = transposed->is("Transpose")
                      ? transpose(numbers, transposed->attributes.get_or<Ints>("perm", {1, 0}))
                      : numbers;
  }
  r.keep();
}

// What NaN goes to is found by integers and written last.
void nan_after_extremes(Rewriter& r, ir::Node& n) {
  const auto marks = [](T x) { return cast(is_nan(x), DType::Int32); };
  T data = r.in(0), updates = r.in(2);
  ir::Attributes a = n.attributes;
  a.set("reduction", std::string("max"));
  T hit = node(n.op, {marks(data), r.in(1), marks(updates)}, a,
               ir::Type::tensor(DType::Int32, n.outputs[0]->type.shape));
  n.inputs[2] = where(is_nan(updates), 0.0, updates);
  ir::Value* out = r.detach(0);
  T extreme = r.at(n.outputs[0]);
  r.keep();
  r.bind(out, where(hit > 0, std::numeric_limits<double>::quiet_NaN(), extreme));
}

// The same as less padding at the end; what goes beyond that has no input under it.
void less_padding(Rewriter& r, ir::Node& n) {
  T bias = r.in(2);
  const DType t = r.in(0).dtype();
  const int64_t rank = r.in(0).rank();
  auto extra = n.attributes.get_or<Ints>("output_padding", {});
  const size_t axes = extra.size();
  const auto strides = n.attributes.get_or<Ints>("strides", Ints(axes, 1));
  auto pads = n.attributes.get_or<Ints>("pads", Ints(2 * axes, 0));
  Ints beyond(static_cast<size_t>(2 * rank), 0), per_channel(axes + 1, 1);
  for (size_t i = 0; i < axes; ++i) {
    if (extra[i] < strides[i]) continue;
    const int64_t less = std::min(extra[i], pads[axes + i]);
    pads[axes + i] -= less;
    beyond[beyond.size() - axes + i] = extra[i] - less;
    extra[i] = 0;
  }
  n.attributes.set("pads", pads);
  n.attributes.set("output_padding", extra);
  if (std::ranges::all_of(beyond, [](int64_t p) { return p == 0; })) return r.keep();
  Values in = {r.in(0), r.in(1)};
  T y = node("ConvTranspose", in, n.attributes, ranked(t, rank));
  per_channel[0] = -1;
  y = r.below() >= 11 ? node("Pad", {y, r.i64s(beyond)}, {}, ranked(t, rank))
                      : node("Pad", {y}, {{"pads", beyond}}, ranked(t, rank));
  r.bind(n.outputs[0], bias ? y + reshape(bias, per_channel) : y);
}

// A point halfway between two elements, there and back again: its kernel folds in an order that
// rounds to the other one.
bool nearest_by_reflection(const ir::Node& n) {
  return n.attributes.get_or<std::string>("mode", "linear") == "nearest" &&
         n.attributes.get_or<std::string>("padding_mode", "zeros") == "reflection";
}

bool of_doubles(const ir::Node& n) { return n.inputs[0]->type.dtype == DType::Double; }

// It has the kernel from opset 20 on.
void grid_of_doubles(Rewriter& r, ir::Node& n) {
  if (r.below() >= 20) return r.keep();
  grid_sample_by_gather(r, n);
}

// It moves the zeros of a Pad into the pool that reads them, and then refuses pads as large as the
// kernel.
bool reads_wide_pads(const ir::Node& n) {
  const ir::Node* pad = n.inputs[0]->producer;
  if (!pad || !pad->is("Pad")) return false;
  const auto pads = pad->inputs.size() > 1
                        ? ints(pad->inputs[1])
                        : std::optional(pad->attributes.get_or<Ints>("pads", {}));
  const auto kernel = n.attributes.get_or<Ints>("kernel_shape", {});
  if (!pads || kernel.empty()) return false;
  const auto widest = std::ranges::max_element(*pads);
  const auto own = n.attributes.get_or<Ints>("pads", {0});
  return widest != pads->end() &&
         *widest + *std::ranges::max_element(own) >= *std::ranges::min_element(kernel);
}
// A node that returns its input, and that no optimization takes out.
void apart_from_pads(Rewriter& r, ir::Node& n) {
  n.inputs[0] = node("LeakyRelu", {r.in(0)}, {{"alpha", 1.0F}}, n.inputs[0]->type);
  r.keep();
}

// A square root is its own absolute value, and no fusion looks for one.
void divide_by_absolute(Rewriter& r, ir::Node& n) {
  const size_t i = made_by(n.inputs[1], "Sqrt") ? 1 : 0;
  n.inputs[i] = node("Abs", {r.in(i)}, {}, n.inputs[i]->type);
  r.keep();
}

// Nodes that return their input stand between the two, and no optimization takes them out.
void casts_apart(Rewriter& r, ir::Node& n) {
  n.inputs[0] = squeeze(unsqueeze(r.in(0), {0}), {0});
  r.keep();
}

void shape_of_images(Rewriter& r, ir::Node& n) {
  n.inputs[1] = node("Shape", {r.at(grouped_images(n))}, {}, n.inputs[1]->type);
  r.keep();
}

struct Form {
  std::string_view op;
  bool (*occurs)(const ir::Node&);
  Rewrite rewrite;
  int64_t only_at = 0;  // the opset; 0: any
};
constexpr Form forms[] = {
    {"Attention", windowed, expand_body},
    {"AveragePool", reads_wide_pads, apart_from_pads},
    {"BatchNormalization", trains, expand_batch_training},
    {"Cast", wraps_float, casts_apart},
    {"ConvTranspose", pads_beyond_stride, less_padding},
    {"DFT", always, dft_as_products},
    {"Div", divides_nothing, never_by_zero},
    {"Div", is_fused_as_norm, divide_by_absolute},
    {"Einsum", sums_over_nothing, einsum},
    {"GRU", batch_first, time_first},
    {"Gather", at_range_below_zero, gather_from_end},
    {"GridSample", nearest_by_reflection, grid_sample_by_gather},
    {"GridSample", of_doubles, grid_of_doubles},
    {"LSTM", batch_first, time_first},
    {"MatMul", by_integers, cast_integers},
    {"MatMul", by_vector, vector_as_column},
    {"Mod", divides_nothing, never_by_zero},
    {"RNN", batch_first, time_first},
    {"ReduceL2", of_many_squares, sum_of_squares},
    {"ReduceLogSumExp", always, log_sum_exp_from_largest},
    {"ReduceProd", of_integers, product_in_steps},
    {"ReduceSum", of_large_integers, sum_in_halves},
    {"ReduceSumSquare", of_many_squares, sum_of_squares},
    {"Reshape", ungroups_images, shape_of_images},
    {"Scan", scans_nothing, scan_as_loop},
    {"ScatterElements", scatters_extremes, nan_after_extremes},
    {"ScatterND", scatters_extremes, nan_after_extremes},
    {"Slice", cuts_a_named_axis, compute_ends, 10},
    {"Softmax", has_mask, mask_for_fusion},
};

}  // namespace

Rewrite ort_form(const ir::Node& n, int64_t opset) {
  if (!n.domain.empty()) return nullptr;
  const auto* form = std::ranges::find_if(forms, [&](const Form& f) {
    return f.op == n.op && (f.only_at == 0 || f.only_at == opset) && f.occurs(n);
  });
  return form != std::end(forms) ? form->rewrite : nullptr;
}

}  // namespace oe::opsets
