#include "app/batch/baseline.h"

#include <cmath>
#include <limits>
#include <system_error>

#include "app/document.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

// A larger error than rounding in another order makes.
constexpr double kMuchWorse = 4, kNoise = 1e-6;
// Slower than noise between two runs on one machine.
constexpr double kMuchSlower = 1.5, kSteadyMs = 0.05;

int rank_of(ItemStatus s) {
  switch (s) {
    case ItemStatus::Ok:
      return 0;
    case ItemStatus::Partly:
      return 1;
    case ItemStatus::Skipped:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

Baseline::Figures Baseline::figures(const ordered_json& d) {
  Figures f;
  f.status = status_in(d);
  f.error = std::numeric_limits<double>::quiet_NaN();
  f.latency = f.error;
  if (d.contains("verification") && d.at("verification").is_object()) {
    const ordered_json& v = d.at("verification");
    if (const ordered_json& e = v.at("largest_error"); e.is_number()) f.error = e;
    if (const ordered_json ms = v.value("latency_ms", ordered_json()); ms.is_number())
      f.latency = ms;
  }
  const auto add = [&](const ordered_json& method) {
    f.nodes += method.value("nodes", uint64_t{0});
    f.bytes += method.value("model_bytes", uint64_t{0}) + method.value("data_bytes", uint64_t{0});
  };
  if (d.contains("methods"))
    for (const auto& [name, method] : d.at("methods").items()) add(method);
  else
    add(d);
  return f;
}

Baseline::Baseline(const std::string& file) {
  const auto wrong = [&](const std::string& why) {
    return Failure(ExitCode::Unreadable, "OE0737", file + ": " + why,
                   "use a file that --report NAME.jsonl of this version wrote");
  };
  std::string text;
  try {
    text = read_whole_file(file);
  } catch (const std::system_error& e) {
    throw wrong(e.code().message());
  }
  size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::string where = "line " + std::to_string(number) + " ";
    const ordered_json d = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!d.is_object() || !d.contains("schema_version")) throw wrong(where + "is not a document");
    if (d["schema_version"] != kSchemaVersion)
      throw wrong(where + "has schema_version " + d["schema_version"].dump() + ", not " +
                  std::to_string(kSchemaVersion));
    try {
      old_[d.at("batch").at("id")] = figures(d);
    } catch (const ordered_json::exception&) {
      throw wrong(where + "is not the document of a batch's model");
    }
  }
}

std::vector<std::string> Baseline::worse(const EachDocument& each) const {
  std::vector<std::string> lines;
  each([&](const ordered_json& d) {
    const std::string id = d.at("batch").at("id");
    const Figures now = figures(d);
    const auto it = old_.find(id);
    const auto add = [&](const std::string& what) { lines.push_back(id + ": " + what); };
    if (it == old_.end()) {
      if (now.status == ItemStatus::Failed) add("is new, and failed");
      return;
    }
    const Figures& old = it->second;
    const auto change = [&](const char* what, const std::string& from, const std::string& to) {
      add(std::string(what) + " " + to + ", was " + from);
    };
    if (rank_of(now.status) > rank_of(old.status))
      return change("status", name_of(old.status), name_of(now.status));
    if (now.error > kMuchWorse * old.error + kNoise)
      change("largest error", float_text(static_cast<float>(old.error)),
             float_text(static_cast<float>(now.error)));
    if (now.latency > kMuchSlower * old.latency + kSteadyMs)
      change("latency in ms", float_text(static_cast<float>(old.latency)),
             float_text(static_cast<float>(now.latency)));
    if (now.nodes > old.nodes)
      change("nodes", std::to_string(old.nodes), std::to_string(now.nodes));
    // A few bytes of names and versions are no change.
    constexpr uint64_t kPart = 100;
    if (now.bytes > old.bytes + old.bytes / kPart + kPart)
      change("bytes", std::to_string(old.bytes), std::to_string(now.bytes));
  });
  return lines;
}

}  // namespace oe::app
