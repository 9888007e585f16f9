#include "lib/archive/code.h"

#include <algorithm>
#include <string_view>

#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

constexpr std::string_view kOpensFiles[] = {"torch.from_file(", "torch.save(",
                                            "ops.aten.from_file(", "ops.aten.save("};

class Checker {
 public:
  Checker(const Archive& archive, const Record& record)
      : archive_(archive), record_(record), text_(archive.read(record)) {}

  void run() const {
    check_brackets();
    for (const std::string_view call : kOpensFiles)
      if (const size_t at = text_.find(call); at != std::string::npos)
        fail("calls " + std::string(call.substr(0, call.size() - 1)) + ", which opens files", at);
  }

 private:
  [[noreturn]] void fail(const std::string& what, size_t at) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at), '\n');
    throw Failure(ExitCode::Refused, "OE0118",
                  safe_line(archive_.path().string() + ": record " + record_.name + " (line " +
                            std::to_string(line) + ") " + what),
                  "a model computes; what it needs belongs into its weights and inputs");
  }

  // The end of the text or comment that begins at `at`; `at` where none does.
  size_t skip(size_t at) const {
    if (text_[at] == '#') return std::min(text_.find('\n', at), text_.size());
    if (text_[at] != '"' && text_[at] != '\'') return at;
    const char quote = text_[at];
    for (++at; at < text_.size() && text_[at] != quote; ++at)
      if (text_[at] == '\\') ++at;
    return std::min(at, text_.size());
  }

  void check_brackets() const {
    size_t depth = 0;
    for (size_t at = 0; at < text_.size(); ++at) {
      at = skip(at);
      if (at == text_.size()) break;
      const char c = text_[at];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (depth > kDeepestCode)
        fail("nests brackets deeper than " + std::to_string(kDeepestCode), at);
      if (c != ')' && c != ']' && c != '}') continue;
      if (depth == 0) fail("closes a bracket that it did not open", at);
      --depth;
    }
    if (depth > 0) fail("leaves a bracket open", text_.size());
  }

  const Archive& archive_;
  const Record& record_;
  const std::string text_;
};

}  // namespace

void check_code(const Archive& archive) {
  for (const Record& r : archive.records())
    if ((r.name.starts_with("code/") || r.name.starts_with("libs/") || r.name == "libs.py") &&
        r.name.ends_with(".py"))
      Checker(archive, r).run();
}

}  // namespace oe::archive
