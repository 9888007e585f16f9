// Loading with a device to map to moves the tensors of a file, not the devices its code names.
#include "lib/torch/devices.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace oe::torch_io {
namespace {

using torch::jit::Block;
using torch::jit::Node;

bool foreign(const c10::Device& d) { return !d.is_cpu() && !d.is_meta(); }

// aten::device("cuda", 0) of anything but a known device that may stay.
bool names_foreign(const Node& n) {
  const auto text = torch::jit::toIValue(n.input(0));
  return !text || !text->isString() || foreign(c10::Device(text->toStringRef()));
}

void forget(Block& b) {
  for (auto it = b.nodes().begin(); it != b.nodes().end();) {
    Node* n = *it++;
    for (Block* inner : n->blocks()) forget(*inner);
    Node* replacement = nullptr;
    if (n->kind() == c10::prim::Constant) {
      const auto v = torch::jit::toIValue(n->output());
      if (!v || !v->isDevice() || !foreign(v->toDevice())) continue;
      torch::jit::WithInsertPoint here(n);
      replacement = b.owningGraph()->insertConstant(c10::Device(c10::kCPU))->node();
    } else if (n->kind() == c10::Symbol::aten("device") && names_foreign(*n)) {
      torch::jit::WithInsertPoint here(n);
      replacement = b.owningGraph()->insertConstant(c10::Device(c10::kCPU))->node();
    } else if (n->kind() == c10::Symbol::aten("cuda")) {
      replacement = b.owningGraph()->create(c10::Symbol::aten("cpu"), {n->input(0)});
      replacement->insertBefore(n);
    } else {
      continue;
    }
    replacement->setSourceRange(n->sourceRange());
    n->output()->replaceAllUsesWith(replacement->output());
    n->destroy();
  }
}

}  // namespace

void forget_devices(const torch::jit::Module& module) {
  for (torch::jit::Function* f : module._ivalue()->compilation_unit()->get_functions())
    if (auto* g = torch::jit::tryToGraphFunction(*f)) {
      g->ensure_defined();
      forget(*g->graph()->block());
    }
  for (const torch::jit::Module& m : module.modules()) {
    const auto object = m._ivalue();
    for (size_t i = 0; i < object->slots().size(); ++i)
      if (object->getSlot(i).isDevice() && foreign(object->getSlot(i).toDevice()))
        object->setSlot(i, c10::Device(c10::kCPU));
  }
}

}  // namespace oe::torch_io
