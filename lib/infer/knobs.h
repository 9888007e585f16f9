// What of a guess can be changed: sizes, ranks, lengths, numbers, each an integer.
#pragma once

#include <utility>
#include <vector>

#include "lib/infer/argument_guess.h"

namespace oe::infer {

struct Knob {
  size_t place = 0;       // its index
  int what = 0;           // an axis, or kRank, kType, kValue, kLength
  bool last_two = false;  // an axis of the last two of four or more
};

class Knobs {
 public:
  // Those of the places in `mask` that are not fixed. `kinds`: only these; empty: every number
  // (kType is none).
  Knobs(const Guess& g, Mask mask, const std::vector<int>& kinds);

  // Those that nothing asked for yet first; the last axes first, batches last.
  const std::vector<Knob>& all() const { return knobs_; }
  // Height and width: the last two axes of an input of rank 4 or more, where both can change.
  std::vector<std::pair<Knob, Knob>> squares() const;
  static ArgumentGuess& place(Guess& g, const Knob& k);
  static int64_t get(const Guess& g, const Knob& k);
  // Other values to see what depends on it.
  static std::vector<int64_t> moves(const Guess& g, const Knob& k);
  // False where it cannot have that value.
  static bool set(Guess& g, const Knob& k, int64_t n, c10::ScalarType weights);

 private:
  std::vector<Knob> knobs_;
};

}  // namespace oe::infer
