// What the recurrent families share: padded and packed data, cells and layers.
#pragma once

#include "lib/lower/aten/nn_build.h"

namespace oe::lower::nn {

// True where step t of sequence b exists: [T, B] from the batch size of every step.
// A packed sequence holds its rows step by step, longest sequence first.
Value step_mask(Emit& g, Value batch_sizes);
// [sum of batch_sizes, ...] -> [T, B, ...]; what does not exist is `fill` (of the data's type).
// `trailing`: how many axes a row has.
Value pad_packed(Emit& g, Value data, Value batch_sizes, Value fill, int64_t trailing);
// [T, B, ...] -> [sum of batch_sizes, ...].
Value pack(Emit& g, Value padded, Value mask, int64_t trailing);
// Number of steps of every sequence, [B] int64.
Value lengths_of(Emit& g, Value mask);

}  // namespace oe::lower::nn
