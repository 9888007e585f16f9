// The author's source line of each node.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lib/support/origin.h"

namespace oe::torch_io {

// Caches lines: many nodes have the same line.
class Origins {
 public:
  // `module_path`: of the module whose method contains the node; `call`: the call of that module.
  OriginPtr of(const torch::jit::Node* n, const std::string& module_path,
               const ModuleCallPtr& call = {});

 private:
  struct Text {
    std::shared_ptr<const torch::jit::Source> source;  // keeps the address from being used again
    std::string whole;
    std::vector<size_t> lines;  // where each begins
  };
  // The line of `range` and all that follow.
  std::string_view lines_from(const torch::jit::SourceRange& range);

  // By source, place in it, call and path. The calls live as long as the origins here do.
  std::map<std::tuple<const void*, size_t, const ModuleCall*, std::string>, OriginPtr> origins_;
  std::unordered_map<const torch::jit::Source*, Text> texts_;
};

}  // namespace oe::torch_io
