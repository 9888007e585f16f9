#include "app/batch/sources.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <system_error>

#include "app/argument_files.h"
#include "app/json.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array kEndings = {".pt", ".pth", ".ts", ".jit", ".ptl", ".torchscript"};

[[noreturn]] void no_model(const std::string& source, const std::string& why,
                           const std::string& hint) {
  throw Failure(ExitCode::Unreadable, "OE0731", source + ": " + why, hint);
}

bool is_named_as_model(const fs::path& path) {
  return std::ranges::find(kEndings, lowered(path.extension().native())) != kEndings.end();
}

// Each folder once, however many links lead to it.
class Search {
 public:
  explicit Search(const fs::path& top) : top_(top) {}
  std::vector<Source> run() && {
    search(top_, {});
    return std::move(all_);
  }

 private:
  void search(const fs::path& folder, const fs::path& below) {
    struct stat s {};
    if (stat(folder.c_str(), &s) != 0 || !seen_.emplace(s.st_dev, s.st_ino).second) return;
    std::vector<fs::path> names;
    std::error_code error;
    for (const fs::directory_entry& e : fs::directory_iterator(folder, error))
      names.push_back(e.path().filename());
    if (error) no_model(folder.string(), error.message(), "make the folder readable");
    std::ranges::sort(names);
    for (const fs::path& name : names) {
      const fs::path path = folder / name;
      if (fs::is_directory(path, error)) {
        search(path, below / name);
      } else if (is_named_as_model(name)) {
        all_.push_back({path.string(), below / name, true, true, {}, {}});
      }
    }
  }

  const fs::path& top_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<Source> all_;
};

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> all;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    all.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return all;
}

void add_source(const std::string& source, std::vector<Source>& all) {
  std::error_code error;
  if (fs::is_directory(source, error)) {
    std::vector<Source> inside = Search(source).run();
    if (inside.empty())
      no_model(source, "no file in the folder has the extension of a model",
               "models have the extensions .pt, .pth, .ts, .jit, .ptl or .torchscript; specify "
               "any other file itself");
    std::ranges::move(inside, std::back_inserter(all));
    return;
  }
  if (fs::exists(fs::symlink_status(source, error))) {
    all.push_back({source, source, false, false, {}, {}});
    return;
  }
  if (source.find_first_of("*?[") == std::string::npos)
    no_model(source, "no such file or folder", "");
  const std::vector<std::string> found = matches(source);
  if (found.empty()) no_model(source, "the pattern matches no file", "");
  for (const std::string& path : found)
    if (!fs::is_directory(path, error)) all.push_back({path, path, false, true, {}, {}});
}

std::vector<std::string> lines_of(const std::string& path) {
  std::string text;
  try {
    text = read_whole_file(path);
  } catch (const std::system_error& e) {
    no_model(path, "cannot be read: " + std::string(e.code().message()), "");
  }
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// One line of a manifest.
class Entry {
 public:
  Entry(const std::string& path, size_t line, const std::string& text)
      : where_(path + ":" + std::to_string(line)) {
    json_ = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) wrong("is not a JSON object");
  }

  Source source(const fs::path& folder) const {
    static const Strings known = {"model", "inputs", "options", "output"};
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(known, key) == known.end())
        wrong("unknown member '" + key + "'", did_you_mean(key, known));
    Source s;
    const fs::path model = text("model");
    if (model.empty()) wrong("has no 'model'");
    s.model = (model.is_absolute() ? model : folder / model).lexically_normal().string();
    s.below = model.is_absolute() ? model.filename() : model;
    struct stat status {};
    if (stat(s.model.c_str(), &status) != 0) wrong("'model': " + s.model + ": no such file");
    s.output = text("output");
    const fs::path output = fs::path(s.output).lexically_normal();
    if (output.is_absolute() || (!output.empty() && *output.begin() == ".."))
      wrong("'output': '" + s.output + "' is not inside the output folder");
    for (const std::string& input : list("inputs")) s.words.push_back("--input=" + input);
    std::ranges::copy(list("options"), std::back_inserter(s.words));
    return s;
  }

  [[noreturn]] void wrong(const std::string& what, const std::string& hint = {}) const {
    throw Failure(ExitCode::Usage, "OE0733", where_ + ": " + what,
                  hint.empty() ? "docs/schema/manifest.schema.json describes a line" : hint);
  }

 private:
  std::string text(const char* key) const {
    if (!json_.contains(key)) return {};
    if (!json_[key].is_string()) wrong("'" + std::string(key) + "' is not a string");
    return json_[key];
  }
  Strings list(const char* key) const {
    if (!json_.contains(key)) return {};
    const ordered_json& j = json_[key];
    const bool texts =
        j.is_array() && std::ranges::all_of(j, [](const ordered_json& e) { return e.is_string(); });
    if (!texts) wrong("'" + std::string(key) + "' is not a list of strings");
    return j.get<Strings>();
  }

  std::string where_;
  ordered_json json_;
};

}  // namespace

std::vector<Source> read_manifest(const std::string& path, BatchTask task) {
  std::vector<Source> all;
  const std::vector<std::string> lines = lines_of(path);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (strip(lines[i]).empty()) continue;
    const Entry entry(path, i + 1, lines[i]);
    all.push_back(entry.source(fs::path(path).parent_path()));
    try {
      check_words(all.back().words, task);
    } catch (const Failure& f) {
      entry.wrong("'options': " + std::string(f.what()), f.hint);
    }
  }
  if (all.empty()) no_model(path, "the manifest has no model", "");
  return all;
}

std::vector<Source> find_sources(const BatchLine& line) {
  std::vector<Source> all;
  for (const std::string& source : line.sources) add_source(source, all);
  if (!line.list.empty()) {
    const std::vector<std::string> paths = lines_of(line.list);
    for (const std::string& path : paths)
      if (!path.empty()) add_source(path, all);
    if (paths.empty()) no_model(line.list, "the list is empty", "");
  }
  if (!line.manifest.empty())
    std::ranges::move(read_manifest(line.manifest, line.task), std::back_inserter(all));
  return all;
}

Strings sidecar_words(const std::string& model, BatchTask task) {
  const fs::path path = fs::path(model).replace_extension(".onnx-export");
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const Strings words = with_files({"--config", path.string()});
  try {
    check_words(words, task);
  } catch (const Failure& f) {
    throw Failure(f.exit_code, f.diagnostic_code, path.string() + ": " + f.what(), f.hint);
  }
  return words;
}

}  // namespace oe::app
