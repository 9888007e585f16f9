// Sizes of the dynamic axes that an export has not seen.
#include "lib/verify/size_picker.h"

#include <algorithm>
#include <iterator>

namespace oe::verify {

SizePicker::SizePicker(const Request& r) : r_(r) {
  for (const Axis& a : r.axes) {
    axes_[a.name].push_back(&a);
    for (const Sizes& w : r.worlds) seen_[a.name].insert(w[a.leaf][a.axis]);
  }
}

std::vector<std::string> SizePicker::names() const {
  std::vector<std::string> names;
  for (const auto& [name, axes] : axes_) names.push_back(name);
  return names;
}

bool SizePicker::within_bounds(const std::string& name, int64_t n) const {
  return std::ranges::all_of(axes_.at(name), [&](const Axis* a) {
    return a->low > a->high || (n >= a->low && n <= a->high);
  });
}

std::vector<int64_t> SizePicker::candidates(const std::string& name) const {
  const Axis& a = *axes_.at(name).front();
  const int64_t n = r_.worlds[0][a.leaf][a.axis];
  std::vector<int64_t> out;
  for (const int64_t c :
       {n + 1, n + 3, 2 * n, n - 1, int64_t{1}, n + 2, 3 * n, n + 8, n + 16, n + 32, n / 2, 4 * n})
    if (c > 0 && within_bounds(name, c) && !seen_.at(name).contains(c) &&
        std::find(out.begin(), out.end(), c) == out.end())
      out.push_back(c);
  return out;
}

std::vector<int64_t> SizePicker::small_candidates(const std::string& name) const {
  const Axis& a = *axes_.at(name).front();
  const int64_t most = 2 * r_.worlds[0][a.leaf][a.axis] + 2;
  const std::vector<int64_t> all = candidates(name);
  std::vector<int64_t> small;
  std::ranges::copy_if(all, std::back_inserter(small), [&](int64_t n) { return n <= most; });
  return small.empty() ? all : small;
}

std::vector<int64_t> SizePicker::around_one(const std::string& name, bool only_axis) const {
  const Axis& a = *axes_.at(name).front();
  const int64_t example = r_.worlds[0][a.leaf][a.axis];
  std::vector<int64_t> out;
  for (const int64_t n : {int64_t{1}, int64_t{2}, int64_t{3}}) {
    const bool other = example == 1 ? n != 1 : n == 1;
    if (within_bounds(name, n) && other && !(only_axis && seen_.at(name).contains(n)))
      out.push_back(n);
  }
  return out;
}

Sizes SizePicker::with(Sizes sizes, const std::string& name, int64_t n) const {
  for (const Axis* a : axes_.at(name)) sizes[a->leaf][a->axis] = n;
  return sizes;
}

}  // namespace oe::verify
