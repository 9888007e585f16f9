// What was found of inputs that nobody described, as text.
#include "lib/infer/found.h"

#include <algorithm>

namespace oe::infer {

std::string text(const FoundInput& in) {
  std::string text = "# input " + in.spec + "\n";
  const auto line = [&](const std::string& what, const std::string& reason) {
    text += "#   " + what + (reason.empty() ? "" : ": " + reason) + "\n";
  };
  if (!in.rank.empty()) line("rank " + std::to_string(in.axes.size()), in.rank);
  for (size_t i = 0; i < in.axes.size(); ++i) {
    const FoundAxis& a = in.axes[i];
    line("axis " + std::to_string(i) + ": " + std::to_string(a.size) +
             (a.free ? ", free (" + a.symbol + ")" : ""),
         a.reason);
  }
  if (!in.type.empty()) line("type", in.type);
  if (!in.value.empty()) line("value", in.value);
  return text;
}

std::string doubts(const FoundInput& in, bool all) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  const auto run = [](const std::string& others) {
    return " (" + others + (others.find(" and ") == std::string::npos ? " runs" : " run") + " too)";
  };
  if (!in.other_ranks.empty()) add("rank " + std::to_string(in.axes.size()) + run(in.other_ranks));
  if (!in.other_types.empty()) {
    const size_t at = in.spec.rfind('@');
    std::string type = at == std::string::npos ? "f32" : in.spec.substr(at + 1);
    type.resize(std::min(type.find('='), type.size()));
    if (all || type != "f32") add("type " + type + run(in.other_types));
  }
  if (!in.baked.empty()) add(in.baked + ", which the file keeps");
  return text.empty() ? text : in.name + ": " + text;
}

std::string short_text(const FoundInput& in) {
  std::string free;
  int count = 0;
  for (size_t i = 0; i < in.axes.size(); ++i) {
    if (!in.axes[i].free) continue;
    free += (free.empty() ? "" : ", ") + std::to_string(i);
    ++count;
  }
  std::string notes;
  if (count) notes = (count == 1 ? "axis " : "axes ") + free + " free";
  if (in.type.starts_with("a choice"))
    notes += (notes.empty() ? "" : ", ") + std::string("type by its name");
  return in.spec + (notes.empty() ? "" : " (" + notes + ")");
}

}  // namespace oe::infer
