// Operators that LibTorch defines by others, as TorchScript.
#include "lib/capture/composites.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>

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

torch::jit::Function* composite(const std::string& op) {
  if (!op.starts_with("aten::")) return nullptr;
  std::string name = op.substr(6);
  if (const size_t dot = name.find('.'); dot != std::string::npos) name.replace(dot, 1, "__");
  return unit().find_function(c10::QualifiedName(name));
}

}  // namespace oe::capture
