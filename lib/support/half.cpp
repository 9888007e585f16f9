// The two 16-bit floats as numbers.
#include "lib/support/half.h"

#include <bit>
#include <cmath>
#include <limits>

namespace oe {

uint16_t half_bits(float v) {
  const auto sign = static_cast<uint16_t>((std::bit_cast<uint32_t>(v) >> 16) & 0x8000);
  const float a = std::fabs(v);
  if (std::isnan(v)) return sign | 0x7e00;
  if (a >= 65520.0f) return sign | 0x7c00;
  if (a < std::ldexp(1.0f, -14))  // subnormal: a multiple of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24)));
  int exponent;
  const float m = std::frexp(a, &exponent);  // a = m * 2^exponent, m in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(m, 11)));  // 1024..2048
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + (mantissa - 1024));
}

uint16_t bfloat16_bits(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  if (std::isnan(v)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double v = exponent == 31  ? (fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                    : std::numeric_limits<double>::infinity())
                   : exponent == 0 ? std::ldexp(fraction, -24)
                                   : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -v : v;
}

double bfloat16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace oe
