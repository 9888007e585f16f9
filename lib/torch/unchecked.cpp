// Kernels of LibTorch that trust the sizes they are given: checked before they run.
//
// The checks sit in LibTorch's dispatcher, on a key of its own for tests that nothing else uses, so
// that they hold for operators that capture runs and for those inside a whole method. Found by
// running operators at wrong sizes under valgrind; those of the kernels that do check are not here.
#include "lib/torch/unchecked.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/sum.h>
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
// weights. The other one (float64, or a projection: h and c of different widths) checks them, but
// it reads as many layers of c as there are of h.
void check_lstm(const Stack& stack) {
  const at::Tensor input = stack[stack.size() - 9].toTensor();
  const auto state = stack[stack.size() - 8].toTensorVector();
  const auto weights = stack[stack.size() - 7].toTensorVector();
  const bool biases = stack[stack.size() - 6].toBool();
  const int64_t layers = stack[stack.size() - 5].toInt();
  const int64_t directions = stack[stack.size() - 2].toBool() ? 2 : 1;
  const bool batch_first = stack[stack.size() - 1].toBool();
  TORCH_CHECK(state.size() != 2 || state[0].dim() == 0 || state[1].dim() == 0 ||
                  state[0].size(0) <= state[1].size(0),
              "Expected hidden[1] to have the layers of hidden[0]");
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

// The k-th of the n arguments on the stack.
const c10::IValue& argument(const Stack& stack, size_t n, size_t k) {
  return stack[stack.size() - n + k];
}

void check_attention(const Stack& stack) {
  const at::Tensor key = argument(stack, 8, 1).toTensor(), value = argument(stack, 8, 2).toTensor();
  if (key.dim() < 2 || value.dim() < 2 || key.is_nested()) return;
  TORCH_CHECK(key.size(-2) == value.size(-2), "Expected as many values as keys, got ",
              value.sizes(), " and ", key.sizes());
}

void check_batch_norm(const Stack& stack) {
  const at::Tensor x = argument(stack, 8, 0).toTensor();
  if (x.dim() < 2) return;
  const char* names[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t k = 1; k <= 4; ++k)
    if (const c10::IValue& v = argument(stack, 8, k); v.isTensor() && v.toTensor().defined())
      require_size(names[k - 1], v.toTensor(), {x.size(1)});
}

// Only the targets are looked up unchecked, as many of each row as its length says (the rest is
// padding of any value).
void check_ctc(const Stack& stack) {
  const at::Tensor probabilities = argument(stack, 6, 0).toTensor();
  const at::Tensor targets = argument(stack, 6, 1).toTensor().to(at::kLong).contiguous();
  const c10::IValue& given = argument(stack, 6, 3);
  if (probabilities.dim() == 0 || targets.dim() == 0) return;
  std::vector<int64_t> lengths;
  if (given.isIntList()) {
    lengths = given.toIntVector();
  } else {
    const at::Tensor t = given.toTensor().to(at::kLong).contiguous();
    lengths.assign(t.const_data_ptr<int64_t>(), t.const_data_ptr<int64_t>() + t.numel());
  }
  const auto* target = targets.const_data_ptr<int64_t>();
  const int64_t row = targets.dim() == 2 ? targets.size(1) : 0;  // 0: one behind the other
  for (size_t i = 0, start = 0; i < lengths.size(); ++i, start += row ? row : lengths[i - 1])
    for (int64_t k = 0; k < lengths[i]; ++k) {
      const int64_t at = static_cast<int64_t>(start) + k;
      if (at >= targets.numel() || (row && k >= row)) return;  // LibTorch checks the lengths
      TORCH_CHECK(target[at] >= 0 && target[at] < probabilities.size(-1), "Expected targets below ",
                  probabilities.size(-1), ", got ", target[at]);
    }
}

// `lengths` is looked at only where `unsafe` is false, `offsets` never.
void check_segments(const Stack& stack) {
  const at::Tensor data = argument(stack, 8, 0).toTensor();
  const c10::IValue &lengths = argument(stack, 8, 2), &offsets = argument(stack, 8, 4);
  const int64_t axis = argument(stack, 8, 5).toInt();
  if (axis >= data.dim() || axis < -data.dim()) return;
  const int64_t n = data.size(axis);
  if (lengths.isTensor() && lengths.toTensor().numel() > 0)
    TORCH_CHECK(at::min(lengths.toTensor()).item<int64_t>() >= 0 &&
                    at::max(at::sum(lengths.toTensor(), {-1})).item<int64_t>() <= n,
                "Expected segments of ", n, " rows together");
  if (offsets.isTensor() && offsets.toTensor().numel() > 0)
    TORCH_CHECK(at::min(offsets.toTensor()).item<int64_t>() >= 0 &&
                    at::max(offsets.toTensor()).item<int64_t>() <= n,
                "Expected offsets up to ", n);
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
  m.impl("scaled_dot_product_attention",
         torch::CppFunction::makeFromBoxedFunction<&checked<&check_attention>>());
  m.impl("native_batch_norm",
         torch::CppFunction::makeFromBoxedFunction<&checked<&check_batch_norm>>());
  for (const char* form : {"_ctc_loss", "_ctc_loss.Tensor"})
    m.impl(form, torch::CppFunction::makeFromBoxedFunction<&checked<&check_ctc>>());
  m.impl("segment_reduce", torch::CppFunction::makeFromBoxedFunction<&checked<&check_segments>>());
}

void check_kernels() { c10::impl::tls_set_dispatch_key_included(kKey, true); }

}  // namespace oe::torch_io
