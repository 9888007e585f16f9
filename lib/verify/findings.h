// What a thorough verification tells besides whether the two agree.
#pragma once

#include <string>

namespace oe::verify {

// Values that drawn ones are not, and what came of them.
struct SpecialRun {
  std::string values;      // "zeros", "NaN"
  bool ran = false;        // LibTorch takes them
  std::string difference;  // empty: none
};

// The largest differences of an output of floats, over the runs that were also made in float64.
struct OutputErrors {
  std::string name, type;      // "float[2,10]" of the first run
  double largest = 0;          // |LibTorch|
  double between = 0;          // ONNX Runtime and LibTorch
  double of_libtorch = 0;      // LibTorch and LibTorch in float64
  double of_onnx_runtime = 0;  // ONNX Runtime and LibTorch in float64
  double unit = 0;             // of rounding, of the output's type at 1
};

}  // namespace oe::verify
