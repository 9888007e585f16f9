// Stage: runs the method in one attempt after the other, until one gives a program.
#include "lib/capture/capture.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <exception>
#include <optional>

#include "lib/capture/attempts/missing.h"
#include "lib/capture/attempts/remedies.h"
#include "lib/capture/attempts/round.h"
#include "lib/capture/ports/persistent_state.h"
#include "lib/support/text.h"

namespace oe::capture {
namespace {

Outcome run(const Job& job, const Attempt& how) {
  std::optional<c10::InferenceMode> inference;
  if (!how.autograd) inference.emplace();  // nothing is kept for a backward pass
  // As torch.is_grad_enabled() says by default; inference mode turns it off.
  const c10::AutoGradMode gradients(true);
  return attempt(job, how);
}

// The last outcome. Where lists of views do not help either, the refusal without them is told: it
// is about the model's own code.
Outcome run_attempts(const Job& job, const OnAttempt& on_attempt) {
  Attempt how{.unroll = job.options.unroll};
  std::exception_ptr without_views;
  for (;;) {
    Outcome out = run(job, how);
    if (on_attempt)
      on_attempt(text(how) + ", " + plural(out.worlds, "run") + " side by side",
                 std::string(name(out.ended)) + (out.why.empty() ? "" : ": " + out.why));
    if (out.ended == Ended::NeedsViews && !how.views) without_views = out.failure;
    if (out.ended == Ended::NeedsViews && how.views) out.failure = without_views;
    const std::optional<Attempt> next = next_attempt(how, out, job.options);
    if (!next) return out;
    how = *next;
  }
}

}  // namespace

Captured capture(const torch_io::Loaded& m, torch_io::ExampleInputs& inputs,
                 const CaptureOptions& o, const Writable& writable, Diagnostics& d,
                 const OnAttempt& on_attempt) {
  for (;;) {
    const std::vector<DynamicAxis> axes = dynamic_axes(inputs);
    Outcome out = run_attempts({m, inputs, o, writable, axes}, on_attempt);
    if (out.ended == Ended::MissingOperators) {
      report_missing(m.module, m.method, d);
      return {};
    }
    if (out.failure) std::rethrow_exception(out.failure);
    Captured& c = out.captured.value();
    // Until no more state is found that the method carries on.
    if (o.state == State::InputsAndOutputs && widen_state(m, c, inputs)) continue;
    if (c.program.outputs.empty())
      throw Failure(ExitCode::Refused, "OE2304", "the method '" + m.method + "' returns nothing",
                    "if it writes attributes, --state=outputs and --state=io return them");
    for (const Diagnostic& x : out.diagnostics.all()) d.report(x);
    return std::move(c);
  }
}

}  // namespace oe::capture
