// The command line's description of the model's inputs. Standard library only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/dtype.h"

namespace oe {

// One DIM of an input SPEC: 224 | ? | batch | batch=2 | 1..8 | batch=1..8
struct DimSpec {
  std::optional<int64_t> size;  // example size, when given
  std::string symbol;           // axis name, when given; such an axis is dynamic
  bool dynamic = false;         // named, '?', or bounded
  std::optional<int64_t> low, high;
};

// One --input SPEC (docs/inputs-on-the-command-line.md).
struct InputSpec {
  std::string name;  // may be a path (x.0, cfg.mask); empty: positional
  std::optional<std::vector<DimSpec>> shape;
  DType dtype = DType::Undefined;  // Undefined: the file's type, else float for tensors
  std::string value;               // text after '='; empty: random of the given shape and type
};

// --dynamic-axes: input or output (name, index as text, or "*") -> axis -> name ("": automatic).
struct AxesSpec {
  bool every_axis = false;  // the option without a value
  std::vector<std::pair<std::string, std::map<int64_t, std::string>>> entries;
  bool empty() const { return !every_axis && entries.empty(); }
};

struct InputOptions {
  std::vector<InputSpec> specs;  // --input
  std::string file;              // --inputs FILE.pt
  std::string folder;            // --inputs-from DIR
  // Files output_N.pb in it, for the example and for each alternative: N, path.
  std::vector<std::vector<std::pair<size_t, std::string>>> expected;
  // Further examples: each replaces some of the inputs. Axes whose sizes differ are dynamic.
  std::vector<std::vector<InputSpec>> alternatives;
  std::vector<std::string> constants;  // arguments that become constants with the example's value
  bool guess = true;                   // infer what is not described (--guess=auto)
  bool guess_sure = false;             // accept only what the program forces (--guess=sure)
  uint64_t seed = 0;
  AxesSpec dynamic_axes;
  bool dynamic_batch = false;
  std::vector<std::string> names;  // --input-names
};

}  // namespace oe
