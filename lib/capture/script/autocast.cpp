// Autocast regions. LibTorch's default executor inlines the calls of a method and puts the casts
// that a region stands for into its code; the same pass is run here, so that they are the same.
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/peephole.h>

#include <algorithm>
#include <array>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// Those of every release; the pass knows the ones that its LibTorch can write.
constexpr std::array kRegions = {"__torch__.torch.amp.autocast_mode.autocast",
                                 "__torch__.torch.autocast_mode.autocast",
                                 "__torch__.torch.cpu.amp.autocast_mode.autocast",
                                 "__torch__.torch.cuda.amp.autocast_mode.autocast"};

}  // namespace

bool is_autocast(const c10::Type& t) {
  const auto* cls = t.castRaw<c10::ClassType>();
  if (!cls || !cls->name()) return false;
  const std::string name = cls->name()->qualifiedName();
  return std::ranges::any_of(kRegions, [&](const char* region) { return name == region; });
}

JitBlock* Interpreter::with_casts(torch::jit::Function& method, const c10::ClassType& self) {
  JitBlock* code = code_of(method);
  const auto unit = self.compilation_unit();
  if (std::ranges::none_of(
          kRegions, [&](const char* region) -> bool { return unit->get_class(region) != nullptr; }))
    return code;
  rewritten_ = code->owningGraph()->copy();
  torch::jit::Inline(*rewritten_);
  // What a region says of itself has to be constants.
  torch::jit::PeepholeOptimize(rewritten_, /*disable_shape_peepholes=*/true);
  torch::jit::ConstantPropagation(rewritten_);
  torch::jit::Autocast(rewritten_);
  return rewritten_->block();
}

}  // namespace oe::capture
