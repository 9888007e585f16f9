// How long a call of ONNX Runtime takes.
#pragma once

#include <optional>

#include "lib/verify/verify_model.h"

namespace oe::verify {

// The median of up to 51 calls of the written file at the example's sizes, in milliseconds, after
// one that warms up; at most 2 seconds of calls. Nothing: ONNX Runtime does not run it there.
std::optional<double> median_latency_ms(Ort& ort, const Request& r);

}  // namespace oe::verify
