// The result of a conversion: as JSON between worker and supervisor (and for --json), and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"

namespace oe::app {

// What a Failure said; it ended the run at once.
struct Stop {
  ExitCode exit_code = ExitCode::Internal;
  std::string code, message, hint;
  OriginPtr origin;
};

struct Report {
  Outcome outcome;
  Diagnostics diagnostics;
  std::optional<Stop> stop;

  ExitCode exit_code() const { return stop ? stop->exit_code : outcome.exit_code; }
};

// Whether what was made may stay.
bool usable(ExitCode code);
bool weights_outside(const Outcome& out, const Options& o);

std::string to_json(const std::vector<Report>& all);  // one line
// Empty when it is no such document.
std::vector<Report> from_json(const std::string& s);

Stop stop_of(const Failure& f);
// "error: ..." with place and hint; the message has at most `most` bytes. What these functions give
// is safe for a terminal.
std::string stop_text(const Stop& s, size_t most = kShownMessage);
// "model.onnx: opset 18, 124 nodes, 44.7 MB, input x float[batch,3], output y float[batch,5]"
std::string summary(const Report& r, const Options& o);
// Of `check`: "net.pt: converts at opset 18, 4 nodes, input x float[batch,3], ...".
std::string verdict(const Report& r, const Options& o);
// Of `check --all-opsets`: a line an opset.
std::string opset_table(const Outcome& o);
// "inputs found: obs:1x48@f32 (axis 0 free); --input changes them"; empty where all were described.
std::string found_line(const Outcome& o);
// Stage, seconds, the most memory until its end.
std::string time_table(const Outcome& o);

}  // namespace oe::app
