// `inspect FILE`: what is in a .pt or .onnx file.
#pragma once

#include "app/json.h"
#include "app/verbs/verb.h"

namespace oe::app {

class Inspect : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  Strings files() const override { return {file}; }
  bool reads_onnx() const override { return onnx; }
  std::optional<ExitCode> run(std::ostream& out) override;
  void finish(Report& r, std::ostream& out) override;

  std::string file, method, source;
  bool json = false, tensors = false, guess = false, onnx = false;

 private:
  std::string guess_;      // as it stands on the command line
  ordered_json document_;  // of a TorchScript file, while its inputs are looked for
};

}  // namespace oe::app
