// Every problem the tool reports: collected during the run, grouped and printed at its end.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "lib/support/origin.h"
#include "lib/support/safe_text.h"

namespace oe {

// Process exit codes, as documented in docs/cli.md.
enum class ExitCode : int {
  Ok = 0,
  Internal = 1,
  Usage = 2,
  Unreadable = 3,
  Refused = 4,
  Unsupported = 5,
  Mismatch = 6,
  Unwritable = 7,
  Limit = 8,
  Crashed = 9,
  MissingPart = 10,
  NotFullyVerified = 11,
  BatchFailures = 12,
};

enum class Severity { Error, Warning, Note };

struct Diagnostic {
  std::string code;  // stable: "OE5001", one of error_codes.h
  Severity severity = Severity::Error;
  std::string op;       // operator or construct, "aten::grid_sampler"; may be empty
  std::string message;  // one clause without a full stop: "needs opset 16 or later"
  std::string hint;     // what to change; may be empty
  OriginPtr origin;     // may be null
  int needs_opset = 0;  // lowest opset that removes the problem; 0 when none does
};

class Diagnostics {
 public:
  // Very long texts are cut (safe_text.h).
  void report(Diagnostic d);
  const std::vector<Diagnostic>& all() const { return all_; }
  bool has_errors() const;
  // --strict
  void warnings_are_errors();

 private:
  std::vector<Diagnostic> all_;
  size_t kept_ = 0;  // bytes of their texts
};

// Grouped text, as docs/design/messages.md shows it: one group per (operator, message) with the
// count of uses, at most `max_places` source lines each. `opset` < 0: leave the opset out of the
// heading. Foreign text in it is safe for a terminal; each message has at most `most` bytes.
std::string render_text(const Diagnostics& d, int opset, size_t max_places = 3,
                        size_t most = kShownMessage);

// Stops the run with one message. Stages throw it; only the pipeline's caller catches it. what()
// ends at a NUL, so that one in a name is made visible, and a very long message is cut.
struct Failure : std::runtime_error {
  Failure(ExitCode code, std::string diagnostic_code, const std::string& message,
          std::string hint = {}, OriginPtr origin = nullptr)
      : std::runtime_error(without_nul(cut_text(message, kKeptMessage))),
        exit_code(code),
        diagnostic_code(std::move(diagnostic_code)),
        hint(std::move(hint)),
        origin(std::move(origin)) {}
  ExitCode exit_code;
  std::string diagnostic_code;
  std::string hint;
  OriginPtr origin;
};

// A Failure for an error in the command line.
[[noreturn]] void usage_error(const char* code, const std::string& message,
                              const std::string& hint = {});

}  // namespace oe
