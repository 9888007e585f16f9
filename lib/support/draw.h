// What a verification run feeds the model: the example, at other sizes, drawn anew, then varied.
#pragma once

#include <cstdint>
#include <vector>

namespace oe {

// What becomes of the values that were drawn for one input.
struct Variation {
  enum class Kind {
    None,
    Fill,      // every element is `value`
    Positive,  // its absolute value
    Negative,  // minus that
    Scale,     // times `value`
    Place,     // the middle element is `value`
  };
  Kind kind = Kind::None;
  double value = 0;
  bool operator==(const Variation&) const = default;
};

struct Draw {
  std::vector<std::vector<int64_t>> sizes;  // the shape of each input leaf
  uint64_t seed = 0;                        // 0 the example's own values
  std::vector<Variation> variations;        // one a leaf; empty: none
};

}  // namespace oe
