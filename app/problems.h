// The problems of a run in the formats that other programs read (--diag-format).
#pragma once

#include <string>
#include <vector>

#include "app/report.h"

namespace oe::app {

// Everything that was reported, what ended the run last.
std::vector<Diagnostic> problems_of(const Report& r);

// A line of JSON for each, with the members of `diagnostics` in the --json document.
std::string problem_lines(const Report& r);

// One SARIF 2.1.0 document. `model`: the place of problems that stand on no source line.
std::string sarif_document(const Report& r, const std::string& model);

}  // namespace oe::app
