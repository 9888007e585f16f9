// What a verification found in one line, and what its request says of an output.
#include <cstdio>

#include "lib/support/text.h"
#include "lib/verify/verify_model.h"

namespace oe::verify {

std::string Verification::quantized_text() const {
  char text[96];
  std::snprintf(text, sizeof text,
                " (%.2g %% of the quantized elements differ, by %.3g %s at most)",
                100.0 * static_cast<double>(stepped) / static_cast<double>(quantized), max_steps,
                max_steps > 0 && max_steps < 1.005 ? "step" : "steps");
  return text;
}

namespace {

std::string latency_text(const std::optional<double>& ms) {
  if (!ms) return {};
  char text[48];
  std::snprintf(text, sizeof text, ", %.3g ms a call", *ms);
  return text;
}

}  // namespace

std::string Verification::line() const {
  char largest[96];
  std::snprintf(largest, sizeof largest, "%.2g", error.absolute);
  // An error that looks large says nothing without the size of the numbers.
  if (error.absolute > 1e-3)
    std::snprintf(largest, sizeof largest, "%.2g among values up to %.2g", error.absolute,
                  error.among);
  char scaled[96] = "";
  if (half != DType::Undefined)
    std::snprintf(scaled, sizeof scaled,
                  " from float64, %.2g %% of the largest element (%.2g %% allowed)",
                  100 * max_scaled, 100 * kRoundingSteps * rounding_epsilon(half));
  return "verified: " + plural(runs, "run") + ", " + plural(sizes, "size") + ", " +
         plural(static_cast<size_t>(elements), "element") + ", max abs error " + largest + scaled +
         (steps ? ", " + plural(steps, "call") + " in a row" : std::string()) +
         (drifted ? " (" + plural(drifted, "call") + " from LibTorch's state: rounding adds up)"
                  : std::string()) +
         (judged ? " (tolerance of " + plural(judged, "output") + " taken from " +
                       (half == DType::Undefined ? "LibTorch's own rounding error"
                                                 : "a run in " + std::string(name(half))) +
                       ")"
                 : std::string()) +
         (quantized ? quantized_text() : std::string()) +
         (drawn.empty() ? std::string()
                        : " (" + plural(drawn.size(), "output") + " by shape, type" +
                              (draws ? " and moments)" : ")")) +
         latency_text(latency_ms);
}

Figures Verification::figures() const {
  return {runs, sizes, elements, error.absolute, error.among, gaps, outputs, latency_ms};
}

void LargestError::add(double error, const Tensor& expected) {
  if (!(error > absolute)) return;
  absolute = error;
  among = largest_difference(expected, nullptr);
}

Tolerance tolerance_of(const Request& r, const std::string& output) {
  Tolerance t;
  for (const bool general : {true, false}) {  // what is said for one output outweighs the rest
    for (const auto& [name, v] : r.options.atol)
      if (general ? name.empty() : name == output) t.atol = v;
    for (const auto& [name, v] : r.options.rtol)
      if (general ? name.empty() : name == output) t.rtol = v;
  }
  return t;
}

}  // namespace oe::verify
