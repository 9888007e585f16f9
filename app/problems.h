// The problems of a run in the formats that other programs read (--diag-format).
#pragma once

#include <string>
#include <vector>

#include "app/results.h"

namespace oe::app {

// A line of JSON for each problem, with the members of `diagnostics` in the --json document, and of
// several methods the one it is of. `methods`: the options of each.
std::string problem_lines(const Results& r, const std::vector<Options>& methods);

// One SARIF 2.1.0 document.
std::string sarif_document(const Results& r, const std::vector<Options>& methods);

}  // namespace oe::app
