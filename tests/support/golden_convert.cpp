// A case's options, and the stages behind capture.
#include "tests/support/golden_convert.h"

#include <stdexcept>

#include "lib/lower/lower.h"
#include "lib/optimize/optimize.h"
#include "lib/option_text.h"
#include "opsets/opsets.h"

namespace oe::golden {

void throw_problems(const std::string& stage, const std::vector<std::string>& problems) {
  if (!problems.empty()) throw std::runtime_error(stage + " is malformed: " + problems.front());
}

void throw_errors(const Diagnostics& d, int64_t opset) {
  for (const Diagnostic& x : d.all()) {
    if (x.severity == Severity::Error)
      throw Failure(ExitCode::Unsupported, x.code, render_text(d, static_cast<int>(opset)));
  }
}

Options options_of(const Case& c) {
  Options o;
  for (const std::string& spec : c.inputs) o.inputs.push_back(parse_input_spec(spec));
  if (!c.dynamic.empty()) parse_dynamic_axes(c.dynamic, o.dynamic_axes);
  if (c.mode == "script") o.mode = CaptureMode::Script;
  if (c.mode == "trace") o.mode = CaptureMode::Trace;
  if (c.state) o.state = State::Outputs;
  return o;
}

ir::Model convert_at(const program::Program& p, int64_t opset) {
  Diagnostics d;
  ir::Model m = lower::lower(p, d);
  throw_errors(d, opset);
  throw_problems("the graph after lower", ir::verify(m));
  optimize::optimize(m, {});
  throw_problems("the graph after optimize", ir::verify(m));
  opsets::legalize(m, opset, /*avoid_ort_gaps=*/true, d);
  throw_errors(d, opset);
  optimize::cleanup(m);
  throw_problems("the graph after legalize", ir::verify(m));
  return m;
}

}  // namespace oe::golden
