// `diff A B`: what differs between two ONNX models.
#include "app/verbs/diff.h"

namespace oe::app {

void Diff::options(CLI::App& app) {
  app.add_option("A", left, "ONNX model")->type_name("");
  app.add_option("B", right, "ONNX model to compare with A")->type_name("");
  app.add_flag("--json", json, "Print one JSON document");
}

void Diff::read() {
  if (right.empty()) usage("diff: specify two models", "onnx-export diff A.onnx B.onnx");
}

}  // namespace oe::app
