// Operators whose form depends on the opset, and exact stand-ins below the opset that has them.
#include <algorithm>
#include <limits>

#include "opsets/rewriter.h"

namespace oe::opsets {
namespace {

constexpr int64_t kTo32 = int64_t{1} << 32;

Ints iota(int64_t from, int64_t to) {
  Ints v;
  for (int64_t i = from; i < to; ++i) v.push_back(i);
  return v;
}

}  // namespace

Value Rewriter::cast(Value v, DType t) {
  if (dtype(v) == t) return v;
  return op("Cast", {v}, {{"to", static_cast<int64_t>(t)}});
}

Value Rewriter::reshape(Value v, const Ints& shape) {
  std::vector<Dim> dims;
  for (int64_t d : shape) dims.push_back(d > 0 ? Dim::of(d) : Dim::unknown());
  return op("Reshape", {v, i64s(shape)}, {}, ir::Type::tensor(dtype(v), std::move(dims)));
}

Value Rewriter::reshape(Value v, Value shape, std::optional<int64_t> rank) {
  if (auto s = ints(shape)) return reshape(v, *s);
  if (!rank) rank = dim(shape, 0);
  return op("Reshape", {v, shape}, {}, rank ? ranked(dtype(v), *rank) : ir::Type::tensor(dtype(v)));
}

Value Rewriter::vector(Value scalar) {
  if (const auto known = ints(scalar)) return i64s(*known);
  return reshape(scalar, Ints{1});
}

Value Rewriter::transpose(Value v, const Ints& perm) {
  if (perm == iota(0, static_cast<int64_t>(perm.size()))) return v;
  ir::Type t = ranked(dtype(v), static_cast<int64_t>(perm.size()));
  if (v->type.shape)
    for (size_t i = 0; i < perm.size(); ++i)
      (*t.shape)[i] = (*v->type.shape)[static_cast<size_t>(perm[i])];
  return op("Transpose", {v}, {{"perm", perm}}, std::move(t));
}

Value Rewriter::unsqueeze(Value v, const Ints& axes) {
  ir::Type t = ir::Type::tensor(dtype(v));
  if (v->type.shape) {
    const auto rank = static_cast<int64_t>(v->type.shape->size() + axes.size());
    Ints sorted;
    for (int64_t a : axes) sorted.push_back(wrap(a, rank));
    std::sort(sorted.begin(), sorted.end());
    t.shape = v->type.shape;
    for (int64_t a : sorted) t.shape->insert(t.shape->begin() + a, Dim::of(1));
  }
  if (below_ >= 13) return op("Unsqueeze", {v, i64s(axes)}, {}, std::move(t));
  return op("Unsqueeze", {v}, {{"axes", axes}}, std::move(t));
}

Value Rewriter::squeeze(Value v, const Ints& axes) {
  ir::Type t = ir::Type::tensor(dtype(v));
  if (v->type.shape) {
    const auto rank = static_cast<int64_t>(v->type.shape->size());
    Ints sorted;
    for (int64_t a : axes) sorted.push_back(wrap(a, rank));
    std::sort(sorted.rbegin(), sorted.rend());
    t.shape = v->type.shape;
    for (int64_t a : sorted) t.shape->erase(t.shape->begin() + a);
  }
  if (below_ >= 13) return op("Squeeze", {v, i64s(axes)}, {}, std::move(t));
  return op("Squeeze", {v}, {{"axes", axes}}, std::move(t));
}

Value Rewriter::concat(const Values& v, int64_t axis) {
  if (v.size() == 1) return v[0];
  if (axis == 0) {
    Ints all;
    bool known = true;
    for (Value x : v) {
      const auto part = dtype(x) == DType::Int64 && x->rank() == 1 ? ints(x) : std::nullopt;
      known = known && part;
      if (part) all.insert(all.end(), part->begin(), part->end());
    }
    if (known) return i64s(all);
  }
  ir::Type t = like(v[0], dtype(v[0]));
  if (t.shape) {
    const int64_t a = wrap(axis, static_cast<int64_t>(t.shape->size()));
    int64_t total = 0;
    bool known = true;
    for (Value x : v) {
      const auto d = dim(x, a);
      known = known && d;
      total += d.value_or(0);
    }
    (*t.shape)[static_cast<size_t>(a)] = known ? Dim::of(total) : Dim::unknown();
  }
  return op("Concat", v, {{"axis", axis}}, std::move(t));
}

Value Rewriter::gather(Value v, Value indices, int64_t axis) {
  ir::Type t = ir::Type::tensor(dtype(v));
  if (v->type.shape && indices->type.shape) {
    t.shape = v->type.shape;
    t.shape->erase(t.shape->begin() + axis);
    t.shape->insert(t.shape->begin() + axis, indices->type.shape->begin(),
                    indices->type.shape->end());
  }
  return op("Gather", {v, indices}, {{"axis", axis}}, std::move(t));
}

Value Rewriter::slice(Value v, int64_t axis, int64_t start, int64_t end) {
  ir::Type t = like(v, dtype(v));
  if (t.shape) (*t.shape)[static_cast<size_t>(axis)] = Dim::unknown();
  if (below_ >= 10)
    return op("Slice", {v, i64s({start}), i64s({end}), i64s({axis})}, {}, std::move(t));
  return op("Slice", {v}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}},
            std::move(t));
}

Value Rewriter::slice(Value v, int64_t axis, Value start, Value end) {
  const auto s = scalar(start), e = scalar(end);
  if (s && e) return slice(v, axis, static_cast<int64_t>(*s), static_cast<int64_t>(*e));
  if (below_ < 10) return gather(v, add(start, arange(sub(end, start))), axis);
  ir::Type t = like(v, dtype(v));
  if (t.shape) (*t.shape)[static_cast<size_t>(axis)] = Dim::unknown();
  return op("Slice", {v, vector(start), vector(end), i64s({axis})}, {}, std::move(t));
}

Value Rewriter::reverse(Value v, int64_t axis) {
  if (below_ >= 10)
    return op(
        "Slice",
        {v, i64s({-1}), i64s({std::numeric_limits<int64_t>::min()}), i64s({axis}), i64s({-1})}, {},
        like(v, dtype(v)));
  Value n = size(v, axis);
  return gather(v, sub(sub(n, i64(1)), arange(n)), axis);
}

Value Rewriter::reduce(std::string_view op_name, Value v, const Ints& axes, bool keepdims) {
  ir::Type t = like(v, dtype(v));
  if (t.shape) {
    const auto rank = static_cast<int64_t>(t.shape->size());
    Ints sorted;
    for (int64_t a : axes) sorted.push_back(wrap(a, rank));
    std::sort(sorted.rbegin(), sorted.rend());
    for (int64_t a : sorted) {
      if (keepdims)
        (*t.shape)[static_cast<size_t>(a)] = Dim::of(1);
      else
        t.shape->erase(t.shape->begin() + a);
    }
  }
  const int64_t keep = keepdims;
  if (below_ >= 18 || (below_ >= 13 && op_name == "ReduceSum"))
    return op(op_name, {v, i64s(axes)}, {{"keepdims", keep}}, std::move(t));
  return op(op_name, {v}, {{"keepdims", keep}, {"axes", axes}}, std::move(t));
}

Value Rewriter::shape(Value v) {
  if (v->type.shape) {
    Ints dims;
    for (const Dim& d : *v->type.shape)
      if (d.is_number()) dims.push_back(d.number);
    if (dims.size() == v->type.shape->size()) return i64s(dims);
    return op(
        "Shape", {v}, {},
        ir::Type::tensor(DType::Int64,
                         std::vector<Dim>{Dim::of(static_cast<int64_t>(v->type.shape->size()))}));
  }
  return op("Shape", {v}, {}, ranked(DType::Int64, 1));
}

Value Rewriter::size(Value v, int64_t axis) {
  if (auto d = dim(v, axis)) return i64(*d);
  // Gather counts from the end from opset 11 on.
  if (axis < 0 && (v->rank() || below_ < 11)) axis += rank(v);
  return gather(op("Shape", {v}, {}, ranked(DType::Int64, 1)), i64(axis), 0);
}

Value Rewriter::full(Value shape, Value value) {
  const auto length = dim(shape, 0);
  ir::Type t = length ? ranked(dtype(value), *length) : ir::Type::tensor(dtype(value));
  if (const TensorPtr c = data(value); c && below_ >= 9)
    return op("ConstantOfShape", {shape},
              {{"value", Tensor::from_bytes(c->dtype(), {1}, c->data(), c->nbytes())}},
              std::move(t));
  return expand(value, shape);
}

Value Rewriter::expand(Value v, Value shape) {
  const auto target = ints(shape);
  const auto length = target ? std::optional(static_cast<int64_t>(target->size())) : dim(shape, 0);
  if (below_ >= 8) {
    ir::Type t = ir::Type::tensor(dtype(v));
    if (length && v->rank()) t = ranked(dtype(v), std::max(*length, *v->rank()));
    return op("Expand", {v, shape}, {}, std::move(t));
  }
  // Tile every axis whose size is 1. Repeats are computed, because a size may turn out to be 1.
  if (!length)
    throw NotExpressible{"needs opset 8 or later where the rank of the result is not known"};
  const int64_t r = rank(v);
  Value x = v;
  if (r < *length) x = unsqueeze(v, iota(0, *length - r));
  if (*length < r) shape = concat({i64s(Ints(static_cast<size_t>(r - *length), 1)), shape}, 0);
  Value size = this->shape(x);
  Value repeats = nullptr;
  if (const auto have = ints(size), want = ints(shape); have && want) {
    Ints n;
    for (size_t i = 0; i < have->size(); ++i) n.push_back((*have)[i] == 1 ? (*want)[i] : 1);
    repeats = i64s(n);
  } else {
    // 1 + is_one * (shape - 1)
    Value one = i64s({1});
    Value is_one = cast(op("Equal", {size, one}), DType::Int64);
    repeats = op("Add", {one, op("Mul", {is_one, op("Sub", {shape, one})})});
  }
  return op("Tile", {x, repeats}, {}, ranked(dtype(v), std::max(r, *length)));
}

Value Rewriter::arange(Value n) {
  const ir::Type counted = ranked(DType::Int64, 1);
  if (const auto known = ints(n); known && (*known)[0] <= 4096) return i64s(iota(0, (*known)[0]));
  if (below_ >= 11) return op("Range", {i64(0), n, i64(1)}, {}, counted);
  if (below_ >= 9) {
    Value ones = op("ConstantOfShape", {vector(n)},
                    {{"value", Tensor::of<int64_t>(DType::Int64, {1}, {1})}}, counted);
    return squeeze(op("NonZero", {ones}, {}, ranked(DType::Int64, 2)), {0});
  }
  return loop(n, {}, [&](Value i, const Values&) { return Values{op("Identity", {i})}; })[0];
}

Value Rewriter::less(Value a, Value b) {
  const DType t = dtype(a);
  if (below_ >= 9 || !is_integer(t)) return op("Less", {a, b});
  if (byte_size(t) < 8) return op("Less", {cast(a, DType::Double), cast(b, DType::Double)});
  if (t == DType::UInt64) throw NotExpressible{"needs opset 9 or later for element type uint64", 9};
  return op("Less", {split_compare(a, b), number(0, DType::Double)});
}

// A double with the exact sign of a - b for int64: high and low halves are compared apart, each
// difference is exact, and rounding their sum keeps its sign.
Value Rewriter::split_compare(Value a, Value b) {
  Value base = i64(kTo32);
  Value ah = op("Div", {a, base}), bh = op("Div", {b, base});
  Value al = op("Sub", {a, op("Mul", {ah, base})}), bl = op("Sub", {b, op("Mul", {bh, base})});
  Value high = cast(op("Sub", {ah, bh}), DType::Double);
  Value low = cast(op("Sub", {al, bl}), DType::Double);
  return op("Add", {op("Mul", {high, number(4294967296.0, DType::Double)}), low});
}

Value Rewriter::is_nan(Value v) {
  if (below_ >= 9) return op("IsNaN", {v});
  // Every number, infinities included, is below one or above zero.
  const DType t = dtype(v);
  return op("Not", {op("Or", {op("Less", {v, number(1, t)}), op("Greater", {v, number(0, t)})})});
}

Value Rewriter::equal(Value a, Value b) {
  const DType t = dtype(a);
  if (below_ >= 11 || t == DType::Bool || t == DType::Int32 || t == DType::Int64)
    return op("Equal", {a, b});
  if (is_integer(t)) return op("Equal", {cast(a, DType::Int64), cast(b, DType::Int64)});
  Value differ = op("Or", {op("Less", {a, b}), op("Greater", {a, b})});
  return op("Not", {op("Or", {differ, op("Or", {is_nan(a), is_nan(b)})})});
}

Value Rewriter::maximum(Value a, Value b) {
  if (is_integer(dtype(a)) && below_ < 12) return where(less(a, b), b, a);
  return op("Max", {a, b});
}
Value Rewriter::minimum(Value a, Value b) {
  if (is_integer(dtype(a)) && below_ < 12) return where(less(b, a), b, a);
  return op("Min", {a, b});
}

Value Rewriter::where(Value condition, Value a, Value b) {
  if (below_ >= 9) return op("Where", {condition, a, b});
  // Select by index from both operands laid end to end: exact also for infinities and NaN, where
  // multiplying by the mask is not.
  if (a->rank() == 0 && b->rank() == 0) {
    Value both = concat({reshape(b, Ints{1}), reshape(a, Ints{1})}, 0);
    return gather(both, cast(condition, DType::Int64), 0);
  }
  const Shape common = broadcast_shape({condition, a, b});
  if (!common)
    throw NotExpressible{"needs opset 9 or later where the rank of an operand is not known", 9};
  const auto rank = static_cast<int64_t>(common->size());
  const bool known =
      std::all_of(common->begin(), common->end(), [](const Dim& d) { return d.is_number(); });
  Value result_shape = nullptr;
  if (known) {
    Ints dims;
    for (const Dim& d : *common) dims.push_back(d.number);
    result_shape = i64s(dims);
  } else {
    Value any = op("Or", {condition, op("Or", {cast(a, DType::Bool), cast(b, DType::Bool)})});
    any->type = ranked(DType::Bool, rank);
    result_shape = shape(any);
  }
  const auto flat = [&](Value v) { return reshape(expand(v, result_shape), Ints{-1}); };
  Value choice = flat(cast(condition, DType::Int64));
  Value n = size(choice, 0);
  // Position i reads a[i], or b[i] which lies n further on.
  Value index = op("Add", {arange(n), op("Mul", {op("Sub", {i64(1), choice}), n})});
  return reshape(gather(concat({flat(a), flat(b)}, 0), index, 0), result_shape, rank);
}

// --- int64 arithmetic

Value Rewriter::fold(std::string_view name, Value a, Value b, int64_t (*f)(int64_t, int64_t)) {
  const auto x = dtype(a) == DType::Int64 ? ints(a) : std::nullopt;
  const auto y = dtype(b) == DType::Int64 ? ints(b) : std::nullopt;
  const auto ra = a->rank(), rb = b->rank();
  if (x && y && ra && rb && (x->size() == y->size() || x->size() == 1 || y->size() == 1) &&
      *ra <= 1 && *rb <= 1) {
    Ints out;
    const size_t n = x->size() == 1 ? y->size() : x->size();
    for (size_t i = 0; i < n; ++i)
      out.push_back(f((*x)[x->size() == 1 ? 0 : i], (*y)[y->size() == 1 ? 0 : i]));
    return *ra == 0 && *rb == 0 ? i64(out[0]) : i64s(out);
  }
  return op(name, {a, b});
}
Value Rewriter::add(Value a, Value b) {
  return fold("Add", a, b, [](int64_t x, int64_t y) { return x + y; });
}
Value Rewriter::sub(Value a, Value b) {
  return fold("Sub", a, b, [](int64_t x, int64_t y) { return x - y; });
}
Value Rewriter::mul(Value a, Value b) {
  return fold("Mul", a, b, [](int64_t x, int64_t y) { return x * y; });
}
Value Rewriter::div(Value a, Value b) {
  return fold("Div", a, b, [](int64_t x, int64_t y) { return y == 0 ? 0 : x / y; });
}

// --- loops

Values Rewriter::loop(Value trips, const Values& carried,
                      const std::function<Values(Value, const Values&)>& body) {
  if (carried.empty() && below_ < 11) {  // Loop needs a state there
    Values all = loop(trips, {i64(0)}, [&](Value i, const Values& state) {
      Values results = body(i, {});
      results.insert(results.begin(), state[0]);
      return results;
    });
    return {all.begin() + 1, all.end()};
  }
  ir::Model& m = context_.model;
  auto graph = std::make_shared<ir::Graph>();
  graph->name = m.names.unique("loop_body");
  Value i = m.new_value("i", ranked(DType::Int64, 0));
  Value go = m.new_value("cond", ranked(DType::Bool, 0));
  graph->inputs = {i, go};
  Values states;
  for (Value v : carried) {
    // The rank is that of the initial value; the sizes may change from step to step.
    Value s =
        m.new_value("state", v->rank() ? ranked(dtype(v), *v->rank()) : ir::Type::tensor(dtype(v)));
    states.push_back(s);
    graph->inputs.push_back(s);
  }
  Nodes* outer = std::exchange(out_, &graph->nodes);
  const size_t start = std::exchange(start_, 0);
  Value next = op("Identity", {go});
  const Values results = body(i, states);
  graph->outputs = {next};
  for (Value v : results) {
    // A graph's output must be made by one of its own nodes, and only once.
    const bool own =
        v->producer && !v->data &&
        std::any_of(graph->nodes.begin(), graph->nodes.end(),
                    [&](const auto& n) { return n.get() == v->producer; }) &&
        std::find(graph->outputs.begin(), graph->outputs.end(), v) == graph->outputs.end();
    graph->outputs.push_back(own ? v : op("Identity", {v}));
  }
  out_ = outer;
  start_ = start;

  Values inputs = {trips, nullptr};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Values out = ops("Loop", std::move(inputs), {{"body", graph}}, results.size());
  for (size_t k = 0; k < out.size(); ++k) {
    const Value v = graph->outputs[k + 1];
    const bool scanned = k >= carried.size();
    out[k]->type = v->rank() ? ranked(dtype(v), *v->rank() + scanned) : ir::Type::tensor(dtype(v));
  }
  return out;
}

}  // namespace oe::opsets
