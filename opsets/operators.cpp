// What becomes of every operator: the lines of opsets/operators.tsv.
#include "opsets/operators.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace oe::opsets {

extern const char* const kOperatorTable;  // made by CMake of the files
extern const char* const kDerivativeTable;

namespace {

// Takes what stands before the separator off the text.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

int64_t number(std::string_view text) {
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

OperatorFacts read(std::string_view line) {
  OperatorFacts f;
  f.name = take(line, '\t');
  f.signature = take(line, '\t');
  f.kind = take(line, '\t');
  f.since = number(take(line, '\t'));
  f.every_since = number(take(line, '\t'));
  for (std::string_view ranges = take(line, '\t'); !ranges.empty();) {
    std::string_view range = take(ranges, ';');
    const int64_t first = number(take(range, '-'));
    const int64_t last = number(take(range, ' '));
    f.becomes.push_back({first, last, range});
  }
  f.refused = line;
  return f;
}

}  // namespace

const std::vector<OperatorFacts>& operators() {
  static const std::vector<OperatorFacts> all = [] {
    std::vector<OperatorFacts> made;
    for (std::string_view rest = kOperatorTable; !rest.empty();)
      made.push_back(read(take(rest, '\n')));
    return made;
  }();
  return all;
}

const std::vector<DerivativeFacts>& derivatives() {
  static const std::vector<DerivativeFacts> all = [] {
    std::vector<DerivativeFacts> made;
    for (std::string_view rest = kDerivativeTable; !rest.empty();) {
      std::string_view line = take(rest, '\n');
      const std::string_view name = take(line, '\t'), kind = take(line, '\t');
      made.push_back({name, kind, line});
    }
    return made;
  }();
  return all;
}

std::string_view operator_name(std::string_view overload) {
  return overload.substr(0, overload.find('.'));
}

}  // namespace oe::opsets
