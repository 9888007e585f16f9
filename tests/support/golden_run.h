// A file of golden cases: which of its cases run, and how.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/golden_case.h"

namespace oe::golden {

// The command line of golden_tests.
struct Arguments {
  std::vector<std::string> paths;
  std::string filter, python, opsets, ort_lib;
  std::filesystem::path work;  // of this run: models made by Python, results of children
  int jobs = 1;
  unsigned seconds = 600;  // for one case
  size_t from = 0;         // a child that takes up a file behind a crash
  std::string results;     // a child writes what it did here
  std::string report;      // JSON: what came of every case
  bool bless = false;
  bool allow_refusals = false;
  bool scaled = false;             // count nodes at four times the sizes, and nothing else
  std::string optimize, disabled;  // level and passes left out, as on the command line
  std::string also_levels;         // opsets at which the other levels run as well
  int alone = 0;                   // percent that have to pass with inputs that are found
  std::string known;               // file: cases that fail, which do not run
  std::string device = "cpu";      // where LibTorch runs the cases
};

struct Totals {
  size_t passed = 0, failed = 0, skipped = 0;
  size_t unscaled = 0;     // cases that run at no other size
  std::vector<Seen> seen;  // by each case
  nlohmann::json cases = nlohmann::json::array();
};

// Messages quote what a program printed: not all of it has to be UTF-8.
constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

// A case in a report.
nlohmann::json report_of(const std::filesystem::path& file, const Case& c, const Outcome& o);
// FILE:LINE: NAME
std::string label(const std::filesystem::path& file, const Case& c);
// As --known names it: without its line.
std::string lineless_label(const std::filesystem::path& file, const std::string& name);
bool wanted(const Arguments& a, const std::filesystem::path& file, const Case& c);
// The command that runs this case alone, in the same way.
std::string how_to_repeat(const Arguments& a, const std::filesystem::path& file, const Case& c);
// Where the modules of a file's `-- python` cases lie.
std::filesystem::path made_folder(const Arguments& a, const std::filesystem::path& file);

// Runs the cases of a file from Arguments::from on. Writes to Arguments::results as it goes: what
// it is at, what came of it, what it reached.
Totals run_file(const Arguments& a, const std::filesystem::path& file);

}  // namespace oe::golden
