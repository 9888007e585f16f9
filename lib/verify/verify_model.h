// Stage: written model + LibTorch's results -> do they agree, on several seeds and sizes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/verify/compare.h"
#include "lib/verify/ort.h"

namespace oe::verify {

using Sizes = std::vector<std::vector<int64_t>>;  // the shape of each input leaf

// One run of the original model: its inputs (one a leaf) and its outputs.
struct ReferenceRun {
  std::vector<TensorPtr> inputs;
  std::vector<OrtValue> outputs;
};

struct Axis {  // a dynamic axis of one leaf
  size_t leaf = 0, axis = 0;
  std::string name;            // axes of one name have one size
  int64_t low = 0, high = -1;  // inclusive bounds; low > high: none
};

struct Request {
  std::filesystem::path model;
  std::vector<Sizes> worlds;  // that the original is known to run at; [0] is the example
  std::vector<Axis> axes;
  std::vector<std::string> leaf_names;                     // as the model calls them
  std::vector<std::string> output_names;                   // of the outputs the original has
  std::vector<std::pair<std::string, double>> atol, rtol;  // output ("": all), value
  int runs = 3;                                            // seeds a size
  int threads = 0;
  uint64_t seed = 0;  // of the first run; 0 the example itself
  // Runs the original. Throws std::runtime_error when it refuses these sizes.
  std::function<ReferenceRun(const Sizes&, uint64_t seed)> reference;
};

struct Verification {
  size_t runs = 0, sizes = 0;
  double max_abs = 0;
  std::string mismatch;           // the first one: output, size, seed, what differs; empty: none
  std::vector<std::string> gaps;  // what could not be tried, one line each
  std::string line() const;       // "verified: 9 runs, 3 sizes, max abs error 2.1e-06"
};

// Stops at the first mismatch. Sizes: those of the worlds, and for each dynamic axis one more that
// the export has not seen. An axis that runs at no other size is a gap.
Verification verify_model(Ort& ort, const Request& r);

}  // namespace oe::verify
