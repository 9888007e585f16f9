// Random numbers: the distribution is kept, the numbers differ from LibTorch's from run to run.
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Numbers of a computed shape. The operators with a shape attribute take static shapes only; the
// "like" forms serve both.
T draw(std::string_view op, T shape, DType t, ir::Attributes attributes) {
  const float zero = 0;
  T like =
      node("ConstantOfShape", {shape}, {{"value", Tensor::of<float>(DType::Float, {1}, {zero})}});
  attributes.set("dtype", static_cast<int64_t>(t));
  return node(op, {like}, std::move(attributes));
}

// In [low, high). A half type gets as many bits as its mantissa has, as in LibTorch: a float just
// below 1 would be rounded to 1.
T uniform(T shape, DType t, double low, double high) {
  if (t != DType::Float16 && t != DType::BFloat16)
    return draw("RandomUniformLike", shape, t,
                {{"low", static_cast<float>(low)}, {"high", static_cast<float>(high)}});
  T u = draw("RandomUniformLike", shape, DType::Float,
             {{"low", 0.0F}, {"high", t == DType::Float16 ? 2048.0F : 256.0F}});
  u = floor(u) / (t == DType::Float16 ? 2048 : 256);
  if (low != 0 || high != 1) u = u * (high - low) + low;
  return cast(u, t);
}
T normal(T shape, DType t, double mean, double deviation) {
  if (deviation == 0) return expand(shape.builder().number(mean, t), shape);
  return draw("RandomNormalLike", shape, t,
              {{"mean", static_cast<float>(mean)}, {"scale", static_cast<float>(deviation)}});
}

// By the inverse of the distribution function, in double whatever the result: a half type has too
// few numbers below 1. Never 0 there, so that its logarithm is finite, as LibTorch has it.
T exponential(T shape, DType t, double rate) {
  T u = uniform(shape, DType::Double, 0, 1);
  T e = -log(1 - u);
  e = maximum(e, std::numeric_limits<double>::epsilon() / 2);
  return cast(e / rate, t);
}

// Whole numbers in [low, high): floor(u * (high - low)) + low, kept below high where u rounds to 1.
T whole_in(Call& g, T shape, const Int& low, const Int& high) {
  T a = g.value(low), b = g.value(high);
  T span = b - a;
  T u = uniform(shape, DType::Double, 0, 1);
  T steps = cast(floor(u * cast(span, DType::Double)), DType::Int64);
  steps = minimum(steps, span - 1);
  return cast(a + steps, g.result_dtype());
}

// ONNX Runtime runs ONNX's Bernoulli by its function body, which draws 1 with probability 1 - p.
T bernoulli(Call& g, T like, T p, Rest = {}) {
  T u = uniform(shape(like), DType::Float, 0, 1);
  return cast(u < cast(p, DType::Float), g.result_dtype());
}

T normal_of(Call& g, T mean, T deviation, T like) {
  const DType t = g.result_dtype();
  T noise = normal(shape(like), t, 0, 1);
  return cast(mean, t) + cast(deviation, t) * noise;
}

// As LibTorch draws: the largest of each weight by a number of the exponential distribution, which
// are in the order in which they would be drawn one after the other.
T without_replacement(Call& g, T weights, const Int& samples) {
  const int64_t axis = weights.rank() - 1;
  T keys = cast(weights, DType::Double) / exponential(shape(weights), DType::Double, 1);
  T places = nodes("TopK", {keys, g.vector({samples})},
                   {{"axis", axis}, {"largest", int64_t{1}}, {"sorted", int64_t{1}}}, 2)[1];
  std::vector<Dim> dims = *weights->type.shape;
  dims.back() = dim_of(samples);
  return with_dims(places, dims);
}

T multinomial(Call& g, T weights, const Int& samples, bool replacement, Rest) {
  if (!replacement && samples.known != 1) return without_replacement(g, weights, samples);
  if (!samples.known) throw NotKnown("num_samples", "the graph");
  const bool vector = weights.rank() == 1;
  T w = cast(weights, DType::Float);
  if (vector) w = unsqueeze(w, {0});
  T out = node("Multinomial", {log(w)},
               {{"dtype", static_cast<int64_t>(DType::Int64)}, {"sample_size", *samples.known}});
  return vector ? squeeze(out, {0}) : out;
}

using Draw = T (*)(T, DType, double, double);
template <Draw F>
T sized(Call& g, const Dims& size, Rest) {
  return F(g.vector(size), g.result_dtype(), 0, 1);
}
template <Draw F>
T like(Call& g, T x, Rest) {
  return F(shape(x), g.result_dtype(), 0, 1);
}
template <Draw F>
T parameters(Call& g, T x, double a, double b, Rest) {
  return F(shape(x), g.result_dtype(), a, b);
}
T normal_sized(Call& g, double mean, double deviation, const Dims& size, Rest) {
  return normal(g.vector(size), g.result_dtype(), mean, deviation);
}

constexpr Lowering table[] = {
    op<sized<uniform>>(
        "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<sized<normal>>(
        "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<like<uniform>>(
        "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op<like<normal>>(
        "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Int& high, const Dims& size, Rest) {
         return whole_in(g, g.vector(size), known(0), high);
       }),
    op("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Int& low, const Int& high, const Dims& size, Rest) {
         return whole_in(g, g.vector(size), low, high);
       }),
    op("aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       [](Call& g, T x, const Int& high, Rest) { return whole_in(g, shape(x), known(0), high); }),
    op("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       [](Call& g, T x, const Int& low, const Int& high, Rest) {
         return whole_in(g, shape(x), low, high);
       }),
    op<parameters<uniform>>(
        "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor"),
    op<parameters<normal>>(
        "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor"),
    op("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       [](Call& g, T p, Rest) { return bernoulli(g, p, p); }),
    op<bernoulli>(
        "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"),
    op<bernoulli>(
        "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor"),
    op("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
       [](Call& g, T mean, double deviation, Rest) {
         return normal_of(g, mean, g.number(deviation, DType::Double), mean);
       }),
    op("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
       [](Call& g, double mean, T deviation, Rest) {
         return normal_of(g, g.number(mean, DType::Double), deviation, deviation);
       }),
    op("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
       [](Call& g, T mean, T deviation, Rest) {
         return normal_of(g, mean, deviation, mean + deviation);
       }),
    op<normal_sized>(
        "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<multinomial>(
        "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor"),
    op("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
       [](Call& g, T x, double rate, Rest) {
         return exponential(shape(x), g.result_dtype(), rate);
       }),
};

}  // namespace

Table random_rows() { return table; }

}  // namespace oe::lower
