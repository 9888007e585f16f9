// The journals of all parts of a batch, as one (--merge).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/batch/batch_report.h"
#include "app/batch/journal.h"
#include "app/batch/plan.h"

namespace oe::app {

class Merged {
 public:
  // The journals in line.output. `items`: all models of the batch, where the sources were named.
  // Throws Failure(Unreadable, OE0734) where there is none.
  Merged(const BatchLine& line, const std::vector<Item>& items);

  EachDocument each() const;
  const std::vector<std::string>& not_run() const { return not_run_; }
  // Parts without a journal, and parts that lack models.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::unique_ptr<Journal>> journals_;
  std::map<std::string, std::pair<const Journal*, const JournalEntry*>> done_;  // by id
  std::vector<std::string> not_run_, notes_;
};

}  // namespace oe::app
