// The graph without its numbers, for the page that draws it (--report FILE.html).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/support/origin.h"

namespace oe {

namespace ir {
struct Model;
}

struct NodeOutline {
  std::string name, op;  // "Conv", "com.acme::Fold"
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> types;  // of the outputs: "float[batch,64,56,56]"
  int64_t origin = -1;             // index into GraphOutline::origins; -1: unknown
  int64_t holder = -1;             // index of the node in whose body it stands; -1: none
};

// An initializer.
struct WeightOutline {
  std::string name, type;
  uint64_t bytes = 0;
};

struct GraphOutline {
  std::vector<NodeOutline> nodes;
  std::vector<Origin> origins;  // without calls
  std::vector<WeightOutline> weights;
  std::vector<std::string> inputs, outputs;  // of the model
  size_t left_out = 0;                       // nodes beyond the most that a page draws
};

GraphOutline outline_of(const ir::Model& m);

}  // namespace oe
