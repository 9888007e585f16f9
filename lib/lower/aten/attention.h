// Attention written as matrix products and softmax, shared by the attention families.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

struct Attention {
  T output, weights;
};

// softmax(q k^T * scale + bias) v over the last two axes. `scale` is
// 1/sqrt(E) when not given. `bias` is added to the scores (null: none). `safe`: a row of scores
// that is -inf throughout gives zeros, not NaN.
Attention attend(T q, T k, T v, int64_t rank_q, int64_t rank_k, std::optional<double> scale, T bias,
                 bool safe);
// 0 where the mask is true and -inf elsewhere.
T bias_from_mask(Call& g, T mask, DType t);

}  // namespace oe::lower
