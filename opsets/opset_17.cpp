// Opset 17: LayerNormalization, windows, Fourier transforms, maps over sequences.
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void layer_normalization(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  const DType t = r.dtype(x);
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  Value c = r.cast(x, t == DType::Double ? t : stash);
  const int64_t rank = r.rank(x), axis = r.wrap(n.attributes.get_or<int64_t>("axis", -1), rank);
  Ints axes;
  for (int64_t a = axis; a < rank; ++a) axes.push_back(a);

  Value mean = r.reduce("ReduceMean", c, axes, true);
  Value centered = r.op("Sub", {c, mean});
  Value variance = r.reduce("ReduceMean", r.op("Mul", {centered, centered}), axes, true);
  Value epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), r.dtype(c));
  Value deviation = r.op("Sqrt", {r.op("Add", {variance, epsilon})});
  Value y = r.op("Mul", {r.cast(r.op("Div", {centered, deviation}), t), scale});
  if (bias) y = r.op("Add", {y, bias});
  r.bind(n.outputs[0], y);
  if (n.outputs.size() > 1) r.bind(n.outputs[1], mean);
  if (n.outputs.size() > 2 && n.outputs[2]) r.bind(n.outputs[2], r.op("Reciprocal", {deviation}));
}

constexpr Row rows[] = {
    body("BlackmanWindow"),
    needs("DFT"),
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
