// Opset 11: negative axes, sequences, inputs of Clip and Pad, Range, CumSum, Round, ScatterND.
#include <algorithm>
#include <cmath>
#include <limits>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Negative axes are new. Indices of Gather may be negative only from here on too; ONNX Runtime
// takes them at every opset, and constant ones are wrapped.
void wrap_axes(Rewriter& r, ir::Node& n) {
  const bool grows = n.op == "Unsqueeze";
  if (auto* axis = n.attributes.find("axis"))
    if (auto* a = std::get_if<int64_t>(axis); a && *a < 0) *a = r.in(0).axis(*a);
  if (auto* axes = n.attributes.find("axes"))
    if (auto* list = std::get_if<Ints>(axes)) {
      const auto added = grows ? static_cast<int64_t>(list->size()) : 0;
      for (int64_t& a : *list)
        if (a < 0) a = wrapped(a, r.in(0).rank() + added);
    }
  r.keep();
}

void gather(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  auto axis = n.attributes.get_or<int64_t>("axis", 0);
  if (axis < 0) n.attributes.set("axis", axis = x.axis(axis));
  if (const auto indices = ints(r.in(1));
      indices && std::any_of(indices->begin(), indices->end(), [](int64_t i) { return i < 0; }))
    n.inputs[1] = wrap_indices(r, cast(r.in(1), DType::Int64), size(x, axis));
  r.keep();
}

void slice(Rewriter& r, ir::Node& n) {
  if (const auto axes = r.in(3) ? ints(r.in(3)) : std::nullopt) {
    Ints wrapped = *axes;
    for (int64_t& a : wrapped)
      if (a < 0) a = r.in(0).axis(a);
    n.inputs[3] = r.i64s(wrapped);
    // The other vectors have to have the type of this one.
    for (size_t i : {1, 2, 4})
      if (r.in(i)) {
        const auto known = ints(r.in(i));
        n.inputs[i] = known ? r.i64s(*known) : cast(r.in(i), DType::Int64);
      }
  }
  r.keep();
}

void one_hot(Rewriter& r, ir::Node& n) {
  const auto axis = n.attributes.get_or<int64_t>("axis", -1);
  if (axis < -1) n.attributes.set("axis", wrapped(axis, r.in(0).rank() + 1));
  T indices = r.in(0);
  if (is_integer(indices.dtype())) {
    T depth = cast(r.in(1), DType::Int64);
    if (depth->rank() != 0) depth = reshape(depth, Ints{});
    n.inputs[0] = wrap_indices(r, cast(indices, DType::Int64), depth);
  }
  r.keep();
}

// Below 11 the power of two is looked up, because integers have no Pow.
void bit_shift(Rewriter& r, ir::Node& n) {
  Ints powers, complements;
  for (int i = 0; i < 64; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << i));
  for (int i = 0; i < 64; ++i)
    complements.push_back(i == 0 ? 0 : powers[static_cast<size_t>(64 - i)] / 2);
  const DType t = r.in(0).dtype();
  T x = cast(r.in(0), DType::Int64), y = cast(r.in(1), DType::Int64);
  T power = gather(r.i64s(powers), y, 0);
  if (n.attributes.get_or<std::string>("direction", "") == "LEFT")
    return r.bind(n.outputs[0], cast(x * power, t));
  if (t != DType::UInt64) {
    const auto amount = scalar(r.in(1));
    if (byte_size(t) < 8 || (amount && *amount < 63))
      return r.bind(n.outputs[0], cast(x / power, t));
  }
  // Seen as int64 the top bit is the sign: it is taken off, and put back shifted.
  T lowest = r.i64(std::numeric_limits<int64_t>::min()), zero = r.i64(0);
  T top = x < zero;
  T low = where(top, x - lowest, x);
  Ints high_bits;
  for (int i = 0; i < 64; ++i) high_bits.push_back(static_cast<int64_t>(uint64_t{1} << (63 - i)));
  T moved_top = where(top, gather(r.i64s(high_bits), y, 0), zero);
  // 2^63 is negative as a divisor; what is left after the top bit was taken is below it anyway.
  T quotient = where(power < zero, zero, low / power);
  r.bind(n.outputs[0], cast(quotient + moved_top, t));
}

// Bounds become attributes where they are constants that a float holds exactly.
void clip(Rewriter& r, ir::Node& n) {
  T x = r.in(0), low = r.in(1), high = r.in(2);
  const auto as_float = [&](T v, float fallback) -> std::optional<float> {
    if (!v) return fallback;
    const auto d = scalar(v);
    if (!d || static_cast<double>(static_cast<float>(*d)) != *d) return std::nullopt;
    return static_cast<float>(*d);
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const auto lo = as_float(low, -infinity), hi = as_float(high, infinity);
  if (lo && hi && *lo <= *hi) {
    n.inputs.resize(1);
    n.attributes.set("min", *lo);
    n.attributes.set("max", *hi);
    return r.keep();
  }
  T y = x;
  if (low) y = maximum(y, low);
  if (high) y = minimum(y, high);
  r.bind(n.outputs[0], y);
}

void cum_sum(Rewriter& r, ir::Node& n) {
  const bool exclusive = n.attributes.get_or<int64_t>("exclusive", 0) != 0;
  const bool from_end = n.attributes.get_or<int64_t>("reverse", 0) != 0;
  r.bind(n.outputs[0], cumulate(r, "Add", r.in(0), r.in(1), exclusive, from_end));
}

void depth_to_space(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<std::string>("mode", "DCR") != "DCR") return move_blocks(r, n);
  n.attributes.erase("mode");
  r.keep();
}

void equal(Rewriter& r, ir::Node& n) {
  const DType t = r.in(0).dtype();
  if (t == DType::Bool || t == DType::Int32 || t == DType::Int64) return r.keep();
  r.bind(n.outputs[0], equal(r.in(0), r.in(1)));
}

void gemm(Rewriter& r, ir::Node& n) {
  if (!r.in(2)) {
    n.inputs.resize(3);
    n.inputs[2] = r.number(0, r.in(0).dtype());
  }
  r.keep();
}

void pad(Rewriter& r, ir::Node& n) {
  T x = r.in(0), value = r.in(2);
  const DType t = x.dtype();
  const auto mode = n.attributes.get_or<std::string>("mode", "constant");
  const auto pads = ints(r.in(1));
  const auto fill = value ? scalar(value) : 0.0;
  const bool exact = fill && static_cast<double>(static_cast<float>(*fill)) == *fill;
  const bool has_infinity = fill && std::isinf(*fill);
  if (pads && is_float(t) && (mode != "constant" || exact || has_infinity)) {
    n.inputs.resize(1);
    n.attributes.set("pads", *pads);
    if (mode == "constant") n.attributes.set("value", static_cast<float>(*fill));
    return r.keep();
  }
  if (mode != "constant") return pad_by_index(r, n);
  if (!value) value = r.number(0, t);
  if (value->rank() != 0) value = reshape(value, Ints{});
  r.bind(n.outputs[0], pad_by_concat(r, x, r.in(1), value));
}

// start + i * delta for i below ceil((limit - start) / delta)
void range(Rewriter& r, ir::Node& n) {
  T start = r.in(0), limit = r.in(1), delta = r.in(2);
  const DType t = start.dtype();
  T count = nullptr;
  const auto step = scalar(delta), first = scalar(start);
  if (is_integer(t)) {
    T span = cast(limit - start, DType::Int64), by = cast(delta, DType::Int64);
    if (step != 1) {
      // Rounded away from zero; a negative count means none.
      T one = r.i64(1);
      T down = step ? r.number(*step > 0 ? 0 : 1, DType::Bool) : by < 0;
      T slack = step ? r.i64(*step > 0 ? static_cast<int64_t>(*step) - 1
                                       : static_cast<int64_t>(*step) + 1)
                     : by - where(down, -1, one);
      span = (span + slack) / by;
    }
    count = clamp(r, span, r.i64(0), nullptr);
  } else {
    T steps = ceil((limit - start) / delta);
    count = cast(maximum(steps, 0), DType::Int64);
  }
  T y = cast(arange(count), t);
  if (step != 1) y = y * delta;
  if (first != 0) y = y + start;
  r.bind(n.outputs[0], y);
}

// To the nearest, halves to the even neighbour.
void round(Rewriter& r, ir::Node& n) { r.bind(n.outputs[0], round_to_even(r.in(0))); }

void scatter_elements(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  auto axis = n.attributes.get_or<int64_t>("axis", 0);
  if (axis < 0) n.attributes.set("axis", axis = x.axis(axis));
  n.inputs[1] = wrap_indices(r, cast(r.in(1), DType::Int64), size(x, axis));
  n.op = "Scatter";
  r.keep();
}

// The k smallest are the k largest of the negated.
void top_k(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const bool largest = n.attributes.get_or<int64_t>("largest", 1) != 0;
  n.attributes.erase("largest");
  n.attributes.erase("sorted");  // sorted is one of the orders that unsorted allows
  const auto axis = n.attributes.get_or<int64_t>("axis", -1);
  if (axis < -1) n.attributes.set("axis", x.axis(axis));
  const DType t = x.dtype();
  if (is_integer(t) && byte_size(t) == 8)
    throw Unsupported("needs opset 11 or later for element type " + std::string(oe::name(t)));
  if (largest && !is_integer(t)) return r.keep();
  const DType c = is_integer(t) ? DType::Double : t;
  n.inputs[0] = cast(x, c);
  if (!largest) n.inputs[0] = -r.in(0);
  T out = r.detach(0);
  T values = r.at(n.outputs[0]);
  values->type.dtype = c;
  r.keep();
  if (!largest) values = -values;
  r.bind(out, cast(values, t));
}

// Below 11 a Loop carries at least one value.
void loop(Rewriter& r, ir::Node& n) {
  n.inputs.resize(std::max<size_t>(n.inputs.size(), 2));
  if (n.inputs.size() > 2) return r.keep();
  ir::Model& m = r.model();
  const auto* body = n.attributes.get<std::shared_ptr<ir::Graph>>("body");
  if (!body) throw Unsupported("");
  const ir::Type type = ranked(DType::Int64, 0);
  ir::Value *state = m.new_value("state", type), *next = m.new_value("state_out", type);
  (*body)->inputs.push_back(state);
  (*body)->nodes.push_back(ir::make_node(m, n.name + "_state", "Identity", {state}, {next}));
  (*body)->outputs.insert((*body)->outputs.begin() + 1, next);
  n.inputs.push_back(r.i64(0));
  n.outputs.insert(n.outputs.begin(), m.new_value("state_final", type));
  n.outputs[0]->producer = &n;
  r.keep();
}

// Before 11 the branches of an If have one shape, for shape inference and for ONNX Runtime's
// buffers. Where they do not, each branch's result goes through a Reshape whose target inference
// cannot tell: the shape it has anyway, and zero times the condition.
void hide_shapes(Rewriter& r, ir::Node& n) {
  const auto* a = n.attributes.get<std::shared_ptr<ir::Graph>>("then_branch");
  const auto* b = n.attributes.get<std::shared_ptr<ir::Graph>>("else_branch");
  if (!a || !b) throw Unsupported("");
  T nothing = nullptr;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    const Shape &x = (*a)->outputs[i]->type.shape, &y = (*b)->outputs[i]->type.shape;
    const auto told = [](const Dim& d, const Dim& e) {
      return d.is_number() && e.is_number() && d.number == e.number;
    };
    if (x && y && x->size() != y->size())
      throw Unsupported("needs opset 11 or later for branches of different ranks");
    if (x && y && std::equal(x->begin(), x->end(), y->begin(), y->end(), told)) continue;
    if (!nothing) nothing = cast(r.in(0), DType::Int64) * 0;
    for (const auto& graph : {*a, *b}) {
      ir::Model& m = r.model();
      ir::Value* v = graph->outputs[i];
      const ir::Type sizes = ranked(DType::Int64, 1);
      ir::Value* shape = m.new_value(v->name + "_shape", sizes);
      ir::Value* computed = m.new_value(v->name + "_computed_shape", sizes);
      // Rank and nothing else: what is said here is checked against the other branch.
      Shape open;
      if (v->type.shape) open = std::vector<Dim>(v->type.shape->size(), Dim::unknown());
      ir::Value* out = m.new_value(v->name + "_result", ir::Type::tensor(v->type.dtype, open));
      graph->nodes.push_back(ir::make_node(m, v->name + "_Shape", "Shape", {v}, {shape}));
      graph->nodes.push_back(
          ir::make_node(m, v->name + "_Add", "Add", {shape, nothing}, {computed}));
      graph->nodes.push_back(
          ir::make_node(m, v->name + "_Reshape", "Reshape", {v, computed}, {out}));
      graph->outputs[i] = out;
    }
  }
  r.keep();
}

void scan(Rewriter& r, ir::Node& n) {
  for (const char* name : {"scan_input_axes", "scan_output_axes"})
    if (const auto* axes = n.attributes.get<Ints>(name))
      for (int64_t a : *axes)
        if (a < 0) throw Unsupported("needs opset 11 or later for negative scan axes");
  r.keep();
}

constexpr Row rows[] = {
    rewrite("ArgMax", wrap_axes),
    rewrite("ArgMin", wrap_axes),
    same("AveragePool"),
    rewrite("BitShift", bit_shift),
    rewrite("Clip", clip),
    rewrite("Compress", wrap_axes),
    rewrite("Concat", wrap_axes),
    needs("ConcatFromSequence"),
    defaults("Constant"),
    same("Conv"),
    same("ConvTranspose"),
    rewrite("CumSum", cum_sum),
    rewrite("DepthToSpace", depth_to_space),
    needs("Det"),
    body("DynamicQuantizeLinear"),
    rewrite("Equal", equal),
    rewrite("Flatten", wrap_axes),
    rewrite("Gather", gather),
    rewrite("GatherElements", flat_gather_elements),
    rewrite("GatherND", flat_gather_nd),
    rewrite("Gemm", gemm),
    rewrite("Hardmax", wrap_axes),
    rewrite("If", hide_shapes),
    rewrite("LogSoftmax", wrap_axes),
    rewrite("Loop", loop),
    same("LpPool"),
    same("MaxPool"),
    same("MaxUnpool"),
    same("NonMaxSuppression"),
    rewrite("OneHot", one_hot),
    rewrite("Pad", pad),
    rewrite("Range", range),
    rewrite("ReduceL1", wrap_axes),
    rewrite("ReduceL2", wrap_axes),
    rewrite("ReduceLogSum", wrap_axes),
    rewrite("ReduceLogSumExp", wrap_axes),
    rewrite("ReduceMax", wrap_axes),
    rewrite("ReduceMean", wrap_axes),
    rewrite("ReduceMin", wrap_axes),
    rewrite("ReduceProd", wrap_axes),
    rewrite("ReduceSum", wrap_axes),
    rewrite("ReduceSumSquare", wrap_axes),
    rewrite("Resize", resize_by_samples),
    rewrite("Round", round),
    rewrite("Scan", scan),
    rewrite("ScatterElements", scatter_elements),
    rewrite("ScatterND", flat_scatter_nd),
    needs("SequenceAt"),
    needs("SequenceConstruct"),
    needs("SequenceEmpty"),
    needs("SequenceErase"),
    needs("SequenceInsert"),
    needs("SequenceLength"),
    rewrite("Slice", slice),
    rewrite("Softmax", wrap_axes),
    rewrite("Split", wrap_axes),
    needs("SplitToSequence"),
    rewrite("Squeeze", wrap_axes),
    rewrite("TopK", top_k),
    needs("Unique"),
    rewrite("Unsqueeze", wrap_axes),
};

}  // namespace

Rung opset_11() { return rows; }

}  // namespace oe::opsets
