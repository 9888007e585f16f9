// The weights of Conv, ConvTranspose, Gemm and MatMul take an affine map of each channel of the
// result or of the input.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using Numbers = std::vector<double>;

// y = s x + t for each channel.
struct Affine {
  Numbers s, t;
};

bool finite(const Numbers& v);
// Whether a Conv or ConvTranspose pads its input.
bool is_padded(const ir::Node& n);
// float32 or float64: what weights are computed for.
bool is_foldable(DType t);
// The numbers, rounded once.
TensorPtr tensor_of(const Numbers& v, std::vector<int64_t> dims, DType t);

class LinearWeights {
 public:
  // A changed weight keeps its name with this suffix.
  LinearWeights(Rewriter& r, std::string suffix) : r_(r), suffix_(std::move(suffix)) {}

  // How many channels the result and the input have; nothing for other nodes, or where the weight
  // is no constant of a foldable type.
  struct Channels {
    size_t results, inputs;
  };
  std::optional<Channels> channels(const ir::Node& n) const;

  // Changes the weights so that the node returns s y + t instead of y, or computes from x what it
  // computed from s x + t. False, and nothing changed, where a weight is not known, would not be
  // finite, or would be larger than the limit, or where a shift needs a bias and there is none. The
  // second is not right with a shift where the node pads its input.
  bool map_result(ir::Node& n, const Affine& a);
  bool map_input(ir::Node& n, const Affine& a);

 private:
  struct Weights;
  struct Layout;

  bool is_linear(const ir::Node& n) const;
  std::optional<Weights> weights(const ir::Node& n) const;
  bool set(ir::Node& n, const Weights& w);

  Rewriter& r_;
  std::string suffix_;
  std::unordered_set<const ir::Value*> made_;
  size_t bytes_ = 0;  // of changed weights
};

}  // namespace oe::optimize
