// What was found of inputs that nobody described, as text.
#include "lib/infer/found.h"

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
