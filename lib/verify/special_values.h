// Inputs that drawn values never are: zeros, negatives, large ones, NaN and infinities.
#pragma once

#include <span>
#include <vector>

#include "lib/support/draw.h"
#include "lib/support/host_value.h"
#include "lib/verify/verify_model.h"

namespace oe::verify {

// A kind of values for all inputs at once.
struct SpecialValues {
  const char* name;
  Variation floats, integers = {};
};
extern const std::span<const SpecialValues> kSpecialValues;

// Both take values in the order of the request's outputs.
// Whether each output that differs beyond the tolerance does so by no more than twice what the
// original's results `near` and `nearer` differ by. False where none differs.
bool as_far_apart(const Request& r, const std::vector<HostValue>& actual,
                  const std::vector<HostValue>& expected, const std::vector<HostValue>& near,
                  const std::vector<HostValue>& nearer);
// Whether they agree within the tolerance of the largest element: large values cancel, and leave a
// result that is as exact as they are.
bool same_at_scale(const Request& r, const std::vector<HostValue>& actual,
                   const std::vector<HostValue>& expected);

}  // namespace oe::verify
