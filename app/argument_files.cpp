// Arguments that stand in files: @FILE in their place, --config FILE before all others.
#include "app/argument_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/arguments.h"
#include "lib/support/files.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

// Options whose own value may begin with '@'.
bool takes_a_file(const std::string& option) {
  return option == "--dynamic-axes" || option == "--custom-schema";
}

// The words of a file, as a shell reads them. Throws Failure(Usage).
Strings words_of(const std::string& text, const std::string& path) {
  Strings words;
  std::optional<std::string> word;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (quote ? c == quote : (c == '"' || c == '\'')) {
      quote = quote ? 0 : c;
      word = word.value_or("");
    } else if (escapes && (!quote || text[i + 1] == '"' || text[i + 1] == '\\')) {
      if (text[++i] != '\n') word = word.value_or("") + text[i];
    } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else if (!quote && c == '#' && !word) {
      i = std::min(text.find('\n', i), text.size());
    } else {
      word = word.value_or("") + c;
    }
  }
  if (quote) usage(path + ": a quote is not closed");
  if (word) words.push_back(*word);
  return words;
}

class Expansion {
 public:
  void add(const Strings& arguments, const fs::path& folder) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& a = arguments[i];
      if (a == "--") {
        to().insert(to().end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.end());
        return;
      }
      if (a == "--config") {
        if (i + 1 == arguments.size()) usage("--config: no FILE given");
        add_config(arguments[++i], folder);
      } else if (a.starts_with("--config=")) {
        add_config(a.substr(std::string_view("--config=").size()), folder);
      } else if (a.size() > 1 && a[0] == '@' && (i == 0 || !takes_a_file(arguments[i - 1]))) {
        add_file(a.substr(1), folder);
      } else {
        to().push_back(a);
      }
    }
  }
  // The verb stays the first word.
  Strings result() && {
    const bool verb = !own_.empty() && !own_[0].starts_with('-');
    own_.insert(own_.begin() + (verb ? 1 : 0), configured_.begin(), configured_.end());
    return std::move(own_);
  }

 private:
  Strings& to() { return in_config_ ? configured_ : own_; }
  void add_config(const std::string& path, const fs::path& folder) {
    const bool before = std::exchange(in_config_, true);
    add_file(path, folder);
    in_config_ = before;
  }
  void add_file(const std::string& path, const fs::path& folder) {
    constexpr int most = 16;
    const fs::path file = folder / path;
    if (++depth_ > most) usage(file.string() + ": argument files include each other in a cycle");
    std::string text;
    try {
      text = read_whole_file(file);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      usage(file.string() + ": cannot be read: " + e.what(),
            "@FILE and --config FILE specify argument files");
    }
    add(words_of(text, file.string()), file.parent_path());
    --depth_;
  }

  Strings own_, configured_;
  bool in_config_ = false;
  int depth_ = 0;
};

}  // namespace

Strings with_files(const Strings& arguments) {
  Expansion e;
  e.add(arguments, {});
  return std::move(e).result();
}

}  // namespace oe::app
