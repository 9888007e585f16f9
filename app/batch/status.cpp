#include "app/batch/status.h"

#include <algorithm>
#include <array>

#include "lib/support/text.h"

namespace oe::app {
namespace {

constexpr std::array kNames = {"not run", "ok", "partly", "failed", "skipped"};

}  // namespace

const char* name_of(ItemStatus s) { return kNames[static_cast<size_t>(s)]; }

ItemStatus status_of(const ordered_json& document, bool found) {
  const auto code = static_cast<ExitCode>(document.at("exit_code").get<int>());
  if (code == ExitCode::Ok) return ItemStatus::Ok;
  if (code == ExitCode::NotFullyVerified) return ItemStatus::Partly;
  // A state_dict, a pickle, a .pt2, an ONNX model, another format.
  constexpr std::array kNoTorchScript = {"OE0105", "OE0106", "OE0107", "OE0109",
                                         "OE0110", "OE0112", "OE0113"};
  if (found && code == ExitCode::Unreadable)
    for (const ordered_json& p : document.at("problems"))
      if (std::ranges::find(kNoTorchScript, p.at("code").get<std::string>()) !=
          kNoTorchScript.end())
        return ItemStatus::Skipped;
  return ItemStatus::Failed;
}

ItemStatus status_in(const ordered_json& document) {
  const auto at = std::ranges::find(kNames, document.at("batch").at("status").get<std::string>());
  return at == kNames.end() ? ItemStatus::Failed : static_cast<ItemStatus>(at - kNames.begin());
}

std::string short_problem(const ordered_json& problem) {
  const std::string op = problem.at("operator"), message = problem.at("message");
  return (op.empty() ? "" : op + ": ") + first_line(message);
}

}  // namespace oe::app
