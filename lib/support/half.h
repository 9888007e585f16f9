// The two 16-bit floats as numbers, rounded as c10::Half and c10::BFloat16 do.
#pragma once

#include <cstdint>

namespace oe {

// Round to nearest, ties to even; a double is rounded to float first, as a Scalar is in LibTorch.
uint16_t half_bits(float v);
uint16_t bfloat16_bits(float v);
// Exact.
double half_value(uint16_t bits);
double bfloat16_value(uint16_t bits);

}  // namespace oe
