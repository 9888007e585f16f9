// Random numbers: the distribution is kept, the numbers differ from LibTorch's from run to run.
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Numbers of a computed shape, drawn in float or double: ONNX Runtime draws in no other type. The
// operators with a shape attribute take static shapes only; the "like" forms serve both.
Value draw(Emit& g, std::string_view op, Value shape, DType t, ir::Attributes attributes) {
  const float zero = 0;
  Value like =
      g.node("ConstantOfShape", {shape}, {{"value", Tensor::of<float>(DType::Float, {1}, {zero})}});
  attributes.set("dtype", static_cast<int64_t>(t));
  return g.node(op, {like}, std::move(attributes));
}

DType drawn(DType t) { return t == DType::Double ? t : DType::Float; }

// In [low, high). A half type gets as many bits as its mantissa has, as in LibTorch: a float just
// below 1 would be rounded to 1.
Value uniform(Emit& g, Value shape, DType t, double low, double high) {
  if (t != DType::Float16 && t != DType::BFloat16)
    return draw(g, "RandomUniformLike", shape, drawn(t),
                {{"low", static_cast<float>(low)}, {"high", static_cast<float>(high)}});
  Value u = draw(g, "RandomUniformLike", shape, DType::Float,
                 {{"low", 0.0F}, {"high", t == DType::Float16 ? 2048.0F : 256.0F}});
  u = pw::div(g, g.node("Floor", {u}), pw::num(g, t == DType::Float16 ? 2048 : 256, u));
  if (low != 0 || high != 1)
    u = pw::add(g, pw::mul(g, u, pw::num(g, high - low, u)), pw::num(g, low, u));
  return g.cast(u, t);
}
Value normal(Emit& g, Value shape, DType t, double mean, double deviation) {
  if (deviation == 0) return g.node("Expand", {g.number(mean, t), shape});
  Value x = draw(g, "RandomNormalLike", shape, drawn(t),
                 {{"mean", static_cast<float>(mean)}, {"scale", static_cast<float>(deviation)}});
  return g.cast(x, is_float(t) ? t : drawn(t));
}

// By the inverse of the distribution function, in double whatever the result: a half type has too
// few numbers below 1. Never 0 there, so that its logarithm is finite, as LibTorch has it.
Value exponential(Emit& g, Value shape, DType t, double rate) {
  Value u = uniform(g, shape, DType::Double, 0, 1);
  Value e = pw::neg(g, g.node("Log", {pw::sub(g, pw::num(g, 1, u), u)}));
  e = g.node("Max", {e, pw::num(g, std::numeric_limits<double>::epsilon() / 2, e)});
  return g.cast(pw::div(g, e, pw::num(g, rate, e)), t);
}

// Whole numbers in [low, high): floor(u * (high - low)) + low, kept below high where u rounds to 1.
Value integers(Emit& g, Value shape, const Int& low, const Int& high) {
  Value a = g.to_value(low), b = g.to_value(high);
  Value span = pw::sub(g, b, a);
  Value u = uniform(g, shape, DType::Double, 0, 1);
  Value steps = g.cast(g.node("Floor", {pw::mul(g, u, g.cast(span, DType::Double))}), DType::Int64);
  steps = g.node("Min", {steps, pw::sub(g, span, g.i64(1))});
  return g.cast(pw::add(g, a, steps), g.result_dtype());
}

Value bernoulli(Emit& g, Value like, Value p) {
  Value u = uniform(g, g.shape(like), DType::Float, 0, 1);
  return g.cast(pw::less(g, u, g.cast(p, DType::Float)), g.result_dtype());
}

Value normal_of(Emit& g, Value mean, Value deviation, Value like) {
  const DType t = g.result_dtype();
  Value noise = normal(g, g.shape(like), t, 0, 1);
  return pw::add(g, g.cast(mean, t), pw::mul(g, g.cast(deviation, t), noise));
}

Value multinomial(Emit& g, Value weights, const Int& samples, bool replacement) {
  if (!replacement && samples.known != 1)
    throw Unsupported("drawing without replacement has no counterpart in ONNX");
  if (!samples.known) throw NotKnown("num_samples", "the graph");
  const bool vector = g.rank(weights) == 1;
  Value w = g.cast(weights, DType::Float);
  if (vector) w = g.node("Unsqueeze", {w, g.i64s({0})});
  Value out =
      g.node("Multinomial", {g.node("Log", {w})},
             {{"dtype", static_cast<int64_t>(DType::Int64)}, {"sample_size", *samples.known}});
  return vector ? g.node("Squeeze", {out, g.i64s({0})}) : out;
}

Int whole(int64_t i) { return {i, nullptr}; }

template <Value (*F)(Emit&, Value, DType, double, double), int A, int B>
constexpr auto sized = [](Emit& g, const Dims& size, Skip, Skip, Skip, Skip) {
  return F(g, g.to_vector(size), g.result_dtype(), A, B);
};
template <Value (*F)(Emit&, Value, DType, double, double), int A, int B>
constexpr auto like = [](Emit& g, Value x, Skip, Skip, Skip, Skip, Skip) {
  return F(g, g.shape(x), g.result_dtype(), A, B);
};

constexpr Lowering table[] = {
    op("aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       sized<uniform, 0, 1>),
    op("aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       sized<normal, 0, 1>),
    op("aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<uniform, 0, 1>),
    op("aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<normal, 0, 1>),
    op("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Int& high, const Dims& size, Skip, Skip, Skip, Skip) {
         return integers(g, g.to_vector(size), whole(0), high);
       }),
    op("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Int& low, const Int& high, const Dims& size, Skip, Skip, Skip, Skip) {
         return integers(g, g.to_vector(size), low, high);
       }),
    op("aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       [](Emit& g, Value x, const Int& high, Skip, Skip, Skip, Skip, Skip) {
         return integers(g, g.shape(x), whole(0), high);
       }),
    op("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
       "MemoryFormat? memory_format=None) -> Tensor",
       [](Emit& g, Value x, const Int& low, const Int& high, Skip, Skip, Skip, Skip, Skip) {
         return integers(g, g.shape(x), low, high);
       }),
    op("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> "
       "Tensor",
       [](Emit& g, Value x, double from, double to, Skip) {
         return uniform(g, g.shape(x), g.result_dtype(), from, to);
       }),
    op("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? "
       "generator=None) -> Tensor",
       [](Emit& g, Value x, double mean, double deviation, Skip) {
         return normal(g, g.shape(x), g.result_dtype(), mean, deviation);
       }),
    op("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       [](Emit& g, Value p, Skip) { return bernoulli(g, p, p); }),
    op("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
       [](Emit& g, Value x, double p, Skip) { return bernoulli(g, x, g.number(p, DType::Float)); }),
    op("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
       [](Emit& g, Value x, Value p, Skip) { return bernoulli(g, x, p); }),
    op("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> "
       "Tensor",
       [](Emit& g, Value mean, double deviation, Skip) {
         return normal_of(g, mean, g.number(deviation, DType::Double), mean);
       }),
    op("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
       [](Emit& g, double mean, Value deviation, Skip) {
         return normal_of(g, g.number(mean, DType::Double), deviation, deviation);
       }),
    op("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> "
       "Tensor",
       [](Emit& g, Value mean, Value deviation, Skip) {
         return normal_of(g, mean, deviation, pw::add(g, mean, deviation));
       }),
    op("aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? "
       "generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
       "pin_memory=None) -> Tensor",
       [](Emit& g, double mean, double deviation, const Dims& size, Skip, Skip, Skip, Skip, Skip) {
         return normal(g, g.to_vector(size), g.result_dtype(), mean, deviation);
       }),
    op("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
       "generator=None) -> Tensor",
       [](Emit& g, Value x, const Int& n, bool replacement, Skip) {
         return multinomial(g, x, n, replacement);
       }),
    op("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
       [](Emit& g, Value x, double rate, Skip) {
         return exponential(g, g.shape(x), g.result_dtype(), rate);
       }),
};

}  // namespace

Table random_rows() { return table; }

}  // namespace oe::lower
