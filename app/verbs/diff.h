// `diff A B`: what differs between two ONNX models.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Diff : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  Strings files() const override { return {left, right}; }

  std::string left, right;
  bool json = false;
};

}  // namespace oe::app
