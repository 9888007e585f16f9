// Operators that LibTorch defines by others, as TorchScript.
#include "lib/capture/composites.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include <unordered_map>

namespace oe::capture {
namespace {

// Compiled once; nothing writes to it afterwards.
const torch::jit::CompilationUnit& unit() {
  static const auto* all = [] {
    auto* made = new torch::jit::CompilationUnit;
    for (const char* const* text = kCompositeTexts; *text; ++text)
      made->define(std::nullopt, *text, torch::jit::nativeResolver(), nullptr);
    return made;
  }();
  return *all;
}

}  // namespace

std::vector<torch::jit::Function*> composites() { return unit().get_functions(); }

// Asked at every call of an operator: one search, no names made.
torch::jit::Function* composite(const std::string& op) {
  static const auto by_operator = [] {
    std::unordered_map<std::string, torch::jit::Function*> all;
    for (torch::jit::Function* f : composites()) {
      std::string name = "aten::" + f->name();
      if (const size_t split = name.find("__"); split != std::string::npos)
        name.replace(split, 2, ".");
      all.emplace(std::move(name), f);
    }
    return all;
  }();
  const auto it = by_operator.find(op);
  return it == by_operator.end() ? nullptr : it->second;
}

}  // namespace oe::capture
