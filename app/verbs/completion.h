// `completion SHELL`: what bash, zsh or fish needs to complete a command line.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Completion : public Verb {
 public:
  void options(CLI::App& app) override;
  void read() override;
  std::optional<ExitCode> run(std::ostream& out) override;

 private:
  std::string shell_;
};

}  // namespace oe::app
