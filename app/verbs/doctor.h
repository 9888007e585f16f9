// `doctor`: which parts are there, and what is missing.
#pragma once

#include "app/verbs/verb.h"

namespace oe::app {

class Doctor : public Verb {
 public:
  void options(CLI::App& app) override;
  Launch launch() const override;
  void finish(Report& r, std::ostream& out) override;

  std::string ort_lib;
  bool json = false;
};

}  // namespace oe::app
