#include "lib/verify/latency.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace oe::verify {

std::optional<double> median_latency_ms(Ort& ort, const Request& r) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kCalls = 51;
  constexpr std::chrono::seconds kMost(2);
  try {
    const std::unique_ptr<Ort::Session> session = ort.open_file(r.model, r.threads);
    const std::vector<TensorPtr> leaves = r.original->inputs({r.worlds.at(0), r.seed, {}});
    std::vector<HostValue> inputs;
    for (const std::string& name : session->input_names()) {
      const auto at = std::ranges::find(r.leaf_names, name);
      if (at == r.leaf_names.end()) return std::nullopt;
      inputs.push_back(HostValue::of(leaves.at(static_cast<size_t>(at - r.leaf_names.begin()))));
    }
    session->run(inputs);
    std::vector<double> times;
    const Clock::time_point begin = Clock::now();
    while (times.size() < kCalls && (times.empty() || Clock::now() - begin < kMost)) {
      const Clock::time_point start = Clock::now();
      session->run(inputs);
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

}  // namespace oe::verify
