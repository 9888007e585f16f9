// Sizes of the dynamic axes that an export has not seen.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/verify/verify_model.h"

namespace oe::verify {

class SizePicker {
 public:
  explicit SizePicker(const Request& r);

  std::vector<std::string> names() const;  // of the axes
  // Sizes to try on one axis, the likeliest first: near the example, its multiples, one.
  std::vector<int64_t> candidates(const std::string& name) const;
  // Those of them for one of many axes: together they take memory by their product, so about twice
  // the example is enough, where that can be had.
  std::vector<int64_t> small_candidates(const std::string& name) const;
  // 1 where the example is longer, 2 and 3 where it is 1; not what the worlds ran with this axis
  // alone.
  std::vector<int64_t> around_one(const std::string& name, bool only_axis) const;
  Sizes with(Sizes sizes, const std::string& name, int64_t n) const;
  bool varied_by_worlds(const std::string& name) const { return seen_.at(name).size() > 1; }

 private:
  bool within_bounds(const std::string& name, int64_t n) const;

  const Request& r_;
  std::map<std::string, std::vector<const Axis*>> axes_;
  std::map<std::string, std::set<int64_t>> seen_;
};

}  // namespace oe::verify
