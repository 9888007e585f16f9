// Where a rank that is not the same in every run comes from.
#pragma once

#include <string>
#include <vector>

#include "lib/program/program.h"

namespace oe::capture {

struct RankSource {
  const program::Node* node = nullptr;  // the first whose result has no one rank; null: not known
  std::vector<std::string> axes;        // named axes of its argument, which go where they are 1
};
RankSource rank_source(const program::Value* v);

}  // namespace oe::capture
