// `explain OE1234`: what a problem's code means. `explain aten::foo`: what becomes of an operator.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Explain : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  std::optional<ExitCode> run(std::ostream& out) override;

 private:
  std::string what_;
};

}  // namespace oe::app
