// Sizes at which a model is verified, beyond those that the export has seen.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/verify/verify_model.h"

namespace oe::verify {

// Chooses sizes the export has not seen.
class SizePicker {
 public:
  explicit SizePicker(const Request& r) : r_(r) {
    for (const Axis& a : r.axes) {
      axes_[a.name].push_back(&a);
      for (const Sizes& w : r.worlds) seen_[a.name].insert(w[a.leaf][a.axis]);
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, axes] : axes_) names.push_back(name);
    return names;
  }
  // Sizes to try on one axis, the likeliest first: near the example, its multiples, one.
  std::vector<int64_t> candidates(const std::string& name) const {
    const Axis& a = *axes_.at(name).front();
    const int64_t n = r_.worlds[0][a.leaf][a.axis];
    std::vector<int64_t> out;
    for (const int64_t c : {n + 1, n + 3, 2 * n, n - 1, int64_t{1}, n + 2, 3 * n, n + 8, n + 16,
                            n + 32, n / 2, 4 * n}) {
      const bool within = std::all_of(
          axes_.at(name).begin(), axes_.at(name).end(),
          [&](const Axis* x) { return x->low > x->high || (c >= x->low && c <= x->high); });
      if (c > 0 && within && !seen_.at(name).contains(c) &&
          std::find(out.begin(), out.end(), c) == out.end())
        out.push_back(c);
    }
    return out;
  }
  // 1 where the example is longer, 2 and 3 where it is 1; not what the worlds ran with this axis
  // alone.
  std::vector<int64_t> around_one(const std::string& name, bool only_axis) const {
    const Axis& a = *axes_.at(name).front();
    const int64_t example = r_.worlds[0][a.leaf][a.axis];
    std::vector<int64_t> out;
    for (const int64_t n : {int64_t{1}, int64_t{2}, int64_t{3}}) {
      const bool within = std::ranges::all_of(axes_.at(name), [&](const Axis* x) {
        return x->low > x->high || (n >= x->low && n <= x->high);
      });
      const bool other = example == 1 ? n != 1 : n == 1 && example != 1;
      if (within && other && !(only_axis && seen_.at(name).contains(n))) out.push_back(n);
    }
    return out;
  }
  Sizes with(Sizes sizes, const std::string& name, int64_t n) const {
    for (const Axis* a : axes_.at(name)) sizes[a->leaf][a->axis] = n;
    return sizes;
  }
  bool varied_by_worlds(const std::string& name) const { return seen_.at(name).size() > 1; }

 private:
  const Request& r_;
  std::map<std::string, std::vector<const Axis*>> axes_;
  std::map<std::string, std::set<int64_t>> seen_;
};

}  // namespace oe::verify
