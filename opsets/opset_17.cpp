// Opset 17: LayerNormalization, windows, Fourier transforms, maps over sequences.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void layer_normalization(Rewriter& r, ir::Node& n) {
  T x = r.in(0), scale = r.in(1), bias = r.in(2);
  const DType t = x.dtype();
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  T c = cast(x, t == DType::Double ? t : stash);
  const int64_t rank = x.rank(), axis = wrapped(n.attributes.get_or<int64_t>("axis", -1), rank);
  Ints axes;
  for (int64_t a = axis; a < rank; ++a) axes.push_back(a);

  T mean = reduce("ReduceMean", c, axes, true);
  T centered = c - mean;
  T variance = reduce("ReduceMean", square(r, centered), axes, true);
  T epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), c.dtype());
  T deviation = sqrt(variance + epsilon);
  T y = cast(centered / deviation, t) * scale;
  if (bias) y = y + bias;
  r.bind(n.outputs[0], y);
  if (n.outputs.size() > 1) r.bind(n.outputs[1], mean);
  if (n.outputs.size() > 2 && n.outputs[2]) r.bind(n.outputs[2], reciprocal(deviation));
}

constexpr Row rows[] = {
    body("BlackmanWindow"),
    rewrite("DFT", dft_as_products),
    body("HammingWindow"),
    body("HannWindow"),
    rewrite("LayerNormalization", layer_normalization),
    needs("MelWeightMatrix"),
    needs("STFT"),
    body("SequenceMap"),
};

}  // namespace

Rung opset_17() { return rows; }

}  // namespace oe::opsets
