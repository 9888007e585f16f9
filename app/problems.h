// The problems of a run in the formats that other programs read (--diag-format).
#pragma once

#include <string>
#include <vector>

#include "app/results.h"

namespace oe::app {

// A line of JSON for each problem, with the members of `diagnostics` in the --json document, and of
// several methods the one it is of. `methods`: the options of each.
std::string problem_lines(const Results& r, const std::vector<Options>& methods);

// A problem, as documents have it, and the model that it is of.
struct SarifProblem {
  ordered_json problem;
  std::string model;
};

// One SARIF 2.1.0 document. Paths below `root` are relative to it.
std::string sarif_document(const std::vector<SarifProblem>& problems, int exit_code,
                           const std::string& root);
std::string sarif_document(const Results& r, const std::vector<Options>& methods);

}  // namespace oe::app
