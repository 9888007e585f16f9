// Attention written as matrix products and softmax, shared by the attention families.
#pragma once

#include "lib/lower/aten/nn_build.h"

namespace oe::lower::nn {

struct Attention {
  Value output, weights;
};

// softmax(q k^T * scale + bias) v over the last two axes. `scale` is
// 1/sqrt(E) when not given. `bias` is added to the scores (null: none). `safe`: a row of scores
// that is -inf throughout gives zeros, not NaN.
Attention attend(Emit& g, Value q, Value k, Value v, int64_t rank_q, int64_t rank_k,
                 std::optional<double> scale, Value bias, bool safe);
// 0 where the mask is true and -inf elsewhere.
Value bias_from_mask(Emit& g, Value mask, DType t);

}  // namespace oe::lower::nn
