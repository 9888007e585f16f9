// Opset 22: bfloat16 joined the types of many operators; nothing else changed.
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

constexpr Row rows[] = {
    same("Acos"),
    same("Acosh"),
    same("Asin"),
    same("Asinh"),
    same("Atan"),
    same("Atanh"),
    same("AveragePool"),
    same("Bernoulli"),
    same("Conv"),
    same("ConvTranspose"),
    same("Cos"),
    same("Cosh"),
    same("DeformConv"),
    same("Det"),
    same("Dropout"),
    same("Elu"),
    same("EyeLike"),
    same("GRU"),
    same("GlobalAveragePool"),
    same("GlobalLpPool"),
    same("GlobalMaxPool"),
    same("GridSample"),
    same("HardSigmoid"),
    same("HardSwish"),
    same("InstanceNormalization"),
    same("LSTM"),
    same("LpNormalization"),
    same("LpPool"),
    same("MaxPool"),
    same("MaxRoiPool"),
    same("MaxUnpool"),
    same("Mish"),
    same("Multinomial"),
    same("NegativeLogLikelihoodLoss"),
    same("RNN"),
    same("RandomNormal"),
    same("RandomNormalLike"),
    same("RandomUniform"),
    same("RandomUniformLike"),
    same("RoiAlign"),
    same("Round"),
    same("Selu"),
    same("Sin"),
    same("Sinh"),
    same("Softplus"),
    same("Softsign"),
    same("Tan"),
    same("ThresholdedRelu"),
};

}  // namespace

Rung opset_22() { return rows; }

}  // namespace oe::opsets
