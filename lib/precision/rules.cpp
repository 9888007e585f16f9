// The table of operators: what may be rounded to 16 bits.
#include "lib/precision/rules.h"

#include <algorithm>

namespace oe::precision {
namespace {

constexpr std::string_view kNorm = "normalisation", kSum = "sum", kRange = "large range",
                           kSteep = "steep function", kSoftmax = "softmax", kLoss = "loss",
                           kDrawn = "random numbers", kPlace = "positions", kExact = "matrix";

// In the order of std::string_view.
constexpr Rule kRules[] = {
    {"Acos", Part::Float32, kSteep},
    {"Acosh", Part::Float32, kSteep},
    {"AffineGrid", Part::Position, kPlace},
    {"Asin", Part::Float32, kSteep},
    {"Asinh", Part::Float32, kSteep},
    {"Atan", Part::Bounded, {}},
    {"Atanh", Part::Wide, kSteep},
    {"AveragePool", Part::Mean, kSum},
    {"Bernoulli", Part::Float32, kDrawn},
    {"BlackmanWindow", Part::Float32, kPlace},
    {"Cast", Part::Carrier, {}},
    {"CenterCropPad", Part::Mover, {}},
    {"Compress", Part::Mover, {}},
    {"Concat", Part::Mover, {}},
    {"Conv", Part::Product, {}},
    {"ConvInteger", Part::Float32, kExact},
    {"ConvTranspose", Part::Product, {}},
    {"Cos", Part::Bounded, {}},
    {"Cosh", Part::Wide, kSteep},
    {"CumProd", Part::Wide, kSum},
    {"CumSum", Part::Wide, kSum},
    {"DFT", Part::Wide, kSum},
    {"DeformConv", Part::Float32, kPlace},
    {"DepthToSpace", Part::Mover, {}},
    {"Det", Part::Wide, kExact},
    {"Div", Part::Quotient, {}},
    {"DynamicQuantizeLinear", Part::Float32, kExact},
    {"Einsum", Part::Product, {}},
    {"Erf", Part::Bounded, {}},
    {"Exp", Part::Wide, kRange},
    {"Expand", Part::Mover, {}},
    {"EyeLike", Part::Position, kPlace},
    {"Flatten", Part::Mover, {}},
    {"GRU", Part::Product, {}},
    {"Gather", Part::Mover, {}},
    {"GatherElements", Part::Mover, {}},
    {"GatherND", Part::Mover, {}},
    {"Gemm", Part::Product, {}},
    {"GlobalAveragePool", Part::Mean, kSum},
    {"GlobalLpPool", Part::Wide, kSum},
    {"GroupNormalization", Part::Float32, kNorm},
    {"HammingWindow", Part::Float32, kPlace},
    {"HannWindow", Part::Float32, kPlace},
    {"HardSigmoid", Part::Bounded, {}},
    {"Identity", Part::Mover, {}},
    {"InstanceNormalization", Part::Float32, kNorm},
    {"LRN", Part::Float32, kNorm},
    {"LSTM", Part::Product, {}},
    {"LayerNormalization", Part::Float32, kNorm},
    {"Log", Part::Float32, kSteep},
    {"LogSoftmax", Part::Float32, kSoftmax},
    {"LpNormalization", Part::Float32, kNorm},
    {"LpPool", Part::Wide, kSum},
    {"MatMul", Part::Product, {}},
    {"MaxRoiPool", Part::Float32, kPlace},
    {"MaxUnpool", Part::Mover, {}},
    {"Mean", Part::Mean, kSum},
    {"MeanVarianceNormalization", Part::Float32, kNorm},
    {"MelWeightMatrix", Part::Float32, kPlace},
    {"Multinomial", Part::Float32, kDrawn},
    {"NegativeLogLikelihoodLoss", Part::Wide, kLoss},
    {"NonMaxSuppression", Part::Float32, kPlace},
    {"Pow", Part::Wide, kRange},
    {"RMSNormalization", Part::Float32, kNorm},
    {"RNN", Part::Product, {}},
    {"RandomNormal", Part::Float32, kDrawn},
    {"RandomNormalLike", Part::Float32, kDrawn},
    {"RandomUniform", Part::Float32, kDrawn},
    {"RandomUniformLike", Part::Float32, kDrawn},
    {"Range", Part::Position, kPlace},
    {"Reciprocal", Part::Wide, kRange},
    {"ReduceL1", Part::Wide, kSum},
    {"ReduceL2", Part::Wide, kSum},
    {"ReduceLogSum", Part::Float32, kSum},
    {"ReduceLogSumExp", Part::Float32, kSum},
    {"ReduceMean", Part::Mean, kSum},
    {"ReduceProd", Part::Wide, kSum},
    {"ReduceSum", Part::Wide, kSum},
    {"ReduceSumSquare", Part::Wide, kSum},
    {"Reshape", Part::Mover, {}},
    {"ReverseSequence", Part::Mover, {}},
    {"RoiAlign", Part::Float32, kPlace},
    {"STFT", Part::Wide, kSum},
    {"ScatterND", Part::Mover, {}},
    {"Shape", Part::Carrier, {}},
    {"Sigmoid", Part::Bounded, {}},
    {"Sign", Part::Quotient, {}},
    {"Sin", Part::Bounded, {}},
    {"Sinh", Part::Wide, kSteep},
    {"Size", Part::Carrier, {}},
    {"Slice", Part::Mover, {}},
    {"Softmax", Part::Float32, kSoftmax},
    {"SoftmaxCrossEntropyLoss", Part::Wide, kLoss},
    {"Softplus", Part::Float32, kSteep},
    {"Softsign", Part::Bounded, {}},
    {"SpaceToDepth", Part::Mover, {}},
    {"Split", Part::Mover, {}},
    {"Squeeze", Part::Mover, {}},
    {"Tan", Part::Wide, kSteep},
    {"Tanh", Part::Bounded, {}},
    {"Tile", Part::Mover, {}},
    {"Transpose", Part::Mover, {}},
    {"Trilu", Part::Mover, {}},
    {"Unsqueeze", Part::Mover, {}},
};
static_assert(std::ranges::is_sorted(kRules, {}, &Rule::op));

constexpr Rule kRest{{}, Part::Pointwise, {}};
// Statistics of the batch; without them it is a product and a sum with known numbers.
constexpr Rule kTraining{{}, Part::Float32, kNorm};
constexpr Rule kSquare{{}, Part::Wide, kRange};

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule& rule_of(const ir::Node& n) {
  if (!n.domain.empty()) return kRest;
  if (n.op == "BatchNormalization")
    return n.attributes.get_or<int64_t>("training_mode", 0) ? kTraining : kRest;
  if (n.op == "Mul" && n.inputs[0] == n.inputs[1]) return kSquare;
  const auto* at = std::ranges::lower_bound(kRules, std::string_view(n.op), {}, &Rule::op);
  return at != std::end(kRules) && at->op == n.op ? *at : kRest;
}

}  // namespace oe::precision
