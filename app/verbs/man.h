// `man`: the manual page.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Man : public Verb {
 public:
  void options(CLI::App& app) override;
  std::optional<ExitCode> run(std::ostream& out) override;
};

}  // namespace oe::app
