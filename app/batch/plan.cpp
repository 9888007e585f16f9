#include "app/batch/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "app/batch/sources.h"
#include "app/options.h"
#include "lib/options/methods.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

const char* verb_of(BatchTask task) {
  return task == BatchTask::Check ? "check" : task == BatchTask::Verify ? "verify" : "convert";
}

// Where a model's output goes inside the output folder.
fs::path output_of(const BatchLine& line, const Source& s) {
  if (!s.output.empty()) return fs::path(s.output).lexically_normal();
  fs::path below = s.below.lexically_normal();
  if (!line.mirror.value_or(s.in_folder)) below = below.filename();
  fs::path inside;
  for (const fs::path& part : below)
    if (part != ".." && !part.is_absolute()) inside /= part;
  return inside.replace_extension(".onnx");
}

uint64_t bytes_of(const std::string& model) {
  struct stat s {};
  return stat(model.c_str(), &s) == 0 ? static_cast<uint64_t>(s.st_size) : 0;
}

// The files that a model's conversion writes: of several methods each has one.
Strings outputs_of(const BatchLine& line, const Item& item) {
  const auto of_method = [](const std::string& word) { return word.starts_with("--method"); };
  if (std::ranges::none_of(item.words, of_method) && std::ranges::none_of(line.words, of_method))
    return {item.id};
  Strings all;
  const CommandLine c = parse_command_line(command_of(line, item, false));
  for (const Options& o : c.methods)
    all.push_back(fs::path(o.output).lexically_relative(line.output).string());
  return all;
}

void refuse_duplicates(const BatchLine& line, const std::vector<Item>& items) {
  std::map<std::string, std::string> writers;
  for (const Item& item : items)
    for (const std::string& output : outputs_of(line, item)) {
      const auto [at, fresh] = writers.emplace(output, item.model);
      if (!fresh)
        throw Failure(
            ExitCode::Usage, "OE0732",
            "'" + at->second + "' and '" + item.model + "' would both write '" + output + "'",
            "keep their folders with --mirror, or specify the outputs in a --manifest");
    }
}

// The largest first, each to the part that has the least: every part finds the same.
std::vector<Item> part_of(std::vector<Item> all, std::pair<size_t, size_t> shard) {
  const auto [number, count] = shard;
  if (count == 1) return all;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(all[b].bytes, all[a].id) < std::pair(all[a].bytes, all[b].id);
  });
  std::vector<uint64_t> load(count);
  std::vector<bool> ours(all.size());
  // A file costs something beside its bytes.
  constexpr uint64_t kEach = 1 << 20;
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(load);
    *least += all[i].bytes + kEach;
    ours[i] = static_cast<size_t>(least - load.begin()) + 1 == number;
  }
  std::vector<Item> part;
  for (size_t i = 0; i < all.size(); ++i)
    if (ours[i]) part.push_back(std::move(all[i]));
  return part;
}

}  // namespace

void check_words(const Strings& words, BatchTask task) {
  static std::set<std::pair<Strings, BatchTask>> good;
  if (task == BatchTask::Inspect || good.contains({words, task})) return;
  static const Strings of_the_batch = {"--output", "--force",    "--json",     "--dry-run",
                                       "--quiet",  "--progress", "--log-file", "--diag-format"};
  Strings line = {verb_of(task)};
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with("-o") || std::ranges::find(of_the_batch, name) != of_the_batch.end())
      usage(name + ": belongs to the batch, not to one of its models");
    line.push_back(word);
  }
  line.insert(line.end(), {"--", "model.pt"});
  if (task == BatchTask::Verify) line.push_back("model.onnx");
  parse_command_line(line);
  good.insert({words, task});
}

std::string page_of(const BatchLine& line, const std::string& id) {
  return (fs::path(line.pages) / (id + ".html")).string();
}

Strings command_of(const BatchLine& line, const Item& item, bool force) {
  if (line.task == BatchTask::Inspect) return {"--json", "--", item.model};
  Strings words = {verb_of(line.task)};
  words.insert(words.end(), line.words.begin(), line.words.end());
  words.insert(words.end(), item.words.begin(), item.words.end());
  if (line.task == BatchTask::Convert)
    words.push_back("--output=" + (fs::path(line.output) / item.id).string());
  if (!line.pages.empty()) words.push_back("--report=" + page_of(line, item.id));
  if (force) words.push_back("--force");
  words.insert(words.end(), {"--quiet", "--json", "--", item.model});
  if (line.task == BatchTask::Verify) words.push_back(item.file);
  return words;
}

std::vector<Item> plan(const BatchLine& line) {
  check_words(line.words, line.task);
  const std::vector<Source> sources = find_sources(line);
  const std::regex filter(line.filter, std::regex::extended);
  std::vector<Item> items;
  std::map<std::string, std::pair<std::string, Strings>> known;  // by id: model and words
  for (const Source& s : sources) {
    if (!line.filter.empty() && !std::regex_search(s.model, filter)) continue;
    const fs::path output = output_of(line, s);
    Item item{s.model, {}, {}, s.words, bytes_of(s.model), s.found};
    item.id = line.task == BatchTask::Convert ? output.string() : s.model;
    if (line.task == BatchTask::Verify) item.file = (fs::path(line.verify_files) / output).string();
    if (line.sidecars)
      for (std::string& word : sidecar_words(s.model, line.task)) item.words.push_back(word);
    // A file that two sources lead to is one model.
    const auto [at, fresh] = known.emplace(item.id, std::pair(item.model, item.words));
    if (!fresh && at->second.second == item.words &&
        fs::path(at->second.first).lexically_normal() == fs::path(item.model).lexically_normal())
      continue;
    items.push_back(std::move(item));
  }
  if (items.empty())
    throw Failure(ExitCode::Unreadable, "OE0731", "no model's path matches --filter " + line.filter,
                  "run --dry-run without --filter to list all paths");
  if (line.task == BatchTask::Convert) refuse_duplicates(line, items);
  return part_of(std::move(items), line.shard);
}

}  // namespace oe::app
