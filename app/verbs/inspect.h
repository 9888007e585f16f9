// `inspect FILE`: what is in a .pt or .onnx file. Nothing is run.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Inspect : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;

  std::string file;
  bool json = false;
};

}  // namespace oe::app
