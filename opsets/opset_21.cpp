// Opset 21: scale and bias of GroupNormalization are per channel; blocked quantization.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Below 21 scale and bias are per group, which cannot say a scale per channel.
void group_normalization(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  const DType t = r.dtype(x);
  const int64_t rank = r.rank(x);
  const int64_t groups = n.attributes.get_or<int64_t>("num_groups", 1);
  const float epsilon = n.attributes.get_or<float>("epsilon", 1e-5f);
  const auto stash = static_cast<DType>(n.attributes.get_or<int64_t>("stash_type", 1));
  Value c = r.cast(x, t == DType::Double ? t : stash);
  Value grouped = r.reshape(c, Ints{0, groups, -1});
  Value normal = nullptr;
  if (r.dtype(c) == DType::Float) {
    Value ones = r.numbers(std::vector<double>(static_cast<size_t>(groups), 1), {groups}, stash);
    Value zeros = r.numbers(std::vector<double>(static_cast<size_t>(groups), 0), {groups}, stash);
    normal = r.op("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", epsilon}},
                  r.ranked(stash, 3));
  } else {  // InstanceNormalization of other types is rarely implemented
    normal = normalize(r, grouped, {2}, epsilon);
  }
  Value y = r.cast(r.reshape(normal, r.shape(x), rank), t);
  Ints trailing;
  for (int64_t a = 1; a < rank - 1; ++a) trailing.push_back(a);
  const auto per_channel = [&](Value v) { return trailing.empty() ? v : r.unsqueeze(v, trailing); };
  y = r.op("Mul", {y, per_channel(scale)});
  r.bind(n.outputs[0], r.op("Add", {y, per_channel(bias)}));
}

void q_linear_mat_mul(Rewriter& r, ir::Node& n) {
  for (size_t scale : {1, 4, 6})
    if (r.dtype(n.input(scale)) != DType::Float)
      throw NotExpressible{"needs opset 21 or later where a scale is not of type float"};
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
