// Runs one golden case: convert at every opset, check, run, compare.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/optimize/options.h"
#include "lib/torch/load.h"
#include "lib/verify/ort.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_table.h"

namespace oe::golden {

// A level at which a case also runs. Its text is not pinned.
struct Level {
  std::string name;
  optimize::Options options;
  std::vector<int64_t> opsets;  // in ascending order
};

struct Settings {
  std::vector<int64_t> opsets;       // in ascending order
  std::shared_ptr<verify::Ort> ort;  // null: ONNX Runtime is absent
  bool bless = false;
  bool allow_refusals = false;  // to be blessed where the case does not expect them
  optimize::Options optimize;   // text is pinned of the default alone
  std::vector<Level> levels;
};

struct Outcome {
  enum class Kind { Passed, Failed, Skipped };
  Kind kind = Kind::Passed;
  std::string message;  // of a failure
  std::string refusal;  // diagnostic code when the failure is that the converter refuses the case
  Blessing blessed;     // what the file should say, when asked for
  Seen seen;            // at the opsets that passed
};

// `module` is the case's own, made by golden_module.h.
Outcome run_case(const Case& c, const torch_io::Loaded& module, const Settings& s);

}  // namespace oe::golden
