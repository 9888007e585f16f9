// BatchNormalization in training mode, said by reductions.
#include "opsets/expand.h"

namespace oe::opsets {

void expand_batch_training(Rewriter& r, ir::Node& n) {
  T x = r.in(0), mean_in = r.in(3), var_in = r.in(4);
  const DType t = x.dtype();
  const int64_t rank = x.rank();
  Ints axes = {0}, around;
  for (int64_t a = 2; a < rank; ++a) axes.push_back(a);
  for (int64_t a = 1; a < rank - 1; ++a) around.push_back(a);
  const auto per_channel = [&](T v) { return around.empty() ? v : unsqueeze(v, around); };
  T mean = reduce("ReduceMean", x, axes, true);
  T centered = x - mean;
  T variance = reduce("ReduceMean", centered * centered, axes, true);
  T epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), t);
  T normal = centered / sqrt(variance + epsilon);
  T y = normal * per_channel(r.in(1));
  r.bind(n.outputs[0], y + per_channel(r.in(2)));

  const float momentum = n.attributes.get_or<float>("momentum", 0.9f);
  const auto running = [&](size_t i, T old, T batch) {
    if (i >= n.outputs.size() || !n.outputs[i]) return;
    T kept = old * momentum;
    T flat = cast(squeeze(batch, axes), old.dtype());
    T moved = flat * (1.0 - momentum);
    r.bind(n.outputs[i], kept + moved);
  };
  running(1, mean_in, mean);
  running(2, var_in, variance);
}

}  // namespace oe::opsets
