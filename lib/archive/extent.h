// Where a tensor reaches in its storage.
#pragma once

#include <cstdint>
#include <vector>

namespace oe::archive {

// Whether a tensor of these sizes and strides, none of them negative and as many of each, lies
// within `elements` elements when its first is at `offset`.
inline bool lies_within(int64_t offset, const std::vector<int64_t>& sizes,
                        const std::vector<int64_t>& strides, uint64_t elements) {
  __int128 last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    last += static_cast<__int128>(sizes[i] - 1) * strides[i];
    if (last > INT64_MAX) last = INT64_MAX;  // and stays too large
  }
  return static_cast<uint64_t>(last) < elements;
}

}  // namespace oe::archive
