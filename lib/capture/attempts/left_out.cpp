#include "lib/capture/attempts/left_out.h"

#include <algorithm>

#include "lib/support/text.h"
#include "lib/support/trial.h"

namespace oe::capture {

std::string trial_text(const Job& job, const std::vector<int64_t>& sizes) {
  std::vector<std::string> names;
  for (const torch_io::InputLeaf& l : job.inputs.leaves) names.push_back(l.name);
  return sizes_text(names, shapes_at(job.inputs, job.axes, sizes));
}

bool may_make_up(const CaptureOptions& o) {
  return std::ranges::none_of(o.left_out, [](const LeftOut& l) { return l.sizes == kMadeUp; });
}

bool LeftOutSizes::contains(const std::vector<int64_t>& sizes) const {
  const std::string text = trial_text(job_, sizes);
  return std::ranges::any_of(job_.options.left_out,
                             [&](const LeftOut& l) { return l.sizes == text; });
}

void LeftOutSizes::report(Diagnostics& d) const {
  for (const LeftOut& l : job_.options.left_out) {
    if (l.sizes == kAsked || l.sizes == kLookedFor || l.sizes == kMadeUp) continue;
    d.report(
        {"OE2204", Severity::Warning, "",
         "LibTorch crashed in " + l.op + " at " + l.sizes + other_axes(l) +
             ": the operator does not check its sizes; these sizes, which the converter tried, were "
             "skipped",
         "give axes that must have the same size the same name: --dynamic-axes "
         "x:1=batch,h:1=batch",
         nullptr, 0});
  }
}

// " (axis 'batch' of 7)"
std::string LeftOutSizes::other_axes(const LeftOut& l) const {
  std::string out;
  const std::vector<std::string> leaves = oe::split(l.sizes, ' ');
  for (const DynamicAxis& a : job_.axes) {
    const auto [leaf, axis] = a.places.front();
    const std::string& text = leaf < leaves.size() ? leaves[leaf] : std::string();
    const size_t open = text.rfind('[');
    if (open == std::string::npos) continue;
    const auto sizes = oe::split(text.substr(open + 1, text.size() - open - 2), ',');
    if (axis < sizes.size() && sizes[axis] != std::to_string(a.example))
      out += (out.empty() ? " (" : ", ") + ("axis '" + a.name + "' of ") + sizes[axis];
  }
  return out.empty() ? out : out + ")";
}

}  // namespace oe::capture
