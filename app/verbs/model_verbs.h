// `check MODEL` and `verify MODEL FILE`: the options of the verbs; convert.cpp does their work.
#pragma once

#include "app/option_table.h"
#include "app/verbs/verb.h"

namespace oe::app {

class Check : public Verb {
 public:
  void options(CLI::App& app) override { add_options(app, raw_, Task::Check); }

 private:
  Raw raw_;
};

class Verify : public Verb {
 public:
  void options(CLI::App& app) override { add_options(app, raw_, Task::Verify); }

 private:
  Raw raw_;
};

}  // namespace oe::app
