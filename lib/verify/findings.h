// Further results of a thorough verification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oe::verify {

// A run with special values, and its result.
struct SpecialRun {
  std::string values;      // "zeros", "NaN"
  bool ran = false;        // LibTorch accepts them
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

// The figures of one output over all runs.
struct OutputFigures {
  std::string name;
  int64_t elements = 0;      // compared elements; 0 if the comparison proves nothing
  double largest_error = 0;  // |ONNX Runtime - LibTorch|
  double among = 0;          // the largest finite |LibTorch| of the tensor it was found in
  // "agrees", "differs", "undecided" (rounding or a tie decides it), "random" (compared by shape,
  // type and moments), "constant" (empty, NaN or the same in every run), "not compared"
  std::string verdict = "not compared";
};

// The figures of a verification.
struct Figures {
  size_t runs = 0, sizes = 0;
  int64_t elements = 0;
  double largest_error = 0, among = 0;
  std::vector<std::string> gaps;  // what could not be verified
  std::vector<OutputFigures> outputs;
  std::optional<double> latency_ms;  // of a call of ONNX Runtime, with --latency
};

}  // namespace oe::verify
