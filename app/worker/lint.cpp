// `lint FILE`: what is wrong, or doubtful, with an ONNX model. Exit code 5 where there are errors.
#include "lib/onnx/lint.h"

#include "app/document.h"
#include "app/worker/verbs.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"
#include "opsets/ort_gaps.h"

namespace oe::app {

void lint(const Lint& verb, std::ostream& out, Report& r) {
  constexpr const char* severities[] = {"error", "warning", "note"};
  std::vector<onnx::LintProblem> found = onnx::lint(verb.file, opsets::ort_lacks);
  ordered_json list = ordered_json::array();
  size_t counts[3] = {};
  for (onnx::LintProblem& p : found) {
    if (verb.strict && p.severity == Severity::Warning) p.severity = Severity::Error;
    const auto severity = static_cast<size_t>(p.severity);
    ++counts[severity];
    list.push_back(problem_json({p.code, p.severity, p.op, p.message, "", nullptr, 0}));
    list.back()["node"] = p.node;
    if (verb.json) continue;
    const std::string place = p.op.empty() ? "" : p.op + " '" + p.node + "': ";
    out << severities[severity] << ": " << safe_line(place + p.message) << "  [" << p.code << "]\n";
  }
  if (counts[0]) r.outcome.exit_code = ExitCode::Unsupported;
  if (verb.json)
    out << dump(verb_document("lint", {{"file", verb.file}}, r.outcome.exit_code, list), 2) << "\n";
  else
    out << safe_line(verb.file) << ": " << plural(counts[0], "error") << ", "
        << plural(counts[1], "warning") << ", " << plural(counts[2], "note") << "\n";
}

}  // namespace oe::app
