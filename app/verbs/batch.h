// `batch SOURCE... -o OUT`: the options of the verb; app/batch does its work.
#pragma once

#include "app/batch/batch_line.h"
#include "app/verbs/verb.h"

namespace oe::app {

class Batch : public Verb {
 public:
  void options(CLI::App& app) override { add_batch_options(app, raw_); }

 private:
  RawBatch raw_;
};

}  // namespace oe::app
