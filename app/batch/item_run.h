// The run of one model of a batch, in a process of its own that is a whole supervisor: whatever
// happens in it costs that model alone.
#pragma once

#include "app/batch/journal.h"
#include "app/batch/plan.h"
#include "app/supervise/warm_workers.h"

namespace oe::app {

// The process writes one line of JSON per event to its channel:
//   {"event": "stage", "name": ...}
//   {"event": "kept"}                 the journal has it as finished, and its files are unchanged
//   started, made, finished, failed   as the journal has them; it waits for a byte that answers the
//                                     first two: 'y', or the line could not be kept
struct ItemContext {
  const BatchLine& line;
  const Journal& journal;  // as it was when the process was forked
  WarmWorkers* warm;
  bool force;  // its output may be overwritten
  int parent;  // process of the batch
};

// Ends the process.
[[noreturn]] void run_item(const Item& item, const ItemContext& context, int channel);

// The document of a model whose process ended by `signal`, or with `status`.
ordered_json lost_item(const BatchLine& line, const Item& item, int signal, int status);

}  // namespace oe::app
