// Kernels of LibTorch that trust the sizes they are given: checked before they run.
//
// The checks sit in LibTorch's dispatcher, on a key of its own for tests that nothing else uses, so
// that they hold for operators that capture runs and for those inside a whole method. Found by
// running operators at wrong sizes, under valgrind and with other values behind their arguments;
// kernels that do check are not here.
#include "lib/torch/unchecked.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/sum.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "lib/torch/enumerations.h"
#include "lib/torch/script_operators.h"

namespace oe::torch_io {
namespace {

using torch::jit::Stack;

void require_size(const char* what, const at::Tensor& t, at::IntArrayRef wanted) {
  TORCH_CHECK(t.sizes() == wanted, "Expected ", what, " of size ", wanted, ", got ", t.sizes());
}

// The arguments of a call, by their place in the schema or by their name.
class Arguments {
 public:
  Arguments(const c10::OperatorHandle& op, const Stack& stack)
      : schema_(op.schema()), first_(stack.data() + stack.size() - schema_.arguments().size()) {}
  const c10::IValue& operator[](size_t k) const { return first_[k]; }
  const c10::IValue& operator[](const char* name) const {
    return first_[static_cast<size_t>(schema_.argumentIndexWithName(name).value())];
  }
  // The tensor of that name; undefined where the operator has none, or it was left out.
  at::Tensor tensor(const char* name) const {
    const auto at = schema_.argumentIndexWithName(name);
    return at && first_[*at].isTensor() ? first_[*at].toTensor() : at::Tensor();
  }

 private:
  const c10::FunctionSchema& schema_;
  const c10::IValue* first_;
};

// LibTorch's own kernel (of packed sequences, of float64, of a projection: h and c of different
// widths) checks the sizes, but it reads as many layers of c as there are of h.
void check_lstm_state(const Arguments& args) {
  const auto state = args["hx"].toTensorVector();
  TORCH_CHECK(state.size() != 2 || state[0].dim() == 0 || state[1].dim() == 0 ||
                  state[0].size(0) <= state[1].size(0),
              "Expected hidden[1] to have the layers of hidden[0]");
}

// oneDNN's kernel, which runs in these element types, takes all sizes from the input and the
// weights.
void check_lstm(const Arguments& args) {
  check_lstm_state(args);
  const at::Tensor input = args.tensor("input");
  const auto state = args["hx"].toTensorVector();
  const auto weights = args["params"].toTensorVector();
  const bool biases = args["has_biases"].toBool();
  const int64_t layers = args["num_layers"].toInt();
  const int64_t directions = args["bidirectional"].toBool() ? 2 : 1;
  const bool batch_first = args["batch_first"].toBool();
  const at::ScalarType t = input.scalar_type();
  if (t != at::kFloat && t != at::kBFloat16 && t != at::kHalf) return;
  TORCH_CHECK(input.dim() == 3, "Expected an input of rank 3, got ", input.dim());
  if (state.size() != 2 || weights.size() < 2) return;
  for (const auto& tensors : {state, weights})
    for (const at::Tensor& other : tensors)
      TORCH_CHECK(other.scalar_type() == t, "Expected states and weights of type ", t, ", got ",
                  other.scalar_type());
  const int64_t hidden = weights[1].dim() == 2 ? weights[1].size(1) : -1;
  const size_t step = biases ? 4 : 2;
  // With projections, which are further weights, h and c differ.
  const bool projected = weights.size() != step * static_cast<size_t>(layers * directions);
  TORCH_CHECK(state[0].dim() == 3 && state[1].dim() == 3, "Expected states of rank 3");
  if (hidden < 0) return;
  if (projected && state[0].size(2) != state[1].size(2)) return;
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

// The gates are cut along axis 1, which is theirs in a matrix.
void check_cell(const Arguments& args) {
  const c10::IValue& hx = args["hx"];
  const std::vector<at::Tensor> states =
      hx.isTensor() ? std::vector<at::Tensor>{hx.toTensor()} : hx.toTensorVector();
  TORCH_CHECK(args.tensor("input").dim() <= 2, "Expected an input of rank 2");
  for (const at::Tensor& state : states) TORCH_CHECK(state.dim() <= 2, "Expected states of rank 2");
}

// Integer division by a step whose fraction is cut off.
void check_range(const Arguments& args) {
  const auto type = args["dtype"].toOptional<at::ScalarType>();
  const at::Scalar step = args["step"].toScalar();
  TORCH_CHECK(!type || !at::isIntegralType(*type, true) || step.to<double>() <= -1 ||
                  step.to<double>() >= 1,
              "step must be nonzero");
}

void check_attention(const Arguments& args) {
  const at::Tensor key = args.tensor("key"), value = args.tensor("value");
  if (key.dim() < 2 || value.dim() < 2 || key.is_nested()) return;
  TORCH_CHECK(key.size(-2) == value.size(-2), "Expected as many values as keys, got ",
              value.sizes(), " and ", key.sizes());
}

void check_batch_norm(const Arguments& args) {
  const at::Tensor x = args.tensor("input");
  if (x.dim() < 2) return;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    if (const at::Tensor t = args.tensor(name); t.defined()) require_size(name, t, {x.size(1)});
}

// The sizes come as arguments, not from the tensor.
void check_group_norm(const Arguments& args) {
  const at::Tensor x = args.tensor("input");
  int64_t wanted = 1;
  for (const char* size : {"N", "C", "HxW"}) wanted *= args[size].toInt();
  TORCH_CHECK(x.numel() == wanted, "Expected ", wanted, " elements, got ", x.numel());
}

// The result has the input's elements, of which a larger target writes more than there are.
void check_entropy(const Arguments& args) {
  TORCH_CHECK(args.tensor("target").numel() <= args.tensor("self").numel(),
              "Expected a target of at most ", args.tensor("self").numel(), " elements, got ",
              args.tensor("target").numel());
}

void require_contiguous(const char* what, const at::Tensor& t) {
  TORCH_CHECK(t.is_contiguous(), "Expected ", what, " to be contiguous");
}

// One norm for each slice of v along `dim`, which is its first axis or its last one; the memory is
// read one number behind the other, and divided among the slices.
void check_weight_norm(const Arguments& args) {
  const at::Tensor v = args.tensor("v"), g = args.tensor("g");
  require_contiguous("v", v);
  require_contiguous("g", g);
  TORCH_CHECK(v.numel() > 0, "Expected numbers in v, got ", v.sizes());
  const int64_t dim = args["dim"].toInt();
  if (v.dim() == 0 || dim < -v.dim() || dim >= v.dim()) return;
  TORCH_CHECK(g.numel() == v.size(dim), "Expected ", v.size(dim), " norms, got ", g.sizes());
  TORCH_CHECK(g.scalar_type() == v.scalar_type(), "Expected norms of type ", v.scalar_type());
}

void check_int8(const Arguments& args) { require_contiguous("the scales", args.tensor("scales")); }

void check_qkv(const Arguments& args) {
  const at::Tensor qkv = args.tensor("qkv");
  if (qkv.dim() == 3 && !qkv.is_nested())
    require_size("the bias", args.tensor("qkv_bias"), {qkv.size(2)});
}

// A row is exchanged for each pivot.
void check_lu(const Arguments& args) {
  const at::Tensor lu = args.tensor("LU_data"), pivots = args.tensor("LU_pivots");
  if (lu.dim() < 2 || pivots.dim() == 0) return;
  TORCH_CHECK(pivots.size(-1) <= lu.size(-2), "Expected at most ", lu.size(-2), " pivots, got ",
              pivots.size(-1));
}

// A bag ends where the next one begins.
void check_bags(const Arguments& args) {
  const at::Tensor offsets = args.tensor("offsets");
  if (offsets.dim() != 1 || offsets.numel() < 2) return;
  TORCH_CHECK(at::min(offsets.diff()).item<int64_t>() >= 0, "Expected offsets in order");
}

// Only the targets are looked up unchecked, as many of each row as its length says (the rest is
// padding of any value).
void check_ctc(const Arguments& args) {
  const at::Tensor probabilities = args.tensor("log_probs");
  const at::Tensor targets = args.tensor("targets").to(at::kCPU, at::kLong).contiguous();
  const c10::IValue& given = args["target_lengths"];
  if (probabilities.dim() == 0 || targets.dim() == 0) return;
  std::vector<int64_t> lengths;
  if (given.isIntList()) {
    lengths = given.toIntVector();
  } else {
    const at::Tensor t = given.toTensor().to(at::kCPU, at::kLong).contiguous();
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
void check_segments(const Arguments& args) {
  const at::Tensor data = args.tensor("data");
  const at::Tensor lengths = args.tensor("lengths"), offsets = args.tensor("offsets");
  const int64_t axis = args["axis"].toInt();
  if (axis >= data.dim() || axis < -data.dim()) return;
  const int64_t n = data.size(axis);
  const auto before =
      data.sizes().slice(0, static_cast<size_t>(axis < 0 ? axis + data.dim() : axis));
  for (const at::Tensor& t : {lengths, offsets})
    TORCH_CHECK(!t.defined() || t.dim() == 0 || t.sizes().slice(0, t.dim() - 1) == before,
                "Expected segments for each of ", before, ", got ", t.sizes());
  if (lengths.defined() && lengths.numel() > 0)
    TORCH_CHECK(at::min(lengths).item<int64_t>() >= 0 &&
                    at::max(at::sum(lengths, {-1})).item<int64_t>() <= n,
                "Expected segments of ", n, " rows together");
  if (offsets.defined() && offsets.numel() > 0)
    TORCH_CHECK(at::min(offsets).item<int64_t>() >= 0 && at::max(offsets).item<int64_t>() <= n,
                "Expected offsets up to ", n);
}

// Composite operators count axes from the front before they ask for these.
void check_fft(const Arguments& args) {
  const int64_t rank = args.tensor("self").dim();
  for (const int64_t axis : args["dim"].toIntVector())
    TORCH_CHECK(axis >= 0 && axis < rank, "Expected axes from 0 to ", rank - 1, ", got ", axis);
}

// Sizes and strides as they are given, over the memory that there is.
void check_alias(const Arguments& args) {
  const at::Tensor self = args.tensor("self");
  const auto sizes = args["size"].toIntVector(), strides = args["stride"].toIntVector();
  TORCH_CHECK(sizes.size() == strides.size(), "Expected as many strides as sizes");
  const auto available =
      static_cast<int64_t>(self.storage().nbytes() / self.itemsize()) - self.storage_offset();
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] >= 0 && strides[i] >= 0, "Expected no negative size or stride");
    if (sizes[i] == 0) return;
    int64_t reach = 0;
    TORCH_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                    !__builtin_add_overflow(last, reach, &last),
                "Expected smaller sizes");
  }
  TORCH_CHECK(last < available, "Expected a view inside the tensor's storage");
}

// Indices of sparse tensors, and what per-channel quantization scales by, are trusted by kernels
// once they were checked: a tensor that has them shares them with nothing that code could write.
// The scales that q_per_channel_scales() returns stay shared: QNNPACK reads it through a pointer
// whose tensor is gone by then, and other scales give other numbers, not other memory.
void copy_arguments(const c10::OperatorHandle& op, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack->size() - count; i < stack->size(); ++i)
    if (c10::IValue& v = (*stack)[i]; v.isTensor() && v.toTensor().defined())
      v = v.toTensor().clone();
  check_enumeration_arguments(op.schema(), *stack);
  const c10::impl::ExcludeDispatchKeyGuard inside(kCheckedKey);
  op.callBoxed(stack);
}

void copy_result(const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard inside(kCheckedKey);
  op.callBoxed(stack);
  stack->back() = stack->back().toTensor().clone();
}

template <void (*Check)(const Arguments&)>
void checked(const c10::OperatorHandle& op, Stack* stack) {
  check_enumeration_arguments(op.schema(), *stack);
  Check(Arguments(op, *stack));
  const c10::impl::ExcludeDispatchKeyGuard inside(kCheckedKey);
  op.callBoxed(stack);
}

template <void (*Kernel)(const c10::OperatorHandle&, Stack*)>
void replace(torch::Library& m, std::initializer_list<const char*> operators) {
  for (const char* name : operators)
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<Kernel>());
}

template <void (*Check)(const Arguments&)>
void guard(torch::Library& m, std::initializer_list<const char*> operators) {
  for (const char* name : operators)
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&checked<Check>>());
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, m) {
  guard<check_lstm>(m, {"lstm.input"});
  guard<check_lstm_state>(m, {"lstm.data"});
  guard<check_cell>(m, {"lstm_cell", "gru_cell"});
  guard<check_range>(m, {"range.step"});
  guard<check_attention>(m, {"scaled_dot_product_attention"});
  guard<check_batch_norm>(
      m, {"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats",
          "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional",
          "_batch_norm_no_update", "_batch_norm_with_update"});
  guard<check_entropy>(m, {"binary_cross_entropy", "binary_cross_entropy_backward"});
  guard<check_group_norm>(m, {"native_group_norm"});
  guard<check_weight_norm>(m, {"_weight_norm_interface"});
  guard<check_int8>(m, {"_weight_int8pack_mm"});
  guard<check_qkv>(m, {"_transform_bias_rescale_qkv"});
  guard<check_lu>(m, {"lu_unpack"});
  guard<check_bags>(m, {"_embedding_bag", "_embedding_bag_forward_only"});
  guard<check_ctc>(m, {"_ctc_loss", "_ctc_loss.Tensor"});
  guard<check_segments>(m, {"segment_reduce"});
  guard<check_alias>(m, {"_reshape_alias"});
  guard<check_fft>(
      m, {"_fft_c2c", "_fft_c2c.out", "_fft_r2c", "_fft_r2c.out", "_fft_c2r", "_fft_c2r.out"});
  replace<&copy_arguments>(
      m, {"sparse_coo_tensor.indices", "sparse_coo_tensor.indices_size",
          "sparse_compressed_tensor.comp_plain_value",
          "sparse_compressed_tensor.comp_plain_value_size", "sparse_csr_tensor.crow_col_value",
          "sparse_csr_tensor.crow_col_value_size", "sparse_csc_tensor.ccol_row_value",
          "sparse_csc_tensor.ccol_row_value_size", "sparse_bsr_tensor.crow_col_value",
          "sparse_bsr_tensor.crow_col_value_size", "sparse_bsc_tensor.ccol_row_value",
          "sparse_bsc_tensor.ccol_row_value_size", "quantize_per_channel",
          "_make_per_channel_quantized_tensor", "_empty_per_channel_affine_quantized"});
  replace<&copy_result>(
      m, {"indices", "_indices", "crow_indices", "ccol_indices", "col_indices", "row_indices"});
}

void check_kernels() {
  check_enumerations();
  check_script_operators();
  c10::impl::tls_set_dispatch_key_included(kCheckedKey, true);
}

}  // namespace oe::torch_io
