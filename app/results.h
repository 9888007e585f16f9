// What came of each method that was asked for, and how all of it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/json.h"
#include "app/report.h"
#include "app/sandbox_level.h"
#include "lib/options/options.h"

namespace oe::app {

// The facts that a run begins with.
struct RunFacts {
  std::optional<uint64_t> model_bytes;  // nothing: the file cannot be read
  std::string model_sha256;             // empty: not asked for, or it cannot be read
  std::vector<std::string> options;     // those that decide on the result, as words
  std::string options_sha256;           // of them, and of the files that they name
  double seconds = 0;                   // of the whole run
};

struct Results {
  std::vector<Report> reports;  // one a method, in order; none after the one that ended the run
  std::optional<Stop> stop;     // what ended the run for all of several methods
  std::optional<SandboxLevel> sandbox;  // of the worker; nothing: none was started

  RunFacts facts;

  // What ended the run is told where it belongs: with the only method, or for all of them.
  void end(Stop s, size_t methods);
  ExitCode exit_code() const;  // the first that is a failure
  // Whether files may stay: all of them, or none.
  bool usable() const { return app::usable(exit_code()); }
};

// `methods`: the options of each (CommandLine::methods); there may be fewer reports.

// The problems of each method, the inputs that were found and what ended it, as text; of several
// with a heading. `all`: every place of a problem, and whatever -q says.
std::string problem_text(const Results& r, const std::vector<Options>& methods, bool all = false);
// The summaries, or the verdicts of `check`; empty where errors say all.
std::string result_lines(const Results& r, const std::vector<Options>& methods);
// --time
std::string time_tables(const Results& r, const std::vector<Options>& methods);
// --json: the document of the only method, or one with an entry for each.
ordered_json document(const Results& r, const std::vector<Options>& methods);
std::string json_document(const Results& r, const std::vector<Options>& methods);  // indented

}  // namespace oe::app
