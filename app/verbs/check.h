// `check MODEL`: the options of the verb; convert.cpp does its work.
#pragma once

#include "app/option_table.h"
#include "app/verbs/verb.h"

namespace oe::app {

class Check : public Verb {
 public:
  void options(CLI::App& app) override { add_options(app, raw_, /*check=*/true); }

 private:
  Raw raw_;
};

}  // namespace oe::app
