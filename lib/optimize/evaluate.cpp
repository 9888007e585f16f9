// Evaluation of standard operators on constants: the lookup, and operators of several outputs.
#include "lib/optimize/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

const std::unordered_map<std::string_view, Evaluator>& table() {
  static const auto rows = [] {
    std::unordered_map<std::string_view, Evaluator> all;
    for (auto family : {elementwise_evaluators(), reduction_evaluators(), movement_evaluators()})
      for (const EvaluatorRow& r : family) all.emplace(r.op, r.run);
    all.emplace("Cast", evaluate_cast);
    return all;
  }();
  return rows;
}

std::vector<TensorPtr> split(const Node& n, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  const auto axis =
      normalized(n.attributes.get_or<int64_t>("axis", 0), static_cast<int64_t>(x.dims().size()));
  const auto parts = static_cast<int64_t>(n.outputs.size());
  if (!axis || !fits(x.dims(), x.dtype(), limit)) return {};
  const int64_t length = x.dims()[*axis];
  Ints sizes;
  if (in.size() > 1 && in[1]) {
    sizes = in[1]->as_int64();
  } else {  // equal parts; the last one is smaller when they do not divide the length
    const int64_t chunk = (length + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<int64_t>(length - i * chunk, 0, chunk));
  }
  int64_t total = 0;
  for (int64_t s : sizes) total += s;
  if (static_cast<int64_t>(sizes.size()) != parts || total != length) return {};
  std::vector<TensorPtr> out;
  const Dims strides = contiguous_strides(x.dims());
  int64_t start = 0;
  for (int64_t s : sizes) {
    Dims dims = x.dims();
    dims[*axis] = s;
    out.push_back(strided_copy(x, dims, start * strides[*axis], strides));
    start += s;
  }
  return out;
}

}  // namespace

bool fits(const Dims& dims, DType t, int64_t limit) {
  // Divides instead of multiplying: sizes computed by a model may overflow.
  int64_t left = limit / static_cast<int64_t>(std::max<size_t>(byte_size(t), 1));
  for (int64_t d : dims) {
    if (d < 0) return false;
    if (d == 0) return true;
    left /= d;
  }
  return left > 0;
}

std::optional<Ints> axes_of(const TensorPtr& axes, int64_t rank) {
  Ints out;
  if (!axes) return out;
  for (int64_t a : axes->as_int64()) {
    const auto axis = normalized(a, rank);
    if (!axis) return std::nullopt;
    out.push_back(*axis);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) return std::nullopt;
  return out;
}

std::vector<TensorPtr> evaluate(const Node& n, const Inputs& in, int64_t limit) {
  if (!n.domain.empty() || in.empty() || !in[0]) return {};
  for (const TensorPtr& t : in)
    if (t && t->dtype() == DType::String) return {};
  if (n.op == "Split") return split(n, in, limit);
  auto it = table().find(n.op);
  if (it == table().end() || n.outputs.size() != 1) return {};
  TensorPtr result = it->second(n, in, limit);
  if (!result) return {};
  return {result};
}

}  // namespace oe::optimize
