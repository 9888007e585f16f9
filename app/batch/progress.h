// The progress of a batch: a block of lines on a terminal, a line per model elsewhere, or
// events as lines of JSON.
#pragma once

#include <chrono>
#include <string>

#include "app/batch/pool.h"

namespace oe::app {

class BatchProgress : public PoolListener {
 public:
  BatchProgress(const BatchLine& line, size_t models);
  ~BatchProgress() override { erase(); }

  void started(const Item& item) override;
  void stage(const Item& item, const std::string& name) override;
  void ended(const Item& item, ItemStatus s, bool kept, const ordered_json& document) override;
  void waiting(const std::vector<RunningItem>& running) override;
  void erase();  // the block

 private:
  void event(const char* name, const Item& item, const ordered_json& more) const;
  std::string head(size_t running) const;

  const BatchLine& line_;
  const size_t models_;
  bool block_;  // on a terminal
  std::string shown_;
  size_t done_ = 0, failed_ = 0, kept_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace oe::app
