// The two 16-bit floats as numbers.
#include "lib/support/half.h"

#include <bit>
#include <cmath>
#include <limits>

namespace oe {

// Without branches on the number's digits: weights are rounded by the million.
uint16_t half_bits(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t a = bits & 0x7fffffff;
  if (a > 0x7f800000) return sign | 0x7e00;   // NaN
  if (a >= 0x47800000) return sign | 0x7c00;  // from 2^16 on
  if (a < 0x38800000)  // below 2^-14 a multiple of 2^-24, which is the last digit of 0.5f
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) -
                                        0x3f000000);
  // The exponent's bias goes from 127 to 15; half of the last digit less one, and one where the
  // digit is odd: ties go to the even one.
  a = a - (112u << 23) + 0xfff + (a >> 13 & 1);
  return sign | static_cast<uint16_t>(a >> 13);
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
