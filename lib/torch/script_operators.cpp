// Operators that TorchScript has and LibTorch's dispatcher does not: checked before they run.
#include "lib/torch/script_operators.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <limits>
#include <memory>
#include <vector>

#include "lib/torch/enumerations.h"

namespace oe::torch_io {
namespace {

using torch::jit::Stack;
using Check = void (*)(const c10::FunctionSchema&, const Stack&);

// The processor traps where a quotient does not fit, and LibTorch does not look.
void check_quotient(const c10::FunctionSchema& schema, const Stack& stack) {
  const size_t n = stack.size();
  if (n < 2 || !stack[n - 1].isInt() || !stack[n - 2].isInt()) return;
  TORCH_CHECK(
      stack[n - 1].toInt() != -1 || stack[n - 2].toInt() != std::numeric_limits<int64_t>::min(),
      schema.name(), ": the result does not fit 64 bits");
}

void check_division(const c10::FunctionSchema& schema, const Stack& stack) {
  check_quotient(schema, stack);
  TORCH_CHECK(!stack.back().isInt() || stack.back().toInt() != 0, schema.name(),
              ": division by zero");
}

using Overloads = std::vector<std::shared_ptr<torch::jit::Operator>>;

// All overloads of a name are registered again, since the first that takes the arguments is called.
// Returns those that were registered before.
Overloads replace(const char* name, Check check) {
  // A copy: the registry's own vector changes.
  Overloads overloads = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
  for (const auto& op : overloads) torch::jit::deregisterOperator(op->schema());
  for (const auto& op : overloads) {
    if (op->isC10Op()) {
      torch::jit::registerOperator(torch::jit::Operator(*op));
      continue;
    }
    const c10::FunctionSchema& schema = op->schema();
    torch::jit::registerOperator(torch::jit::Operator(
        schema.name(), schema.overload_name(), schema.arguments(), schema.returns(),
        [op, check](Stack& stack) {
          check(op->schema(), stack);
          op->getOperation()(stack);
        },
        op->aliasAnalysisKind()));
  }
  return overloads;
}

}  // namespace

void check_script_operators() {
  // Nodes of graphs that were compiled before point at the operators of that time.
  static const std::vector<Overloads> kept = [] {
    std::vector<Overloads> all;
    for (const char* name :
         {"aten::tensor", "aten::as_tensor", "aten::to", "aten::is_strides_like_format"})
      all.push_back(replace(name, check_enumeration_arguments));
    for (const char* name : {"aten::remainder", "aten::__round_to_zero_floordiv"})
      all.push_back(replace(name, check_division));
    for (const char* name : {"aten::floordiv", "aten::divmod", "aten::gcd"})
      all.push_back(replace(name, check_quotient));
    return all;
  }();
  (void)kept;
}

}  // namespace oe::torch_io
