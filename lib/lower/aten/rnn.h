// What the recurrent families share: padded and packed data, cells and layers.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

// True where step t of sequence b exists: [T, B] from the batch size of every step.
// A packed sequence holds its rows step by step, longest sequence first.
T step_mask(Call& g, T batch_sizes);
// [sum of batch_sizes, ...] -> [T, B, ...]; what does not exist is `fill` (of the data's type).
// `trailing`: how many axes a row has.
T pad_packed(Call& g, T data, T batch_sizes, T fill, int64_t trailing);
// [T, B, ...] -> [sum of batch_sizes, ...].
T pack(Call& g, T padded, T mask, int64_t trailing);
// Number of steps of every sequence, [B] int64.
T lengths_of(T mask);

}  // namespace oe::lower
