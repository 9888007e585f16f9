// Opset 21: scale and bias of GroupNormalization are per channel; blocked quantization.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Below 21 scale and bias are per group, which cannot say a scale per channel.
void group_normalization(Rewriter& r, ir::Node& n) {
  T x = r.in(0), scale = r.in(1), bias = r.in(2);
  const DType t = x.dtype();
  const int64_t rank = x.rank();
  const int64_t groups = n.attributes.get_or<int64_t>("num_groups", 1);
  const float epsilon = n.attributes.get_or<float>("epsilon", 1e-5f);
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  T c = cast(x, t == DType::Double ? t : stash);
  T grouped = reshape(c, Ints{0, groups, -1});
  T normal = nullptr;
  if (c.dtype() == DType::Float) {
    T ones = r.numbers(std::vector<double>(static_cast<size_t>(groups), 1), {groups}, stash);
    T zeros = r.numbers(std::vector<double>(static_cast<size_t>(groups), 0), {groups}, stash);
    normal = node("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", epsilon}},
                  ranked(stash, 3));
  } else {  // InstanceNormalization of other types is rarely implemented
    normal = normalize(grouped, {2}, epsilon);
  }
  T y = cast(reshape(normal, shape(x), rank), t);
  Ints trailing;
  for (int64_t a = 1; a < rank - 1; ++a) trailing.push_back(a);
  const auto per_channel = [&](T v) { return trailing.empty() ? v : unsqueeze(v, trailing); };
  y = y * per_channel(scale);
  r.bind(n.outputs[0], y + per_channel(bias));
}

void q_linear_mat_mul(Rewriter& r, ir::Node&) {
  for (size_t scale : {1, 4, 6})
    if (r.in(scale).dtype() != DType::Float)
      throw Unsupported("needs opset 21 or later where a scale is not of type float");
  r.keep();
}

constexpr Row rows[] = {
    same("Cast"),
    same("CastLike"),
    same("Constant"),
    same("ConstantOfShape"),
    defaults("DequantizeLinear"),
    same("Flatten"),
    rewrite("GroupNormalization", group_normalization),
    same("Identity"),
    same("If"),
    same("Loop"),
    same("Pad"),
    rewrite("QLinearMatMul", q_linear_mat_mul),
    defaults("QuantizeLinear"),
    same("Reshape"),
    same("Scan"),
    same("Shape"),
    same("Size"),
    same("Squeeze"),
    same("Transpose"),
    same("Unsqueeze"),
};

}  // namespace

Rung opset_21() { return rows; }

}  // namespace oe::opsets
