// Operators that TorchScript has and LibTorch's dispatcher does not: checked before they run.
#include "lib/torch/script_operators.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <limits>

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

// All overloads of a name are registered again, since the first that takes the arguments is called.
void replace(const char* name, Check check) {
  // A copy: the registry's own vector changes.
  const auto overloads = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
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
}

}  // namespace

void check_script_operators() {
  static const bool once = [] {
    for (const char* name :
         {"aten::tensor", "aten::as_tensor", "aten::to", "aten::is_strides_like_format"})
      replace(name, check_enumeration_arguments);
    for (const char* name : {"aten::remainder", "aten::__round_to_zero_floordiv"})
      replace(name, check_division);
    for (const char* name : {"aten::floordiv", "aten::divmod", "aten::gcd"})
      replace(name, check_quotient);
    return true;
  }();
  (void)once;
}

}  // namespace oe::torch_io
