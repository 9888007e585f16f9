// Reading and rewriting of golden case files.
#include "tests/support/golden_file.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "lib/support/text.h"

namespace oe::golden {
namespace {

std::string stripped(std::string_view text) { return std::string(strip(text)); }

// "7..15", "..15", "16..", "18"
OpsetRange parse_range(std::string_view text) {
  OpsetRange r;
  const size_t dots = text.find("..");
  const std::string low(text.substr(0, dots));
  if (dots == std::string_view::npos) {
    r.low = r.high = std::stoll(low);
    return r;
  }
  const std::string high(text.substr(dots + 2));
  if (!low.empty()) r.low = std::stoll(low);
  if (!high.empty()) r.high = std::stoll(high);
  return r;
}

// Splits "7..15: text" or ": text" into its range (all opsets when there is none) and its text.
std::pair<OpsetRange, std::string> range_and_text(std::string_view rest) {
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) throw std::runtime_error("expected 'LOW..HIGH: text'");
  const std::string range = stripped(rest.substr(0, colon));
  return {range.empty() ? OpsetRange{} : parse_range(range), stripped(rest.substr(colon + 1))};
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> result;
  for (std::string w; in >> w;) result.push_back(w);
  return result;
}

// "x: 2x3" is written for people; a SPEC has no blank there.
std::string parse_spec_line(std::string_view line) {
  std::string s = stripped(line);
  const size_t equals = s.find('=');
  const size_t colon = s.find(": ");
  if (colon != std::string::npos && (equals == std::string::npos || colon < equals)) {
    s.erase(colon + 1, s.find_first_not_of(' ', colon + 1) - colon - 1);
  }
  // "x:" and "x: @i64 = 1" have no size at all: 0-d.
  const size_t name_end = s.find(':');
  if (name_end != std::string::npos && name_end < s.find('=')) {
    const size_t next = s.find_first_not_of(' ', name_end + 1);
    if (next == std::string::npos || s[next] == '@' || s[next] == '=')
      s.replace(name_end + 1, next == std::string::npos ? next : next - name_end - 1, "scalar");
  }
  // Blanks around '=' are for people too; those inside a JSON value stay.
  const size_t at = s.find('=');
  if (at != std::string::npos) {
    s = stripped(std::string_view(s).substr(0, at)) + "=" +
        stripped(std::string_view(s).substr(at + 1));
  }
  return s;
}

void parse_section(Case& c, const tests::Section& s) {
  const std::string &key = s.name, &rest = s.argument;
  if (key == "inputs") {
    for (const std::string& line : split(s.text, '\n'))
      if (!strip(line).empty()) c.inputs.push_back(parse_spec_line(line));
  } else if (key == "dynamic") {
    c.dynamic = rest;
  } else if (key == "also") {
    for (const std::string& run : split(rest, ';'))
      if (!strip(run).empty()) c.also.push_back(words(run));
  } else if (key == "param" || key == "buffer") {
    const size_t colon = rest.find(':');
    if (colon == std::string::npos) throw std::runtime_error("expected 'NAME: SPEC'");
    c.members.push_back(
        {key == "param" ? Case::Member::Kind::Parameter : Case::Member::Kind::Buffer,
         stripped(rest.substr(0, colon)), parse_spec_line(rest.substr(colon + 1))});
  } else if (key == "attr") {
    const size_t equals = rest.find('=');
    if (equals == std::string::npos) throw std::runtime_error("expected 'NAME = JSON'");
    c.members.push_back({Case::Member::Kind::Attribute, stripped(rest.substr(0, equals)),
                         stripped(rest.substr(equals + 1))});
  } else if (key == "opset") {
    c.pinned.push_back({std::stoll(rest), s});
  } else if (key == "error") {
    auto [range, text] = range_and_text(rest);
    c.errors.push_back({range, text, s.line});
  } else if (key == "no-ort") {
    c.no_ort.push_back(range_and_text(rest).first);
  } else if (key == "opsets") {
    const auto [range, reason] = range_and_text(rest);
    if (reason.empty()) throw std::runtime_error("opsets needs its reason on the same line");
    c.opsets = range;
  } else if (key == "tolerance") {
    const std::vector<std::string> w = words(rest);
    if (w.size() < 2) throw std::runtime_error("a tolerance needs its reason on the same line");
    const std::vector<std::string> numbers = split(w[0], ',');
    c.atol = std::stod(numbers[0]);
    c.rtol = numbers.size() > 1 ? std::stod(numbers[1]) : c.atol;
  } else if (key == "no-seeds") {
    if (rest.empty()) throw std::runtime_error("no-seeds needs its reason on the same line");
    c.seeds = false;
  } else if (key == "needs") {
    const std::vector<std::string> w = words(rest);
    if (w.size() < 2) throw std::runtime_error("needs takes an operator and the reason");
    c.needs.push_back(w[0]);
  } else if (key == "grows") {
    if (rest.empty()) throw std::runtime_error("grows needs its reason on the same line");
    c.grows = rest;
  } else if (key == "mode") {
    c.mode = rest;
  } else if (key == "state") {
    if (rest != "outputs" && rest != "io")
      throw std::runtime_error("expected '-- state outputs' or '-- state io'");
    c.state = rest;
  } else if (key == "python") {
    c.python = true;
  } else {
    throw std::runtime_error("unknown section '-- " + key + "'");
  }
}

}  // namespace

std::vector<Case> parse(const std::filesystem::path& path) {
  const tests::CaseFile file = tests::read_cases(path);
  std::vector<Case> cases;
  for (const tests::TextCase& text : file.cases) {
    Case c;
    c.name = text.name;
    c.line = text.line + 1;
    c.end = text.end;
    c.source = text.body;
    for (const tests::Section& s : text.sections) try {
        parse_section(c, s);
      } catch (const std::exception& e) {
        throw std::runtime_error(file.place(s.line) + ": " + e.what());
      }
    cases.push_back(std::move(c));
  }
  return cases;
}

bool is_generated(const ExpectedError& e) { return e.text.starts_with("needs opset "); }

void bless(const std::filesystem::path& path, const Blessing& b) {
  const tests::CaseFile file = tests::read_cases(path);
  std::vector<tests::Edit> edits;
  for (const auto& [pinned, text] : b.pinned)
    edits.push_back(tests::edit(file, pinned.section, text));
  for (const auto& [c, errors] : b.errors) {
    for (const ExpectedError& e : c.errors)
      if (is_generated(e)) edits.push_back({e.line, e.line + 1, {}});
    const size_t at = c.pinned.empty() ? c.end : c.pinned.front().section.line;
    edits.push_back({at, at, {}});
    for (const ExpectedError& e : errors) {
      const std::string low = e.opsets.low ? std::to_string(e.opsets.low) : "";
      edits.back().lines.push_back("-- error " + low + ".." + std::to_string(e.opsets.high) + ": " +
                                   e.text);
    }
  }
  tests::rewrite(file, std::move(edits));
}

}  // namespace oe::golden
