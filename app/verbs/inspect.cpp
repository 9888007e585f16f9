// `inspect FILE`: what is in a .pt or .onnx file. Nothing is run.
#include "app/verbs/inspect.h"

namespace oe::app {

void Inspect::options(CLI::App& app) {
  app.add_option("FILE", file, "a TorchScript file or an ONNX model")->type_name("");
  app.add_flag("--json", json, "one JSON document");
}

void Inspect::read() {
  if (file.empty()) usage("inspect: no FILE given", "onnx-export inspect model.pt");
}

}  // namespace oe::app
