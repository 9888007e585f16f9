// Stage: written model + LibTorch's results -> whether they agree, on several seeds and sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/draw.h"
#include "lib/verify/compare.h"
#include "lib/verify/coverage.h"
#include "lib/verify/findings.h"
#include "lib/verify/lineage.h"
#include "lib/verify/options.h"
#include "lib/verify/original.h"
#include "lib/verify/ort.h"

namespace oe::verify {

using Sizes = std::vector<std::vector<int64_t>>;  // the shape of each input leaf

struct Axis {  // a dynamic axis of one leaf
  size_t leaf = 0, axis = 0;
  std::string name;            // axes with the same name have the same size
  int64_t low = 0, high = -1;  // inclusive bounds; low > high: none
};

struct StatePair {  // state: an output of one call is an input of the next
  size_t leaf = 0, output = 0;
};

struct Request {
  Original* original = nullptr;
  onnx::ModelFile model;
  std::string bytes;  // of a model that runs instead; empty: the file itself
  // The type of its arithmetic (--to); Undefined: not rounded. Outputs are then compared with the
  // exact ones, and a difference in an output that rounding decides is a gap.
  DType half = DType::Undefined;
  std::vector<Sizes> worlds;  // sizes at which the original runs; [0] is the example
  std::vector<Axis> axes;
  std::vector<std::string> leaf_names;    // names in the model
  std::vector<Shape> leaf_shapes;         // their shapes in the model
  std::vector<size_t> free_leaves;        // that are inputs of the model
  std::vector<std::string> output_names;  // of the outputs the original has
  Options options;
  int threads = 0;
  uint64_t seed = 0;             // of the first run; 0 the example itself
  std::vector<Lineage> lineage;  // of each output; empty: not known
  std::vector<Shape> shapes;     // their shapes in the model
  // Whether the export relies on an assumption that unusual input values may violate: a difference
  // with such inputs is a gap.
  bool assumes = false;
  std::vector<StatePair> state;
  // Also run special values (SpecialRun), and compare the outputs' errors with float64.
  bool thorough = false;
  // A difference at NaN and infinities is an error: the original handles them explicitly.
  bool asks_for_nan = false;
  // The probe that reports the branches and trip counts its inputs reach; null without control
  // flow.
  const Probe* probe = nullptr;
};

// The model that runs.
std::unique_ptr<Ort::Session> open(Ort& ort, const Request& r, bool optimize = true);

// The request's parameters for one output.
Tolerance tolerance_of(const Request& r, const std::string& output);

// The largest |ONNX Runtime - LibTorch| of all comparisons.
struct LargestError {
  double absolute = 0;
  double among = 0;  // the largest finite |LibTorch| of the tensor it was found in
  void add(double error, const Tensor& expected);
};

struct Verification {
  size_t runs = 0, sizes = 0;
  int64_t elements = 0;  // compared elements of all runs, without the outputs that follow
  // Outputs whose comparison proves nothing: "'y' (empty in every run)".
  std::vector<std::string> uncounted;
  size_t steps = 0;    // the longest sequence of calls that pass their state on
  size_t drifted = 0;  // calls of such sequences whose states differ by accumulated rounding
  size_t judged = 0;   // outputs beyond the tolerance, but as exact as LibTorch's own
  // Of outputs that were rounded to integers on the way: elements, those that differ by more than
  // half a step, and the largest difference in steps.
  size_t quantized = 0, stepped = 0;
  double max_steps = 0;
  LargestError error;
  double max_scaled = 0;  // --to: the largest error as a part of its output's largest element
  DType half = DType::Undefined;
  std::string mismatch;           // the first one: output, size, seed, what differs; empty: none
  bool misstated = false;         // an output has another shape than the model declares
  bool as_written = false;        // the file agrees with the original's unoptimized code
  std::vector<TensorPtr> inputs;  // of the mismatch, one a leaf
  Draw draw;                      // from which they were drawn
  std::vector<std::string> gaps;  // what could not be verified, one line each
  std::vector<OutputFigures> outputs;  // in the order of the request
  std::vector<SpecialRun> special;
  std::vector<OutputErrors> errors;  // of outputs of floats that no random numbers determine
  std::vector<Covered> coverage;     // of every kept If and Loop
  std::string unmeasured;            // why the coverage is not known; empty: it is
  std::vector<std::string> drawn;    // outputs that depend on random numbers
  std::optional<double> latency_ms;  // median_latency_ms()
  size_t draws = 0;                  // runs for the comparison of their moments; 0: too few
  std::string quantized_text() const;
  // "verified: 9 runs, 3 sizes, 90 elements, max abs error 2.1e-06"
  std::string line() const;
  Figures figures() const;
};

// Stops at the first mismatch. Sizes: those of the worlds, and one more for each dynamic axis that
// the export has not used. An axis that runs at no other size is a gap. Then, while a branch or a
// trip count was not reached, other values and sizes that reach one, within a bounded effort. If
// the model has state, also sequences of calls, in which ONNX Runtime gets its own last state.
Verification verify_model(Ort& ort, const Request& r);

}  // namespace oe::verify
