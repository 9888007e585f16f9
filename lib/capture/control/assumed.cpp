#include "lib/capture/control/assumed.h"

#include <algorithm>

#include "lib/support/origin_text.h"

namespace oe::capture {

void Assumed::say(const std::string& what) {
  std::string where = place_of(site_.here());
  if (where.ends_with(':')) where.pop_back();  // that of the `if` itself
  const std::string text = where.empty() ? what : where + ": " + what;
  if (std::ranges::find(state_.said, text) == state_.said.end()) state_.said.push_back(text);
}

const std::string* Assumed::dropped(Branch b) const {
  const auto it = state_.dropped.find(b);
  return it == state_.dropped.end() ? nullptr : &it->second;
}

std::vector<Missed> Assumed::missed() const {
  std::vector<Missed> out;
  for (const Missed& m : state_.missed) {
    const bool known =
        std::ranges::any_of(out, [&](const Missed& o) { return o.branch == m.branch; });
    if (dropped(m.branch) && !known) out.push_back(m);
  }
  return out;
}

}  // namespace oe::capture
