#include "app/batch/merge.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> journals_in(const std::string& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error)) {
    const std::string name = e.path().filename();
    if (name.starts_with("onnx-export.") && name.ends_with("journal")) all.push_back(e.path());
  }
  std::ranges::sort(all);
  if (all.empty())
    throw Failure(ExitCode::Unreadable, "OE0734", folder + ": has no journal of a batch",
                  "specify the output folder of the batch with -o");
  return all;
}

}  // namespace

Merged::Merged(const BatchLine& line, const std::vector<Item>& items) {
  std::set<size_t> parts;
  size_t count = 0;
  for (const fs::path& file : journals_in(line.output)) {
    const auto& j = journals_.emplace_back(
        std::make_unique<Journal>(file, Journal::Open::Continue, /*force=*/false));
    size_t done = 0;
    for (const auto& [id, entry] : j->entries()) {
      if (entry.state == JournalEntry::State::Started) continue;
      ++done;
      done_[id] = {j.get(), &entry};
    }
    const ordered_json& head = j->head();
    if (!head.is_object()) continue;
    const size_t number = head.at("shard").at(0), models = head.at("models");
    count = std::max<size_t>(count, head.at("shard").at(1));
    parts.insert(number);
    if (done < models)
      notes_.push_back(safe_line(file.string()) + ": " + plural(models - done, "model") + " of " +
                       std::to_string(models) + " were not done");
  }
  for (size_t number = 1; number <= count; ++number)
    if (!parts.contains(number))
      notes_.push_back("there is no journal of part " + std::to_string(number) + " of " +
                       std::to_string(count));
  for (const Item& item : items)
    if (!done_.contains(Journal::name_of(item.id))) not_run_.push_back(item.model);
}

EachDocument Merged::each() const {
  return [this](const std::function<void(const ordered_json&)>& take) {
    for (const auto& [id, where] : done_) take(where.first->line_of(*where.second).at("document"));
  };
}

}  // namespace oe::app
