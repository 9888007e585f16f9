// The verbs `convert`, `check` and `verify`: one run, and what is printed of it.
#include "app/convert.h"

#include <iostream>

#include "app/arguments.h"
#include "app/model_run.h"
#include "app/problems.h"
#include "app/verify_text.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

void print(const ModelRun& run) {
  const Options& o = run.line.options;
  const std::vector<Options>& methods = run.line.methods;
  const Color color = run.line.color;
  const std::string result = result_lines(run.results, methods);
  const bool sarif = o.diagnostic_format == DiagnosticFormat::Sarif;
  SafeStream out(std::cout), errors(std::cerr);
  const bool data = o.task != Task::Convert && !o.json && !sarif;
  if (o.diagnostic_format == DiagnosticFormat::Json) {
    errors << problem_lines(run.results, methods);
  } else {
    say(problem_text(run.results, methods), color);
    if (!data && o.verbosity >= 0) say(result, color);
    if (o.time) errors << time_tables(run.results, methods);
  }
  if (data) out << result;
  if (sarif) out << sarif_document(run.results, methods);
  if (o.json) out << json_document(run.results, methods);
}

}  // namespace

int convert(const std::vector<std::string>& arguments) {
  ModelRun run;
  run_model(arguments, run);
  if (run.our_signal) end_by(run.our_signal);
  if (!run.line.text.empty()) {
    std::cout << run.line.text << std::flush;
    return 0;
  }
  print(run);
  try {
    require_written(std::cout);
  } catch (const Failure& f) {
    say(stop_text(stop_of(f)), run.line.color);
    return static_cast<int>(f.exit_code);
  }
  return static_cast<int>(run.results.exit_code());
}

}  // namespace oe::app
