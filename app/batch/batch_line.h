// The command line of `onnx-export batch`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/arguments.h"
#include "app/console.h"
#include "app/limits.h"
#include "app/option_table.h"

namespace oe::app {

enum class BatchTask { Convert, Check, Verify, Inspect };

struct BatchLine {
  BatchTask task = BatchTask::Convert;
  Strings sources;
  std::string output;        // the folder; empty: nothing is written
  std::string list;          // a file of paths, one a line
  std::string manifest;      // JSON lines
  std::string filter;        // a regular expression
  std::string verify_files;  // the folder of the files that are compared
  std::optional<bool> mirror;
  bool sidecars = false, dry_run = false, resume = false, force = false, fail_fast = false;
  bool merge = false, json = false, quiet = false;
  size_t jobs = 1;
  std::pair<size_t, size_t> shard = {1, 1};  // this one, of how many
  Strings reports;                           // files; the ending is the format
  std::string pages;                         // the folder for a page of each model
  std::string baseline, root;
  Strings words;  // of each model's command line
  Limits limits;
  bool onnxruntime = false;  // workers need it
  std::string ort_lib;
  Color color = Color::Auto;
  Progress progress = Progress::Auto;
  std::string text;  // --help: print this and stop
};

// As it is on the command line.
struct RawBatch {
  Raw convert;
  BatchLine line;  // the options that need no parsing
  std::string jobs, shard;
  bool mirror = false, flat = false, keep_going = false, check = false, inspect = false;
};

// Its own options, and those of convert that can hold for many models.
void add_batch_options(CLI::App& app, RawBatch& r);

// `arguments` without the verb. Throws Failure(Usage).
BatchLine parse_batch_line(const Strings& arguments);

}  // namespace oe::app
