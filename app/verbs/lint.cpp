// `lint FILE`: what is wrong, or doubtful, with an ONNX model.
#include "app/verbs/lint.h"

namespace oe::app {

void Lint::options(CLI::App& app) {
  app.add_option("FILE", file, "ONNX model")->type_name("");
  app.add_flag("--strict", strict, "Treat warnings as errors");
  app.add_flag("--json", json, "Print one JSON document");
}

void Lint::read() {
  if (file.empty()) usage("lint: no FILE given", "onnx-export lint model.onnx");
}

}  // namespace oe::app
