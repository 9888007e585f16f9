// Evaluation of Cast: every pair of bool, integers, float and double, and what float16 and bfloat16
// hold exactly. Values out of the target's range are left to the runtime.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

template <class To, class From>
bool convert(From v, To& r) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!std::isfinite(v)) return false;
    const From t = std::trunc(v);
    // Both limits plus one are powers of two, hence exact in From.
    const From above = std::ldexp(From(1), std::numeric_limits<To>::digits);
    const From below = std::is_signed_v<To> ? -above : From(0);
    if (t < below || t >= above) return false;
    r = static_cast<To>(t);
  } else {
    r = static_cast<To>(v);
  }
  return true;
}

// A 16-bit float whose value equals `v`, if there is one: rounding is left to the runtime, except
// that NaN has too many forms to choose one.
bool exact_half(double v, uint16_t& r) {
  const auto sign = static_cast<uint16_t>(std::signbit(v) ? 0x8000 : 0);
  const double a = std::fabs(v);
  if (std::isnan(a)) return false;
  if (std::isinf(a)) {
    r = sign | 0x7c00;
    return true;
  }
  if (a > 65504) return false;
  if (a < std::ldexp(1.0, -14)) {
    const double m = std::ldexp(a, 24);
    r = static_cast<uint16_t>(sign | static_cast<uint16_t>(m));
    return m == std::floor(m);
  }
  int exponent = 0;
  const double m = std::ldexp(std::frexp(a, &exponent), 11);  // 1024 <= m < 2048
  r = static_cast<uint16_t>(sign | ((exponent + 14) << 10) | (static_cast<int>(m) & 1023));
  return m == std::floor(m);
}

bool exact_bfloat16(double v, uint16_t& r) {
  if (std::isnan(v)) return false;
  const auto f = static_cast<float>(v);
  const auto b = std::bit_cast<uint32_t>(f);
  r = static_cast<uint16_t>(b >> 16);
  return (b & 0xffff) == 0 && static_cast<double>(f) == v;
}

bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

template <class From>
TensorPtr from(std::span<const From> values, const Dims& dims, DType to) {
  Builder out(to, dims);
  bool ok = false;
  if (to == DType::Bool) {
    auto* r = out.data<uint8_t>();
    for (From v : values) *r++ = v != From(0);
    ok = true;
  } else if (is_half(to)) {
    auto* r = out.data<uint16_t>();
    ok = true;
    for (From v : values) {
      // 64-bit integers beyond 2^53 are out of both types' exact range or rounded on the way.
      if constexpr (std::is_integral_v<From>)
        ok = ok && static_cast<From>(static_cast<double>(v)) == v;
      const auto d = static_cast<double>(v);
      ok = ok && (to == DType::Float16 ? exact_half(d, *r) : exact_bfloat16(d, *r));
      ++r;
    }
  } else {
    ok = dispatch(to, [&](auto element) {
      using To = decltype(element);
      To* r = out.data<To>();
      bool all = true;
      for (From v : values) all = all && convert<To, From>(v, *r++);
      return all;
    });
  }
  return ok ? std::move(out).finish() : nullptr;
}

}  // namespace

TensorPtr evaluate_cast(const Node& n, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  const auto to = static_cast<DType>(n.attributes.get_or<int64_t>("to", 0));
  if (byte_size(to) == 0 || is_complex(to) || !fits(x.dims(), to, limit)) return nullptr;
  if (x.dtype() == to) return in[0];
  if (x.dtype() == DType::Bool) return from(x.values<uint8_t>(), x.dims(), to);
  if (is_half(x.dtype())) {
    const std::vector<double> values = x.as_double();  // exact
    return from(std::span<const double>(values), x.dims(), to);
  }
  TensorPtr out;
  dispatch(x.dtype(), [&](auto element) {
    out = from(x.values<decltype(element)>(), x.dims(), to);
    return true;
  });
  return out;
}

}  // namespace oe::optimize
