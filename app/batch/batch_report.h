// The reports of a batch: files, and the lines at its end.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/batch/batch_line.h"
#include "app/batch/status.h"

namespace oe::app {

// Calls with the document of each model that was run, in order.
using EachDocument = std::function<void(const std::function<void(const ordered_json&)>&)>;

// Models that an operator, or a problem's code, keeps from being converted.
struct Obstacle {
  std::string name;
  size_t models = 0;  // that have it
  size_t alone = 0;   // of them, those that have no other
  std::string first;  // one of them
};

struct BatchTotals {
  std::map<ItemStatus, size_t> count;
  double seconds = 0;
  std::vector<Obstacle> operators, causes;  // most models first
  std::map<int, size_t> lowest_opsets;      // of --check: models that convert from there on
  std::vector<std::string> not_run;         // models that no document is of
  std::vector<std::string> worse;           // than the baseline; a line each
  ExitCode exit_code = ExitCode::Ok;
};

// Without `not_run`, `worse` and the exit code.
BatchTotals totals_of(const EachDocument& each);

// "50 models: 41 ok, 5 failed, 4 skipped", and what would unblock most. Safe for a terminal.
std::string totals_text(const BatchTotals& t, bool check);

// Throws Failure(Unwritable).
void write_reports(const BatchLine& line, const EachDocument& each, const BatchTotals& t);

}  // namespace oe::app
