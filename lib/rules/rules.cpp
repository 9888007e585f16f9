// Reading rule files.
#include "lib/rules/rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/text.h"

namespace oe::rules {
namespace {

constexpr std::string_view kBlanks = " \t";

// The text of one file, with the place that is read.
class Reader {
 public:
  Reader(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {}

  bool at_end() const { return at_ >= text_.size(); }
  Place place() const { return {file_, line()}; }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    const size_t begin = text_.rfind('\n', at_ == 0 ? 0 : at_ - 1);
    const size_t column = begin == std::string::npos || at_ == 0 ? at_ : at_ - begin - 1;
    throw Failure(
        ExitCode::Usage, "OE0230",
        file_ + ":" + std::to_string(line()) + ":" + std::to_string(column + 1) + ": " + what,
        hint);
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  // Blank lines and comments too.
  void skip_lines() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (at_end() || text_[at_] != '#') return;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  // Letters, digits and what `more` has.
  std::string word(std::string_view more) {
    skip_blanks();
    const size_t begin = at_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                         more.find(text_[at_]) != std::string_view::npos))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string rest_of_line() {
    skip_blanks();
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string out = text_.substr(at_, end - at_);
    at_ = end;
    return out;
  }
  void end_line() {
    if (const std::string rest = rest_of_line(); !strip(rest).empty() && !rest.starts_with('#')) {
      at_ -= rest.size();
      fail("unexpected '" + rest + "'");
    }
  }
  // From a brace to the one that closes it, with what makes its positions the file's.
  std::string block() {
    skip_lines();
    if (at_end() || text_[at_] != '{') fail("'{' is expected: the body in ONNX's text syntax");
    const size_t open = at_;
    bool quoted = false, comment = false;
    for (int depth = 0; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') comment = false;
      if (comment) continue;
      if (c == '"' && (at_ == 0 || text_[at_ - 1] != '\\')) quoted = !quoted;
      if (quoted) continue;
      comment = c == '#';
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (depth == 0) {
        ++at_;
        return positioned(open);
      }
    }
    at_ = open;
    fail("this '{' is not closed");
  }
  // The indented lines that follow.
  std::string indented() {
    end_line();
    const size_t begin = at_;
    while (!at_end()) {
      const size_t next = at_ + 1, end = std::min(text_.find('\n', next), text_.size());
      if (next >= text_.size()) break;
      const bool blank = strip(std::string_view(text_).substr(next, end - next)).empty();
      if (!blank && kBlanks.find(text_[next]) == std::string_view::npos) break;
      at_ = end;
    }
    if (strip(std::string_view(text_).substr(begin, at_ - begin)).empty())
      fail("indented TorchScript is expected on the lines that follow");
    return dedented(positioned(begin)) + "\n";
  }

 private:
  int line() const {
    return 1 + static_cast<int>(std::count(text_.begin(),
                                           text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }
  // Without the blanks that all lines begin with.
  static std::string dedented(const std::string& text) {
    size_t least = std::string::npos;
    const std::vector<std::string> lines = split(text, '\n');
    for (const std::string& line : lines)
      if (!strip(line).empty()) least = std::min(least, line.find_first_not_of(kBlanks));
    std::vector<std::string> out;
    for (const std::string& line : lines) out.push_back(line.substr(std::min(least, line.size())));
    return join(out, "\n");
  }
  // What stands from `begin` to here, after as many lines and blanks as the file has before it.
  std::string positioned(size_t begin) const {
    std::string out;
    size_t line = 0;
    for (size_t i = 0; i < begin; ++i)
      if (text_[i] == '\n') {
        out += '\n';
        line = i + 1;
      }
    out.append(begin - line, ' ');
    return out + text_.substr(begin, at_ - begin);
  }

  std::string text_, file_;
  size_t at_ = 0;
};

std::vector<std::string> names(Reader& r) {
  if (!r.take("(")) r.fail("'(' is expected");
  std::vector<std::string> out;
  if (r.take(")")) return out;
  do {
    out.push_back(r.word("_"));
    if (out.back().empty()) r.fail("a name is expected");
    if (std::count(out.begin(), out.end(), out.back()) > 1)
      r.fail("the name '" + out.back() + "' occurs twice");
  } while (r.take(","));
  if (!r.take(")")) r.fail("',' or ')' is expected");
  return out;
}

int64_t whole(Reader& r, const char* what) {
  const std::string digits = r.word("");
  int64_t v = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  if (error != std::errc() || end != digits.data() + digits.size() || v < 1)
    r.fail(std::string(what) + " is expected, not '" + digits + "'");
  return v;
}

void read_nodes(Reader& r, NodesRule rule, Rules& to) {
  rule.parameters = names(r);
  if (!r.take("=>")) r.fail("'=>' and the results are expected");
  rule.results = names(r);
  if (rule.results.empty()) r.fail("a rule must have a result");
  if (!r.take("opset")) r.fail("'opset N' is expected");
  rule.opset = whole(r, "an opset");
  if (r.take("function")) {
    rule.domain = r.word("._-");
    const size_t dot = rule.domain.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == rule.domain.size())
      r.fail("the function's domain and name are expected, as in my.domain.Selu");
    if (r.take(":")) rule.version = whole(r, "a version");
  }
  r.end_line();
  rule.body = r.block();
  for (const NodesRule& other : to.nodes)
    if (other.op == rule.op && other.opset == rule.opset)
      r.fail("there are two rules for " + rule.op + " at opset " + std::to_string(rule.opset) +
             ", the other at " + other.place.file + ":" + std::to_string(other.place.line));
  to.nodes.push_back(std::move(rule));
}

void read_schema(Reader& r, Rules& to) {
  Schema s;
  s.place = r.place();
  const std::string line = r.rest_of_line();
  const size_t open = line.find('('), arrow = line.find("->");
  const size_t equals = arrow == std::string::npos ? arrow : line.find('=', arrow);
  s.op = strip(line.substr(0, open));
  if (open == std::string::npos || arrow == std::string::npos ||
      s.op.find("::") == std::string::npos)
    r.fail("a schema is expected, as in lib::op(Tensor x, int n) -> Tensor = torch.empty_like(x)");
  if (equals == std::string::npos || strip(line.substr(equals + 1)).empty())
    r.fail("the schema of " + s.op +
               " lacks '= EXPRESSION', which defines the sizes and types of the results",
           "as in lib::op(Tensor x, int n) -> Tensor = torch.empty_like(x)");
  s.text = strip(line.substr(0, equals));
  s.expression = strip(line.substr(equals + 1));
  to.schemas.push_back(std::move(s));
}

void read_entry(Reader& r, Rules& to) {
  const Place place = r.place();
  const std::string op = r.word("_:.");
  if (op == "schema") return read_schema(r, to);
  const size_t colons = op.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == op.size())
    r.fail("an operator is expected, as in aten::selu or lib::op, not '" + op + "'");
  if (!r.take("torchscript")) return read_nodes(r, {op, {}, {}, 0, {}, 1, {}, place}, to);
  to.scripts.push_back({op, r.indented(), place});
}

std::string content(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw Failure(ExitCode::Usage, "OE0230", file + ": is a directory");
  try {
    return read_whole_file(file);
  } catch (const std::exception& e) {
    throw Failure(ExitCode::Usage, "OE0230", file + ": " + e.what());
  }
}

std::string_view base(std::string_view op) {
  return op.substr(0, op.find('.', op.find("::") == std::string_view::npos ? 0 : op.find("::")));
}

}  // namespace

const NodesRule* Rules::find(std::string_view op, int64_t opset) const {
  const NodesRule* best = nullptr;
  for (const NodesRule& rule : nodes) {
    if (rule.opset > opset || (rule.op != op && rule.op != base(op))) continue;
    const auto rank = [&](const NodesRule& r) { return std::pair(r.op == op, r.opset); };
    if (!best || rank(rule) > rank(*best)) best = &rule;
  }
  return best;
}

Rules read(const std::vector<std::string>& files, const std::vector<std::string>& schemas) {
  Rules rules;
  for (const std::string& file : files) {
    Reader r(content(file), file);
    for (r.skip_lines(); !r.at_end(); r.skip_lines()) read_entry(r, rules);
  }
  for (const std::string& text : schemas) {
    const bool in_file = text.starts_with('@');
    Reader r(in_file ? content(text.substr(1)) : text,
             in_file ? text.substr(1) : "--custom-schema");
    for (r.skip_lines(); !r.at_end(); r.skip_lines()) {
      r.take("schema ");
      read_schema(r, rules);
    }
  }
  return rules;
}

}  // namespace oe::rules
