#include "lib/archive/code.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/archive/model_json.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Blanks of LibTorch's lexer, which measures an indent in them.
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// The depth of an expression is at most what its operators and brackets add up to. A separator
// begins another expression beside it.
class Expressions {
 public:
  // Throws BadCode.
  void add(size_t at, size_t depth = 1) {
    levels_.back().sum += depth;
    total_ += depth;
    require(total_, at);
  }
  void open(size_t at) {
    add(at);
    levels_.emplace_back();
  }
  void close(size_t at) {
    if (levels_.size() == 1) throw BadCode("closes a bracket that it did not open", at);
    separate();
    const size_t inside = levels_.back().most;
    levels_.pop_back();
    levels_.back().sum += inside;
    total_ += inside;
    require(total_, at);
  }
  void separate() {
    Level& l = levels_.back();
    l.most = std::max(l.most, l.sum);
    total_ -= l.sum;
    l.sum = 0;
  }
  void end_statement() { levels_.back() = {}, total_ = 0; }
  bool open() const { return levels_.size() > 1; }

 private:
  struct Level {
    size_t sum = 0;   // of the expression that is being read
    size_t most = 0;  // of those before it
  };
  static void require(size_t depth, size_t at) {
    if (depth > kDeepestCode)
      throw BadCode("nests expressions deeper than " + std::to_string(kDeepestCode), at);
  }
  std::vector<Level> levels_{1};
  size_t total_ = 0;  // of the sums of all levels
};

// Blocks by their indents, and the `elif` of each, which nest too.
class Blocks {
 public:
  // A statement that begins with `word`, indented by `indent`.
  void begin(size_t indent, std::string_view word, size_t at) {
    while (levels_.size() > 1 && levels_.back().indent > indent) {
      depth_ -= 1 + levels_.back().elifs;
      levels_.pop_back();
    }
    if (indent > levels_.back().indent) {
      levels_.push_back({indent, 0});
      ++depth_;
    }
    Level& l = levels_.back();
    if (word == "elif") {
      ++l.elifs;
      ++depth_;
    } else if (word != "else") {
      depth_ -= l.elifs;
      l.elifs = 0;
    }
    if (depth_ > kDeepestBlocks)
      throw BadCode("nests blocks deeper than " + std::to_string(kDeepestBlocks), at);
  }

 private:
  struct Level {
    size_t indent, elifs;
  };
  std::vector<Level> levels_{{0, 0}};
  size_t depth_ = 0;
};

class Checker {
 public:
  explicit Checker(std::string_view text) : text_(text) {}

  void run() {
    size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '\n' && !expressions_.open()) {
        begins_ = true;
        indent_.reset();
        line_ = at + 1;
        expressions_.end_statement();
      }
      // An indent ends where its line goes on in the next one.
      if (c == '\\' && begins_ && !indent_) indent_ = at - line_;
      if (c == '\n' || blank(c) || (c == '\\' && at + 1 < text_.size() && text_[at + 1] == '\n'))
        at += c == '\\' ? 2 : 1;
      else if (c == '#' && text_.substr(at, kTypeComment.size()) != kTypeComment)
        at = std::min(text_.find('\n', at), text_.size());
      else
        at = token(at);
    }
    if (expressions_.open()) throw BadCode("leaves a bracket open", text_.size());
  }

 private:
  // A comment that LibTorch reads.
  static constexpr std::string_view kTypeComment = "# type:";

  size_t token(size_t at) {
    const char c = text_[at];
    size_t end = at + 1;
    const auto read_word = [&] {
      while (end < text_.size() && word_char(text_[end])) ++end;
    };
    if (word_char(c)) read_word();
    if (std::isdigit(static_cast<unsigned char>(c)) && text_.substr(end, 1) == ".") {
      ++end;  // of a number
      read_word();
    }
    const std::string_view word = text_.substr(at, end - at);
    if (begins_) blocks_.begin(indent_.value_or(at - line_), word, at);
    begins_ = false;
    if (word_char(c)) {
      for (const char* op : {"and", "or", "not", "in", "is", "if", "else"})
        if (word == op) expressions_.add(at);
      // A list comprehension is a loop, and nests as blocks do.
      if (word == "for") expressions_.add(at, kDeepestCode / kDeepestBlocks);
    } else if (c == '"' || c == '\'') {
      return end_of_string(at);
    } else if (c == '(' || c == '[' || c == '{') {
      expressions_.open(at);
    } else if (c == ')' || c == ']' || c == '}') {
      expressions_.close(at);
    } else if (c == ',' || c == ':' || (c == '=' && text_.substr(end, 1) != "=")) {
      expressions_.separate();
    } else {
      expressions_.add(at);
      if (text_.substr(end, 1) == "=") ++end;  // == <= >= != +=
    }
    return end;
  }

  // Behind the string that begins at `at`, in one or in three quotes.
  size_t end_of_string(size_t at) const {
    const std::string_view rest = text_.substr(at);
    const std::string three(3, rest[0]);
    const std::string quote = rest.starts_with(three) ? three : three.substr(0, 1);
    for (size_t i = quote.size(); i < rest.size(); ++i) {
      if (rest.substr(i).starts_with(quote)) return at + i + quote.size();
      if (rest[i] == '\n' && quote.size() == 1) break;
      if (rest[i] == '\\') ++i;
    }
    throw BadCode("has a string without an end", at);
  }

  const std::string_view text_;
  Expressions expressions_;
  Blocks blocks_;
  bool begins_ = true;  // a statement
  size_t line_ = 0;     // where its line begins
  std::optional<size_t> indent_;
};

// The records that a module tree names.
void add_code_records(const LegacyModule& m, std::set<std::string>& names) {
  if (!m.code.empty()) names.insert(m.code);
  for (const LegacyModule& s : m.submodules) add_code_records(s, names);
}

std::set<std::string> code_records(const Archive& archive) {
  std::set<std::string> names;
  for (const Record& r : archive.records())
    if ((r.name.starts_with("code/") || r.name.starts_with("libs/") || r.name == "libs.py") &&
        r.name.ends_with(".py"))
      names.insert(r.name);
  if (const auto legacy = read_legacy_model(archive)) add_code_records(legacy->main, names);
  return names;
}

[[noreturn]] void fail(const Archive& archive, const Record& r, const std::string& what) {
  throw Failure(ExitCode::Refused, "OE0118",
                safe_line(archive.path().string() + ": record " + r.name + " " + what),
                "save the model again; code that PyTorch writes stays far below this limit");
}

}  // namespace

void check_code_text(std::string_view text) { Checker(text).run(); }

void check_code(const Archive& archive) {
  uint64_t size = 0;
  for (const std::string& name : code_records(archive)) {
    const Record& r = *archive.find(name);
    size += r.size;
    if (r.size > kLargestCode || size > kMostCode)
      fail(archive, r,
           "contains too much code: the limits are " + std::to_string(kLargestCode >> 20) +
               " MiB in one record and " + std::to_string(kMostCode >> 20) + " MiB in all");
    const std::string text = archive.read(r);
    try {
      check_code_text(text);
    } catch (const BadCode& e) {
      const auto line =
          1 + std::count(text.begin(), text.begin() + static_cast<long>(e.offset), '\n');
      fail(archive, r, "(line " + std::to_string(line) + ") " + e.what());
    }
  }
}

}  // namespace oe::archive
