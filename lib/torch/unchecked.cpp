// Kernels of LibTorch that trust the sizes they are given: checked before they run.
//
// The checks sit in LibTorch's dispatcher, on a key of its own for tests that nothing else uses, so
// that they hold for operators that capture runs and for those inside a whole method. Found by
// running operators at wrong sizes under valgrind; those of the kernels that do check are not here.
#include "lib/torch/unchecked.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace oe::torch_io {
namespace {

using torch::jit::Stack;

constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

void require_size(const char* what, const at::Tensor& t, at::IntArrayRef wanted) {
  TORCH_CHECK(t.sizes() == wanted, "Expected ", what, " of size ", wanted, ", got ", t.sizes());
}

// oneDNN's kernel, which runs in these element types, takes all sizes from the input and the
// weights. With a projection (h and c of different widths) another one runs, which checks.
void check_lstm(const Stack& stack) {
  const at::Tensor input = stack[stack.size() - 9].toTensor();
  const auto state = stack[stack.size() - 8].toTensorVector();
  const auto weights = stack[stack.size() - 7].toTensorVector();
  const bool biases = stack[stack.size() - 6].toBool();
  const int64_t layers = stack[stack.size() - 5].toInt();
  const int64_t directions = stack[stack.size() - 2].toBool() ? 2 : 1;
  const bool batch_first = stack[stack.size() - 1].toBool();
  const at::ScalarType t = input.scalar_type();
  if (t != at::kFloat && t != at::kBFloat16 && t != at::kHalf) return;
  if (input.dim() != 3 || state.size() != 2 || weights.size() < 2) return;
  const int64_t hidden = weights[1].dim() == 2 ? weights[1].size(1) : -1;
  if (hidden < 0 || state[0].dim() != 3 || state[0].size(2) != state[1].size(2)) return;
  const size_t step = biases ? 4 : 2;
  TORCH_CHECK(weights.size() == step * static_cast<size_t>(layers * directions), "Expected ",
              step * static_cast<size_t>(layers * directions), " weights, got ", weights.size());
  for (size_t i = 0; i < weights.size(); i += step) {
    const bool first = static_cast<int64_t>(i / step) < directions;
    require_size("input weights", weights[i],
                 {4 * hidden, first ? input.size(2) : hidden * directions});
    require_size("hidden weights", weights[i + 1], {4 * hidden, hidden});
    for (size_t b = 2; b < step; ++b) require_size("a bias", weights[i + b], {4 * hidden});
  }
  const int64_t batch = input.size(batch_first ? 0 : 1);
  require_size("hidden[0]", state[0], {layers * directions, batch, hidden});
  require_size("hidden[1]", state[1], {layers * directions, batch, hidden});
}

// Integer division by a step whose fraction is cut off.
void check_range(const Stack& stack) {
  const auto type = stack[stack.size() - 4].toOptional<at::ScalarType>();
  const at::Scalar step = stack[stack.size() - 5].toScalar();
  TORCH_CHECK(!type || !at::isIntegralType(*type, true) || step.to<double>() <= -1 ||
                  step.to<double>() >= 1,
              "step must be nonzero");
}

template <void (*Check)(const Stack&)>
void checked(const c10::OperatorHandle& op, Stack* stack) {
  Check(*stack);
  const c10::impl::ExcludeDispatchKeyGuard inside(kKey);
  op.callBoxed(stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, m) {
  m.impl("lstm.input", torch::CppFunction::makeFromBoxedFunction<&checked<&check_lstm>>());
  m.impl("range.step", torch::CppFunction::makeFromBoxedFunction<&checked<&check_range>>());
}

void check_kernels() { c10::impl::tls_set_dispatch_key_included(kKey, true); }

}  // namespace oe::torch_io
