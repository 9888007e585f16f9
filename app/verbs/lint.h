// `lint FILE`: what is wrong, or doubtful, with an ONNX model.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Lint : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  Strings files() const override { return {file}; }

  std::string file;
  bool strict = false, json = false;
};

}  // namespace oe::app
