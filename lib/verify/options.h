// How a model is compared with LibTorch: options of --verify and of the verb verify.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace oe::verify {

// Where ONNX Runtime runs the file (--provider).
enum class Provider { Cpu, Cuda };

// A number for an output; "" is every output without one of its own.
using Tolerances = std::vector<std::pair<std::string, double>>;

struct Options {
  int runs = 3;           // --verify-runs: seeds a size
  Tolerances atol, rtol;  // default: by element type (default_tolerance())
  bool latency = false;   // a call of ONNX Runtime is timed
  std::string ort_lib;    // ONNX Runtime's library; "": it is searched for
  Provider provider = Provider::Cpu;
};

}  // namespace oe::verify
