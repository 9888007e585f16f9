// Arithmetic, comparisons and casts; what a value knows about itself.
#include "lib/build/value.h"

#include <algorithm>
#include <cmath>

#include "lib/build/builder.h"
#include "lib/onnx/schema.h"

namespace oe::build {
namespace {

constexpr int64_t kTo32 = int64_t{1} << 32;

// Constants of rank 0 and 1 in int64 are computed at once.
template <class F>
T folded(std::string_view op, T a, T b, const F& f) {
  const auto small = [](T v) -> std::optional<Ints> {
    if (v.dtype() != DType::Int64 || !v.ranked() || v->type.shape->size() > 1) return std::nullopt;
    return ints(v);
  };
  const auto x = small(a), y = x ? small(b) : std::nullopt;
  if (!y || (x->size() != y->size() && x->size() != 1 && y->size() != 1))
    return a.builder().op(op, {a, b});
  Ints out(x->size() == 1 ? y->size() : x->size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = f((*x)[x->size() == 1 ? 0 : i], (*y)[y->size() == 1 ? 0 : i]);
  return a.rank() == 0 && b.rank() == 0 ? a.builder().i64(out[0]) : a.builder().i64s(out);
}

uint64_t wrapping(int64_t v) { return static_cast<uint64_t>(v); }

// A double with the exact sign of a - b for int64: high and low halves are compared apart, each
// difference is exact, and rounding their sum keeps its sign.
T sign_of_difference(T a, T b) {
  Builder& g = a.builder();
  T base = g.i64(kTo32), ah = a / base, bh = b / base;
  T low = cast((a - ah * base) - (b - bh * base), DType::Double);
  return cast(ah - bh, DType::Double) * 4294967296.0 + low;
}

Builder& builder_of(const Values& inputs) {
  for (const T& v : inputs)
    if (v) return v.builder();
  throw std::logic_error("a node without inputs is made by a builder");
}

// A number of the code in another type; null where that would be left to the run: a parameter of
// the model stays one, and only what fits is cut to an integer.
T cast_number(T x, DType t) {
  const auto plain = [](DType d) {
    return is_integer(d) || d == DType::Bool || d == DType::Float || d == DType::Double ||
           narrow_float(d);
  };
  if (!x->data || x->state || !x->data->dims().empty() || !plain(t) || !plain(x.dtype()) ||
      x.dtype() == DType::UInt64)
    return nullptr;
  if (!is_float(x.dtype())) return x.builder().integer(x->data->as_int64()[0], t);
  const double v = x->data->as_double()[0];
  const bool fits = is_float(t) || t == DType::Bool || std::fabs(v) < 9e18;
  return fits ? x.builder().number(v, t) : nullptr;
}

}  // namespace

int64_t T::rank() const {
  if (auto r = value_->rank()) return *r;
  const int64_t opset = builder_->opset();
  if (opset == onnx::newest_opset())
    throw Unsupported(
        "needs an input whose rank is known at export (where squeeze() of a dynamic axis decides "
        "it, bounds of the axis do: --input x:n=2..64)");
  throw Unsupported("needs opset " + std::to_string(opset + 1) + " or later where the rank of '" +
                    value_->name + "' is not known");
}

int64_t T::axis(int64_t dim) const {
  const int64_t n = std::max<int64_t>(rank(), 1);
  if (dim < -n || dim >= n)
    throw std::logic_error("axis " + std::to_string(dim) + " of a tensor of rank " +
                           std::to_string(n));
  return dim < 0 ? dim + n : dim;
}

std::optional<int64_t> T::dim(int64_t a) const {
  if (!ranked()) return std::nullopt;
  a = axis(a);
  if (value_->type.shape->empty()) return 1;
  const Dim& d = (*value_->type.shape)[static_cast<size_t>(a)];
  return d.is_number() ? std::optional(d.number) : std::nullopt;
}

T operator+(T a, T b) {
  return folded("Add", a, b, [](int64_t x, int64_t y) {
    return static_cast<int64_t>(wrapping(x) + wrapping(y));
  });
}
T operator-(T a, T b) {
  return folded("Sub", a, b, [](int64_t x, int64_t y) {
    return static_cast<int64_t>(wrapping(x) - wrapping(y));
  });
}
T operator*(T a, T b) {
  return folded("Mul", a, b, [](int64_t x, int64_t y) {
    return static_cast<int64_t>(wrapping(x) * wrapping(y));
  });
}
T operator/(T a, T b) {
  const auto divisor = b.dtype() == DType::Int64 ? ints(b) : std::nullopt;
  const bool safe = divisor && std::none_of(divisor->begin(), divisor->end(),
                                            [](int64_t i) { return i == 0 || i == -1; });
  if (!safe) return a.builder().op("Div", {a, b});
  return folded("Div", a, b, [](int64_t x, int64_t y) { return x / y; });
}
T operator-(T a) { return unary("Neg", a); }

T operator<(T a, T b) {
  Builder& g = a.builder();
  const DType t = a.dtype();
  if (g.opset() >= 9 || !is_integer(t)) return g.op("Less", {a, b});
  if (byte_size(t) < 8) return g.op("Less", {cast(a, DType::Double), cast(b, DType::Double)});
  if (t == DType::UInt64) throw Unsupported("needs opset 9 or later for element type uint64", 9);
  return g.op("Less", {sign_of_difference(a, b), g.number(0, DType::Double)});
}
T operator>(T a, T b) {
  Builder& g = a.builder();
  return g.opset() >= 9 || !is_integer(a.dtype()) ? g.op("Greater", {a, b}) : b < a;
}
T operator<=(T a, T b) {
  Builder& g = a.builder();
  if (g.opset() >= 12) return g.op("LessOrEqual", {a, b});
  return (a < b) | equal(a, b);
}
T operator>=(T a, T b) {
  Builder& g = a.builder();
  return g.opset() >= 12 ? g.op("GreaterOrEqual", {a, b}) : b <= a;
}
T operator&(T a, T b) { return a.builder().op("And", {a, b}); }
T operator|(T a, T b) { return a.builder().op("Or", {a, b}); }
T operator^(T a, T b) { return a.builder().op("Xor", {a, b}); }
T operator~(T a) { return unary("Not", a); }

T equal(T a, T b) {
  Builder& g = a.builder();
  const DType t = a.dtype();
  if (g.opset() >= 11 || t == DType::Bool || t == DType::Int32 || t == DType::Int64)
    return g.op("Equal", {a, b});
  if (is_integer(t)) return g.op("Equal", {cast(a, DType::Int64), cast(b, DType::Int64)});
  return ~(((a < b) | (a > b)) | (is_nan(a) | is_nan(b)));
}

namespace {

// Integers have no Max and Min below 12, and nothing broadcasts below 8.
T extreme(std::string_view op, T a, T b) {
  Builder& g = a.builder();
  const bool whole = is_integer(a.dtype());
  if (g.opset() >= 12 || (!whole && (g.opset() >= 8 || same_static(a, b)))) return g.op(op, {a, b});
  T better = op == "Max" ? a < b : b < a;
  return where(whole ? better : better | is_nan(b), b, a);
}

}  // namespace

T maximum(T a, T b) { return a.dtype() == DType::Bool ? a | b : extreme("Max", a, b); }
T minimum(T a, T b) { return a.dtype() == DType::Bool ? a & b : extreme("Min", a, b); }

T where(T condition, T a, T b) {
  Builder& g = condition.builder();
  if (g.opset() >= 9) return g.op("Where", {condition, a, b});
  // Select by index from both operands laid end to end: exact also for infinities and NaN, where
  // multiplying by the mask is not.
  if (a->rank() == 0 && b->rank() == 0)
    return gather(concat({reshape(b, Ints{1}), reshape(a, Ints{1})}, 0),
                  cast(condition, DType::Int64), 0);
  const Shape common = broadcast_shape({condition, a, b});
  if (!common)
    throw Unsupported("needs opset 9 or later where the rank of an operand is not known", 9);
  const auto fixed = numbers(*common);
  T result = fixed ? g.i64s(*fixed) : shape(condition | (to_bool(a) | to_bool(b)));
  const auto flattened = [&](T v) { return reshape(expand(v, result), Ints{-1}); };
  T choice = flattened(cast(condition, DType::Int64));
  T n = size(choice, 0);
  // Position i reads a[i], or b[i] which lies n further on.
  T index = arange(n) + (g.i64(1) - choice) * n;
  T picked = gather(concat({flattened(a), flattened(b)}, 0), index, 0);
  // A zero in the shape says "as in the input", which is a vector; -1 for it gives no elements too.
  const auto sized = [](const Dim& d) { return d.is_number() && d.number != 0; };
  if (!common->empty() && !std::all_of(common->begin() + 1, common->end(), sized))
    result = result - cast(equal(result, 0), DType::Int64);
  return reshape(picked, result, static_cast<int64_t>(common->size()));
}

T number(double v, T like) { return like.builder().number(v, like.dtype()); }
T integer(int64_t v, T like) { return like.builder().integer(v, like.dtype()); }

T node(std::string_view op, const Values& inputs, ir::Attributes attributes, ir::Type type) {
  return builder_of(inputs).op(op, inputs, std::move(attributes), std::move(type));
}
Values nodes(std::string_view op, const Values& inputs, ir::Attributes attributes, size_t outputs) {
  return builder_of(inputs).ops(op, inputs, std::move(attributes), outputs);
}
T unary(std::string_view op, T x) { return x.builder().op(op, {x}); }

T is_nan(T x) {
  if (x.builder().opset() >= 9) return unary("IsNaN", x);
  // Every number, infinities included, is below one or above zero.
  return ~((x < 1) | (x > 0));
}

T cast(T x, DType t) {
  if (x.dtype() == t) return x;
  if (is_complex(t) || is_complex(x.dtype()))
    throw Unsupported("complex numbers have no operators in ONNX");
  if (T folded = cast_number(x, t)) return folded;
  return x.builder().op("Cast", {x}, {{"to", static_cast<int64_t>(t)}});
}

T matmul(T a, T b) {
  ir::Type type = ir::Type::tensor(a.dtype());
  if (a.ranked() && b.ranked()) {
    // Rows and columns, which a vector on their side lacks; the axes before them broadcast.
    std::vector<Dim> left = *a->type.shape, right = *b->type.shape, last;
    const bool row = left.size() == 1, column = right.size() == 1;
    if (!row) last.push_back(left[left.size() - 2]);
    if (!column) last.push_back(right.back());
    left.resize(row ? 0 : left.size() - 2);
    right.resize(column ? 0 : right.size() - 2);
    std::vector<Dim> out = broadcast_dims({left, right});
    out.insert(out.end(), last.begin(), last.end());
    type.shape = std::move(out);
  }
  return a.builder().op("MatMul", {a, b}, {}, std::move(type));
}

T weigh_axis(T x, int64_t rank, int64_t axis, T m) {
  if (axis == rank - 2) return matmul(transpose(m, {1, 0}), x);
  return swap(matmul(swap(x, rank, axis, rank - 1), m), rank, axis, rank - 1);
}

}  // namespace oe::build
