// What `verify` found, as text.
#pragma once

#include <string>

#include "app/report.h"

namespace oe::app {

// "net.onnx: agrees with net.pt, verified: 12 runs, ...", the errors of the outputs beside a run in
// float64 and what came of special values: a line each. Empty where the two were not compared.
std::string verify_text(const Report& r, const Options& o);

}  // namespace oe::app
