// One run of convert, check or verify: the worker works, its files are committed. A model of a
// batch takes this path too.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/bundle_output.h"
#include "app/options.h"
#include "app/output.h"
#include "app/results.h"
#include "app/run_log.h"
#include "app/supervise/run_worker.h"
#include "app/test_data_output.h"
#include "lib/support/sha256.h"

namespace oe::app {

struct ModelRun {
  CommandLine line;
  Results results;
  RunLog log;
  std::optional<Output> output;             // of a conversion
  std::optional<TestDataOutput> test_data;  // of verify
  std::optional<BundleOutput> bundle;
  PinnedFiles files;
  std::optional<DigestRun> digest;  // of the model, for a JSON document
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool reports = false;  // are written at the end
  int our_signal = 0;    // that ends us: the files are gone, and the caller ends too

  // Of a batch. Any may be empty.
  WarmWorkers* warm = nullptr;                    // where workers start
  std::function<void(const std::string&)> stage;  // begins
  // Model and options have their hashes; false: they are not run.
  std::function<bool()> begin;
  std::function<void()> before_commit;  // the results are complete, and usable
};

// Reads the command line and does what it asks for. What fails is in the results. Throws what
// is_out_of_memory() knows.
void run_model(const std::vector<std::string>& given, ModelRun& run);

}  // namespace oe::app
