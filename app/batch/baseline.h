// Compares a batch with an earlier report (--baseline).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/batch/batch_report.h"

namespace oe::app {

class Baseline {
 public:
  // Throws Failure(Unreadable, OE0737) where the file is no such report.
  explicit Baseline(const std::string& file);
  // A line for each model that is worse: its status, its largest error, nodes or bytes.
  std::vector<std::string> worse(const EachDocument& each) const;

 private:
  struct Figures {
    ItemStatus status = ItemStatus::NotRun;
    double latency = 0;  // of a call, in ms; NaN: it was not measured
    double error = 0;    // of the verification; NaN: it was not compared
    uint64_t nodes = 0, bytes = 0;
  };
  static Figures figures(const ordered_json& document);
  std::map<std::string, Figures> old_;  // by Item::id
};

}  // namespace oe::app
