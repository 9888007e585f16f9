// Evaluation of operators that move elements or make them from a shape; any element type but
// string.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

int64_t rank_of(const TensorPtr& t) { return static_cast<int64_t>(t->dims().size()); }
TensorPtr at(const Inputs& in, size_t i) { return i < in.size() ? in[i] : nullptr; }

// Inputs that are not copied may be of any size; the result shares their bytes.
TensorPtr identity(const Node&, const Inputs& in, int64_t) { return in[0]; }

TensorPtr reshape(const Node& n, const Inputs& in, int64_t) {
  if (!at(in, 1)) return nullptr;
  Dims dims = in[1]->as_int64();
  const bool allow_zero = n.attributes.get_or<int64_t>("allowzero", 0);
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= in[0]->dims().size()) return nullptr;
      dims[i] = in[0]->dims()[i];
    }
    if (dims[i] == -1 && unknown < 0)
      unknown = static_cast<int64_t>(i);
    else if (dims[i] < 0)
      return nullptr;
    else if (__builtin_mul_overflow(known, dims[i], &known))
      return nullptr;
  }
  if (unknown >= 0) {
    if (known == 0 || in[0]->numel() % known) return nullptr;
    dims[unknown] = in[0]->numel() / known;
    known *= dims[unknown];
  }
  return known == in[0]->numel() ? with_dims(in[0], std::move(dims)) : nullptr;
}

TensorPtr flatten(const Node& n, const Inputs& in, int64_t) {
  const int64_t rank = rank_of(in[0]);
  int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return nullptr;
  Dims d{1, 1};
  for (int64_t i = 0; i < rank; ++i) d[i < axis ? 0 : 1] *= in[0]->dims()[i];
  return with_dims(in[0], std::move(d));
}

TensorPtr squeeze(const Node&, const Inputs& in, int64_t) {
  const auto axes = axes_of(at(in, 1), rank_of(in[0]));
  if (!axes) return nullptr;
  Dims dims;
  for (int64_t i = 0; i < rank_of(in[0]); ++i) {
    const int64_t d = in[0]->dims()[i];
    const bool drop = at(in, 1) ? std::binary_search(axes->begin(), axes->end(), i) : d == 1;
    if (drop && d != 1) return nullptr;
    if (!drop) dims.push_back(d);
  }
  return with_dims(in[0], std::move(dims));
}

TensorPtr unsqueeze(const Node&, const Inputs& in, int64_t) {
  if (!at(in, 1)) return nullptr;
  const int64_t rank = rank_of(in[0]) + in[1]->numel();
  const auto axes = axes_of(in[1], rank);
  if (!axes) return nullptr;
  Dims dims;
  auto next = in[0]->dims().begin();
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(std::binary_search(axes->begin(), axes->end(), i) ? 1 : *next++);
  return with_dims(in[0], std::move(dims));
}

TensorPtr transpose(const Node& n, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  if (!fits(x.dims(), x.dtype(), limit)) return nullptr;
  Ints perm;
  if (const auto* p = n.attributes.get<Ints>("perm"))
    perm = *p;
  else
    for (int64_t i = rank_of(in[0]); i-- > 0;) perm.push_back(i);
  if (perm.size() != x.dims().size()) return nullptr;
  constexpr size_t kDeferred = 1 << 16;  // bytes from which a weight is transposed when written
  if (perm == Ints{1, 0} && x.nbytes() >= kDeferred) return Tensor::transpose_of(in[0]);
  const Dims own = contiguous_strides(x.dims());
  Dims dims, strides;
  for (int64_t p : perm) {
    dims.push_back(x.dims()[p]);
    strides.push_back(own[p]);
  }
  return strided_copy(x, std::move(dims), 0, strides);
}

TensorPtr gather(const Node& n, const Inputs& in, int64_t limit) {
  const auto axis = normalized(n.attributes.get_or<int64_t>("axis", 0), rank_of(in[0]));
  if (!axis || !at(in, 1)) return nullptr;
  const Tensor &x = *in[0], &index = *in[1];
  Dims dims(x.dims().begin(), x.dims().begin() + *axis);
  dims.insert(dims.end(), index.dims().begin(), index.dims().end());
  dims.insert(dims.end(), x.dims().begin() + *axis + 1, x.dims().end());
  if (!fits(dims, x.dtype(), limit)) return nullptr;
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < rank_of(in[0]); ++i)
    (i < *axis ? outer : inner) *= i == *axis ? 1 : x.dims()[i];
  const int64_t length = x.dims()[*axis];
  const auto size = static_cast<int64_t>(byte_size(x.dtype())) * inner;
  Builder out(x.dtype(), dims);
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = out.data<std::byte>();
  const std::vector<int64_t> picks = index.as_int64();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t p : picks) {
      const auto i = normalized(p, length);
      if (!i) return nullptr;
      if (size) std::memcpy(to, from + (o * length + *i) * size, size);
      to += size;
    }
  return std::move(out).finish();
}

TensorPtr slice(const Node&, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  if (!at(in, 1) || !at(in, 2)) return nullptr;
  const Ints starts = in[1]->as_int64(), ends = in[2]->as_int64();
  Ints axes, steps(starts.size(), 1);
  if (at(in, 3))
    axes = in[3]->as_int64();
  else
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (at(in, 4)) steps = in[4]->as_int64();
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return nullptr;
  Dims dims = x.dims(), strides = contiguous_strides(x.dims());
  int64_t offset = 0;
  std::vector<bool> seen(dims.size(), false);
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = normalized(axes[k], rank_of(in[0]));
    // A step of -2^63 has no negation; no model means it.
    if (!axis || seen[*axis] || steps[k] == 0 || steps[k] == std::numeric_limits<int64_t>::min())
      return nullptr;
    seen[*axis] = true;
    const int64_t d = dims[*axis], step = steps[k];
    int64_t start = 0, length = 0;
    if (d > 0) {
      auto clamp = [&](int64_t i, int64_t low, int64_t high) {
        return std::clamp(i < 0 ? i + d : i, low, high);
      };
      start = step > 0 ? clamp(starts[k], 0, d) : clamp(starts[k], 0, d - 1);
      const int64_t end = step > 0 ? clamp(ends[k], 0, d) : clamp(ends[k], -1, d - 1);
      const int64_t span = step > 0 ? end - start : start - end, by = step > 0 ? step : -step;
      length = span <= 0 ? 0 : (span - 1) / by + 1;
    }
    offset += length ? start * strides[*axis] : 0;
    dims[*axis] = length;
    // With one element left the stride is never used, and step * stride might overflow.
    strides[*axis] = length > 1 ? strides[*axis] * step : 0;
  }
  if (!fits(dims, x.dtype(), limit)) return nullptr;
  return strided_copy(x, std::move(dims), offset, strides);
}

TensorPtr concat(const Node& n, const Inputs& in, int64_t limit) {
  const auto axis = normalized(n.attributes.get_or<int64_t>("axis", 0), rank_of(in[0]));
  if (!axis) return nullptr;
  Dims dims = in[0]->dims();
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < rank_of(in[0]); ++i)
    (i < *axis ? outer : inner) *= i == *axis ? 1 : dims[i];
  dims[*axis] = 0;
  for (const TensorPtr& t : in) {
    if (!t || t->dtype() != in[0]->dtype() || rank_of(t) != rank_of(in[0])) return nullptr;
    for (int64_t i = 0; i < rank_of(t); ++i)
      if (i != *axis && t->dims()[i] != dims[i]) return nullptr;
    dims[*axis] += t->dims()[*axis];
  }
  if (!fits(dims, in[0]->dtype(), limit)) return nullptr;
  Builder out(in[0]->dtype(), dims);
  auto* to = out.data<std::byte>();
  const auto size = byte_size(in[0]->dtype()) * static_cast<size_t>(inner);
  for (int64_t o = 0; o < outer; ++o)
    for (const TensorPtr& t : in) {
      const size_t row = size * static_cast<size_t>(t->dims()[*axis]);
      if (row) std::memcpy(to, static_cast<const std::byte*>(t->data()) + o * row, row);
      to += row;
    }
  return std::move(out).finish();
}

TensorPtr expand(const Node&, const Inputs& in, int64_t limit) {
  if (!at(in, 1)) return nullptr;
  const auto dims = broadcast(in[0]->dims(), in[1]->as_int64());
  if (!dims || !fits(*dims, in[0]->dtype(), limit)) return nullptr;
  return strided_copy(*in[0], *dims, 0, broadcast_strides(in[0]->dims(), *dims));
}

TensorPtr constant_of_shape(const Node& n, const Inputs& in, int64_t limit) {
  TensorPtr value = Tensor::of<float>(DType::Float, {1}, {0.0f});
  if (const auto* v = n.attributes.get<TensorPtr>("value")) value = *v;
  const Dims dims = in[0]->as_int64();
  if (value->numel() != 1 || value->dtype() == DType::String || !fits(dims, value->dtype(), limit))
    return nullptr;
  return strided_copy(*value, dims, 0, Dims(dims.size(), 0));
}

TensorPtr range(const Node&, const Inputs& in, int64_t limit) {
  if (!at(in, 1) || !at(in, 2)) return nullptr;
  const DType t = in[0]->dtype();
  if (t != DType::Int64 && t != DType::Int32)
    return nullptr;  // floats depend on the rounding order
  for (const TensorPtr& i : in)
    if (i->numel() != 1 || i->dtype() != t) return nullptr;
  const int64_t start = in[0]->as_int64()[0], end = in[1]->as_int64()[0],
                step = in[2]->as_int64()[0];
  int64_t span = 0;
  if (step == 0 || step == std::numeric_limits<int64_t>::min() ||
      __builtin_sub_overflow(end, start, &span))
    return nullptr;
  const int64_t n =
      (span > 0) != (step > 0) || span == 0 ? 0 : (span - (step > 0 ? 1 : -1)) / step + 1;
  if (!fits({n}, t, limit)) return nullptr;
  std::vector<int64_t> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = start + i * step;
  if (t == DType::Int64) return Tensor::of<int64_t>(t, {n}, values);
  return Tensor::of<int32_t>(t, {n}, std::vector<int32_t>(values.begin(), values.end()));
}

TensorPtr tile(const Node&, const Inputs& in, int64_t limit) {
  if (!at(in, 1)) return nullptr;
  const Ints repeats = in[1]->as_int64();
  const Tensor& x = *in[0];
  if (repeats.size() != x.dims().size()) return nullptr;
  // Each axis of length d repeated r times is an axis pair (r, d) whose first stride is 0.
  Dims pairs, strides, dims;
  const Dims own = contiguous_strides(x.dims());
  for (size_t i = 0; i < repeats.size(); ++i) {
    int64_t d = 0;
    if (repeats[i] < 0 || __builtin_mul_overflow(repeats[i], x.dims()[i], &d)) return nullptr;
    dims.push_back(d);
    pairs.insert(pairs.end(), {repeats[i], x.dims()[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  if (!fits(dims, x.dtype(), limit)) return nullptr;
  return with_dims(strided_copy(x, std::move(pairs), 0, strides), std::move(dims));
}

TensorPtr shape(const Node& n, const Inputs& in, int64_t) {
  const int64_t rank = rank_of(in[0]);
  auto bound = [&](std::string_view name, int64_t fallback) {
    const int64_t v = n.attributes.get_or<int64_t>(name, fallback);
    return slice_bound(v, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return Tensor::of<int64_t>(DType::Int64, {end - start},
                             Ints(in[0]->dims().begin() + start, in[0]->dims().begin() + end));
}

TensorPtr size(const Node&, const Inputs& in, int64_t) {
  return Tensor::of<int64_t>(DType::Int64, {}, {in[0]->numel()});
}

constexpr std::array kMovements = {
    EvaluatorRow{"Identity", identity},
    EvaluatorRow{"Reshape", reshape},
    EvaluatorRow{"Flatten", flatten},
    EvaluatorRow{"Squeeze", squeeze},
    EvaluatorRow{"Unsqueeze", unsqueeze},
    EvaluatorRow{"Transpose", transpose},
    EvaluatorRow{"Gather", gather},
    EvaluatorRow{"Slice", slice},
    EvaluatorRow{"Concat", concat},
    EvaluatorRow{"Expand", expand},
    EvaluatorRow{"ConstantOfShape", constant_of_shape},
    EvaluatorRow{"Range", range},
    EvaluatorRow{"Tile", tile},
    EvaluatorRow{"Shape", shape},
    EvaluatorRow{"Size", size},
};

}  // namespace

std::span<const EvaluatorRow> movement_evaluators() { return kMovements; }

}  // namespace oe::optimize
