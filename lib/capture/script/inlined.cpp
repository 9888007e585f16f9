// What LibTorch's default executor makes of a graph before it runs it, where that can be seen.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <unordered_set>

#include "lib/capture/executor.h"

namespace oe::capture {

namespace prim = c10::prim;

namespace {

// The constant that `v` is in the code once calls are inlined; null: none.
JitNode* constant_behind(const JitValue* v, const Frame& f) {
  if (v->node()->kind() == prim::Constant) return const_cast<JitNode*>(v->node());
  const auto it = f.constants.find(v);
  return it == f.constants.end() ? nullptr : it->second;
}

}  // namespace

// LibTorch's default executor inlines calls first: an argument or result that is a constant in the
// code is then a constant where it is used.
void Interpreter::run_callee(JitNode* n, Frame& f, torch::jit::Function& callee,
                             std::vector<AbstractValue> args, const std::string& path,
                             const ModuleCallPtr& call) {
  Frame frame;
  frame.path = path;
  frame.call = call;
  const size_t first = n->inputs().size() - args.size();
  JitBlock* block = code_of(callee);
  for (size_t i = 0; i < args.size(); ++i)
    if (JitNode* constant = constant_behind(n->input(first + i), f))
      frame.constants[block->inputs()[i]] = constant;
  AbstractValue result = run_code(block, std::move(args), frame);
  if (JitNode* constant = constant_behind(block->outputs()[0], frame))
    f.constants[n->output()] = constant;
  f.set(n, {std::move(result)});
}

// A trace writes Python's numbers as 0-d tensors, which promote differently. LibTorch's default
// executor makes them numbers again where they stand directly as the second operand of these four
// (its pass CanonicalizeOps); anything in between (`to`, `detach`) leaves a tensor.
const OpInfo& Interpreter::with_number_operand(const OpInfo& op, const JitNode* n, const Frame& f,
                                               std::vector<AbstractValue>& args) {
  static const std::unordered_set<std::string> four = {"aten::add.Tensor", "aten::sub.Tensor",
                                                       "aten::mul.Tensor", "aten::div.Tensor"};
  if (!four.contains(op.name)) return op;
  JitNode* constant = constant_behind(n->input(1), f);
  const auto value = constant ? torch::jit::toIValue(constant->output()) : std::nullopt;
  if (!value || !value->isTensor() || value->toTensor().dim() != 0) return op;
  args[1] = ex_.values.constant(c10::IValue(value->toTensor().item()), "");
  return ex_.operators.named(op.base + ".Scalar");
}

}  // namespace oe::capture
