// Runs the models of a batch, some at a time, and keeps the journal.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "app/batch/item_run.h"
#include "app/batch/journal.h"
#include "app/batch/plan.h"
#include "app/batch/status.h"

namespace oe::app {

struct RunningItem {
  size_t item = 0;
  pid_t pid = -1;
  Descriptor channel;
  std::string name, buffer, stage;  // `name`: the model
  bool ended = false;               // it reported its result
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

// Hears what happens.
class PoolListener {
 public:
  virtual ~PoolListener() = default;
  virtual void started(const Item&) {}
  virtual void stage(const Item&, const std::string&) {}
  // `document`: null of an item that was kept.
  virtual void ended(const Item&, ItemStatus, bool kept, const ordered_json& document) {
    (void)kept, (void)document;
  }
  virtual void waiting(const std::vector<RunningItem>&) {}  // a few times a second
};

class Pool {
 public:
  Pool(const BatchLine& line, const std::vector<Item>& items, Journal& journal,
       PoolListener& listener);

  // Until all are done, a signal asks us to end, one failed with --fail-fast, or the journal cannot
  // be written (throws then, when all runs have ended).
  void run();
  ItemStatus status(size_t item) const { return status_[item]; }
  int our_signal() const { return our_signal_; }

 private:
  bool may_start(const Item& item) const;
  void start(size_t item);
  void step();
  void read_from(RunningItem& r);
  void take(RunningItem& r, ordered_json line);
  void end(RunningItem& r);
  void settle(size_t item, ItemStatus s, bool kept, const ordered_json& document);
  // False where it cannot be kept: nothing starts from then on.
  bool keep(const ordered_json& line);

  const BatchLine& line_;
  const std::vector<Item>& items_;
  Journal& journal_;
  PoolListener& listener_;
  WarmWorkers warm_;
  Descriptor signals_;
  std::vector<ItemStatus> status_;
  std::vector<RunningItem> running_;
  std::string journal_failure_;
  int our_signal_ = 0;
  bool stop_ = false;
};

}  // namespace oe::app
