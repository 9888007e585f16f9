// What a world has somewhere in a kept loop.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "lib/capture/values/snapshot.h"

namespace oe::capture {

// The state before iteration `done`, counted from where the loop is kept.
struct Iterated {
  std::vector<Snapshot> locals;
  std::vector<std::pair<std::shared_ptr<Cell>, Snapshot>> cells;  // those changed since the start
  int64_t done = 0;
  bool ended = false;  // there is no such iteration

  const Snapshot* content(const Cell* c) const;
};

}  // namespace oe::capture
