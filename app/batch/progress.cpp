#include "app/batch/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "app/document.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using Seconds = std::chrono::duration<double>;

bool wants_block(const BatchLine& line) {
  if (line.json || line.quiet || line.progress == Progress::Never) return false;
  return isatty(STDERR_FILENO);
}

size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

// "4 s", "3 min", "2 h"
std::string about(double seconds) {
  const auto whole = [](double n) { return std::to_string(std::lround(n)); };
  if (seconds < 120) return whole(seconds) + " s";
  return seconds < 7200 ? whole(seconds / 60) + " min" : whole(seconds / 3600) + " h";
}

std::string first_problem(const ordered_json& document) {
  const ordered_json* last = nullptr;
  for (const ordered_json& p : document.at("problems"))
    if (p.at("severity") == "error") last = &p;
  const ordered_json v = document.value("verification", ordered_json());
  if (!last && v.is_object() && !v.at("gaps").empty()) return v.at("gaps").at(0);
  if (!last) return {};
  return short_problem(*last) + "  [" + last->at("code").get<std::string>() + "]";
}

}  // namespace

BatchProgress::BatchProgress(const BatchLine& line, size_t models)
    : line_(line), models_(models), block_(wants_block(line)) {}

void BatchProgress::event(const char* name, const Item& item, const ordered_json& more) const {
  ordered_json j = {
      {"schema_version", kSchemaVersion}, {"event", name}, {"model", item.model}, {"id", item.id}};
  j.update(more);
  std::cout << dump(j, -1) << "\n" << std::flush;
}

void BatchProgress::started(const Item& item) {
  if (line_.json) event("started", item, ordered_json::object());
}

void BatchProgress::stage(const Item& item, const std::string& name) {
  if (line_.json) event("stage", item, {{"stage", name}});
}

void BatchProgress::ended(const Item& item, ItemStatus s, bool kept, const ordered_json& document) {
  ++done_;
  kept_ += kept;
  failed_ += s == ItemStatus::Failed;
  if (line_.json)
    return event("ended", item, {{"status", name_of(s)}, {"kept", kept}, {"document", document}});
  const bool failed = s == ItemStatus::Failed;
  if ((line_.quiet || block_) && !failed) return;
  erase();
  std::string text = name_of(s);
  text += std::string(8 - text.size(), ' ') + item.model;
  if (const std::string why = first_problem(document); !why.empty() && s != ItemStatus::Ok) {
    // Messages begin with the file's name where they are about the file.
    const bool named = why.starts_with(item.model + ": ");
    text += ": " + (named ? why.substr(item.model.size() + 2) : why);
  }
  if (kept) text += " (kept)";
  SafeStream(std::cerr) << safe_line(cut_text(text, kShownMessage)) << "\n";
}

std::string BatchProgress::head(size_t running) const {
  std::string text = std::to_string(done_) + " of " + std::to_string(models_) + " done, " +
                     std::to_string(failed_) + " failed, " + std::to_string(running) + " running";
  const size_t fresh = done_ - kept_;
  const double passed = Seconds(std::chrono::steady_clock::now() - start_).count();
  if (fresh > 0 && done_ < models_)
    text += ", about " +
            about(passed / static_cast<double>(fresh) * static_cast<double>(models_ - done_)) +
            " left";
  return text;
}

void BatchProgress::waiting(const std::vector<RunningItem>& running) {
  if (!block_) return;
  const size_t width = terminal_width() - 1;
  std::string text = head(running.size()) + "\n";
  constexpr size_t kMostLines = 16;
  for (size_t i = 0; i < std::min(running.size(), kMostLines); ++i) {
    const RunningItem& r = running[i];
    const double passed = Seconds(std::chrono::steady_clock::now() - r.start).count();
    const std::string end =
        "  " + (r.stage.empty() ? "start" : safe_line(r.stage)) + " " + about(passed);
    std::string name = safe_line(r.name);
    const size_t room = width > end.size() + 4 ? width - end.size() - 2 : 2;
    if (name.size() > room) name = "..." + name.substr(name.size() - (room - 3));
    text += "  " + name + end + "\n";
  }
  if (text == shown_) return;
  erase();
  std::cerr << text << std::flush;
  shown_ = text;
}

void BatchProgress::erase() {
  if (shown_.empty()) return;
  const auto lines = std::ranges::count(shown_, '\n');
  std::cerr << "\33[" << lines << "A\33[J" << std::flush;
  shown_.clear();
}

}  // namespace oe::app
