// The plan of a batch: its models, with their outputs and options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/batch/batch_line.h"

namespace oe::app {

struct Item {
  std::string model;
  // Of a conversion: the output's path inside the output folder. Of the other tasks: the model.
  std::string id;
  std::string file;    // --verify-files: the ONNX file
  Strings words;       // options of its own
  uint64_t bytes = 0;  // 0 of a file that is not there
  bool found = false;  // in a folder or by a pattern: what is no TorchScript is left out
};

// The models of this shard, in the order of their paths. Throws Failure: a source that holds none,
// a manifest's line that is wrong, two models that would write one file, an option that is wrong.
std::vector<Item> plan(const BatchLine& line);

// Refuses what is wrong in the options of a model, and options of the batch among them. Throws
// Failure(Usage).
void check_words(const Strings& words, BatchTask task);

// The file of --pages for the model.
std::string page_of(const BatchLine& line, const std::string& id);
// The command line of a model: what run_model() takes. `force`: its output may be overwritten.
Strings command_of(const BatchLine& line, const Item& item, bool force);

}  // namespace oe::app
