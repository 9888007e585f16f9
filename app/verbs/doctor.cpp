// `doctor`: which parts are there, and what is missing. The worker looks; where it does not even
// start, that is the answer.
#include "app/verbs/doctor.h"

#include "app/document.h"
#include "app/report.h"
#include "app/verbs/archive_text.h"

namespace oe::app {

void Doctor::options(CLI::App& app) {
  app.add_option("--ort-lib", ort_lib, "Path of ONNX Runtime's library (default: search for it)")
      ->type_name("PATH");
  app.add_flag("--json", json, "Print one JSON document");
}

// It reads no file, and looks for CUDA.
Launch Doctor::launch() const {
  Launch l;
  l.gpu = l.onnxruntime = true;
  l.ort_lib = ort_lib;
  return l;
}

void Doctor::finish(Report& r, std::ostream& out) {
  if (!r.stop) return;
  const std::string problem = "does not start: " + r.stop->message;
  if (json)
    out << dump(verb_document("doctor", {{"ready", false}, {"worker", problem}},
                              ExitCode::MissingPart, ordered_json::array({stop_json(*r.stop)})),
                2)
        << "\n";
  else
    out << labelled("worker",
                    {problem, r.stop->hint.empty()
                                  ? "onnx-export-worker must be in the same directory as "
                                    "onnx-export, and LibTorch in the folder that it was built "
                                    "with: run scripts/setup"
                                  : r.stop->hint});
  r.stop.reset();
  r.outcome.exit_code = ExitCode::MissingPart;
}

}  // namespace oe::app
