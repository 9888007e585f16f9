// Golden cases: what the sections of tests/ops and tests/semantics say (tests/ops/README.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/case_file.h"

namespace oe::golden {

struct OpsetRange {
  int64_t low = 0, high = 1000;
  bool holds(int64_t opset) const { return opset >= low && opset <= high; }
};

struct ExpectedError {
  OpsetRange opsets;
  std::string text;  // the message contains it
  size_t line = 0;   // of the file, 0-based
};

struct Pinned {
  int64_t opset = 0;
  tests::Section section;
};

struct Case {
  std::string name;
  size_t line = 0;  // of its heading, 1-based
  size_t end = 0;   // behind its last line that is not blank, 0-based
  std::string source;
  bool python = false;
  std::vector<std::string> inputs;             // SPECs
  std::string dynamic;                         // --dynamic-axes
  std::vector<std::vector<std::string>> also;  // runs, each a list of SPECs
  // Attributes of the module in the order they were written.
  struct Member {
    enum class Kind { Parameter, Buffer, Attribute };
    Kind kind;
    std::string name;  // may be dotted
    std::string spec;  // a SPEC without name, or JSON for an attribute
  };
  std::vector<Member> members;
  std::vector<Pinned> pinned;
  std::vector<ExpectedError> errors;
  std::vector<OpsetRange> no_ort;
  OpsetRange opsets;  // at which it runs
  double atol = -1, rtol = -1;
  bool seeds = true;
  std::string mode = "auto";
  std::vector<std::string> needs;  // operators that some versions of LibTorch lack
  std::string grows;               // why a larger input has more nodes
  std::string state = "discard";   // what becomes of written state: outputs, io
};

// Throws std::runtime_error with "file:line: what is wrong".
std::vector<Case> parse(const std::filesystem::path& path);

// What a run found in place of what the file expects.
struct Blessing {
  std::vector<std::pair<Pinned, std::string>> pinned;  // section, its new text
  // Cases whose `-- error LOW..HIGH: needs opset N` lines are to be these.
  std::vector<std::pair<Case, std::vector<ExpectedError>>> errors;
  bool empty() const { return pinned.empty() && errors.empty(); }
};
void bless(const std::filesystem::path& path, const Blessing& b);

// Whether scripts/bless writes this line: what the ladder says, not what a person expects.
bool is_generated(const ExpectedError& e);

}  // namespace oe::golden
