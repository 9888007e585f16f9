// Loading with a device to map to moves the tensors of a file, not the devices its code names.
//
//   zeros([2], device=cuda:0)   =>   zeros([2], device=cpu)
//   x.to(self.device)           =>   x.to(onnx_export::here(self.device, cpu))
//   x.cuda()                    =>   x.cpu()
//
// and the other way round where the example runs on a CUDA device.
#include "lib/torch/devices.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <optional>

#include "lib/torch/cuda.h"

namespace oe::torch_io {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;

// Where `given` (a Device or None) stands, tensors lie on `target`. None is the CPU, or an
// argument's own device.
c10::IValue here(const c10::IValue& given, c10::Device target) {
  if (given.isNone()) return target.is_cpu() ? given : c10::IValue(target);
  return given.isDevice() && !given.toDevice().is_meta() ? c10::IValue(target) : given;
}

// One for each type: an argument that is no Optional (aten::to.device) does not take a Device?.
const c10::Symbol& here_symbol(const c10::TypePtr& of) {
  static const c10::Symbol device = c10::Symbol::fromQualString("onnx_export::here"),
                           optional = c10::Symbol::fromQualString("onnx_export::here_or_none");
  static const torch::jit::Operation run = [](Stack& stack) {
    const c10::Device target = torch::jit::pop(stack).toDevice();
    stack.back() = here(stack.back(), target);
  };
  static const torch::jit::RegisterOperators registered(
      {torch::jit::Operator("onnx_export::here(Device device, Device target) -> Device", run,
                            c10::AliasAnalysisKind::PURE_FUNCTION),
       torch::jit::Operator("onnx_export::here_or_none(Device? device, Device target) -> Device?",
                            run, c10::AliasAnalysisKind::PURE_FUNCTION)});
  return of->kind() == c10::TypeKind::DeviceObjType ? device : optional;
}

bool names_device(const c10::TypePtr& t) {
  if (const auto optional = t->cast<c10::OptionalType>())
    return names_device(optional->getElementType());
  return t->kind() == c10::TypeKind::DeviceObjType;
}

// Operators that make tensors (or generators) on the device they are given.
bool allocates(const c10::FunctionSchema& schema) {
  for (const c10::Argument& r : schema.returns())
    if (r.type()->kind() == c10::TypeKind::TensorType ||
        r.type()->kind() == c10::TypeKind::GeneratorType)
      return true;
  return false;
}

void set_devices(Node* n, c10::Device target) {
  const auto* schema = n->maybeSchema();
  if (!schema || !allocates(*schema)) return;
  for (size_t i = 0; i < n->inputs().size() && i < schema->arguments().size(); ++i) {
    if (!names_device(schema->arguments()[i].type())) continue;
    Value* given = n->input(i);
    const auto known = torch::jit::toIValue(given);
    torch::jit::WithInsertPoint before(n);
    if (known) {
      const c10::IValue changed = here(*known, target);
      if (changed != *known) n->replaceInput(i, n->owningGraph()->insertConstant(changed));
    } else {
      Value* to = n->owningGraph()->insertConstant(target);
      Node* changed = n->owningGraph()->create(here_symbol(given->type()), {given, to});
      changed->output()->setType(given->type()->kind() == c10::TypeKind::DeviceObjType
                                     ? c10::TypePtr(c10::DeviceObjType::get())
                                     : c10::OptionalType::create(c10::DeviceObjType::get()));
      changed->setSourceRange(n->sourceRange());
      n->owningGraph()->insertNode(changed);
      n->replaceInput(i, changed->output());
    }
  }
}

// torch.device("cuda", 0). LibTorch 2.13 takes the operator's arguments in the wrong order unless
// its optimiser has folded the call.
std::optional<c10::Device> constant_device(const Node* n) {
  if (n->kind() != c10::Symbol::aten("device") || n->inputs().size() != 2) return std::nullopt;
  const auto type = torch::jit::toIValue(n->input(0)), index = torch::jit::toIValue(n->input(1));
  if (!type || !type->isString() || !index || !index->isInt()) return std::nullopt;
  return c10::Device(type->toStringRef() + ":" + std::to_string(index->toInt()));
}

bool holds_tensors(const c10::IValue& v) {
  return v.isTensor() || v.isTensorList() ||
         (v.isTuple() && std::ranges::any_of(v.toTupleRef().elements(), holds_tensors));
}

// What a constant is on another device; nothing where it holds no tensors, or they are there.
std::optional<c10::IValue> moved(const Node* n, c10::Device target) {
  if (target.is_cpu() || n->kind() != c10::prim::Constant) return std::nullopt;
  const auto value = torch::jit::toIValue(n->output());
  return value && holds_tensors(*value) ? std::optional(value->deepcopy(target)) : std::nullopt;
}

// LibTorch takes these arguments only on the CPU, wherever the other tensors are.
bool is_on_cpu(const Node* n, const c10::Argument& a) {
  const auto is = [&](const char* name) { return n->kind() == c10::Symbol::fromQualString(name); };
  return a.name() == "batch_sizes" || a.name() == "tensor_indices_or_sections" ||
         (is("aten::_pack_padded_sequence") && a.name() == "lengths") ||
         (is("aten::randint_like") && a.name() == "high");
}
// LibTorch returns the lengths of sequences on the CPU. (batch_sizes stays there too:
// torch.nn.utils.rnn asks whether it does.)
bool result_is_on_cpu(const Node* n, size_t output) {
  return output == 1 && n->kind() == c10::Symbol::aten("_pad_packed_sequence");
}

// x.to(device): with no device, the CPU.
Value* moved_to(Value* x, std::optional<c10::Device> device, Node* before) {
  torch::jit::Graph& g = *x->owningGraph();
  const torch::jit::WithInsertPoint here(before);
  Value *none = g.insertConstant(c10::IValue()), *no = g.insertConstant(false);
  Node* n = g.insertNode(device ? g.create(c10::aten::to, {x, none, none, g.insertConstant(*device),
                                                           none, no, no, none})
                                : g.create(c10::Symbol::aten("cpu"), {x}));
  n->setSourceRange(before->sourceRange());
  return n->output();
}

void keep_on_cpu(Node* n, c10::Device target) {
  const auto* schema = n->maybeSchema();
  if (!schema) return;
  for (size_t i = 0; i < n->inputs().size() && i < schema->arguments().size(); ++i)
    if (is_on_cpu(n, schema->arguments()[i]) &&
        n->input(i)->type()->kind() == c10::TypeKind::TensorType)
      n->replaceInput(i, moved_to(n->input(i), std::nullopt, n));
  for (size_t i = 0; i < n->outputs().size(); ++i) {
    if (!result_is_on_cpu(n, i)) continue;
    Value* there = moved_to(n->output(i), target, n->next());
    n->output(i)->replaceAllUsesAfterNodeWith(there->node(), there);
  }
}

void visit(Block& b, c10::Device target) {
  for (auto it = b.nodes().begin(); it != b.nodes().end();) {
    Node* n = *it++;
    for (Block* inner : n->blocks()) visit(*inner, target);
    if (n->hasAttribute(c10::attr::Subgraph))  // fork
      visit(*n->g(c10::attr::Subgraph)->block(), target);
    const bool to_cpu = n->kind() == c10::Symbol::aten("cpu");
    const bool to_cuda = n->kind() == c10::Symbol::aten("cuda");
    if (!target.is_cpu() && (to_cpu || to_cuda)) {  // it is there
      n->output()->replaceAllUsesWith(n->input(0));
      n->destroy();
      continue;
    }
    if (!target.is_cpu()) keep_on_cpu(n, target);
    torch::jit::WithInsertPoint before(n);
    Node* replacement = nullptr;
    if (to_cuda) {
      replacement = b.owningGraph()->create(c10::Symbol::aten("cpu"), {n->input(0)});
      replacement->insertBefore(n);
    } else if (const auto device = constant_device(n)) {
      replacement = b.owningGraph()->insertConstant(*device)->node();
    } else if (const auto constant = moved(n, target)) {
      replacement = b.owningGraph()->insertConstant(*constant)->node();
    } else {
      set_devices(n, target);
      continue;
    }
    replacement->setSourceRange(n->sourceRange());
    n->output()->replaceAllUsesWith(replacement->output());
    n->destroy();
  }
}

void visit_all(torch::jit::CompilationUnit& functions, c10::Device target) {
  for (torch::jit::Function* f : functions.get_functions())
    if (auto* g = torch::jit::tryToGraphFunction(*f)) {
      g->ensure_defined();
      visit(*g->graph()->block(), target);
    }
}

}  // namespace

void allocate_on(c10::Device device, const torch::jit::Module& module) {
  visit_all(*module._ivalue()->compilation_unit(), device);
}

void allocate_on_current(torch::jit::CompilationUnit& functions) {
  const c10::Device device(current_device());
  if (!device.is_cpu()) visit_all(functions, device);
}

}  // namespace oe::torch_io
