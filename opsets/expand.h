// Expansions that need more than a few lines or that several rungs use. Each is exact unless its
// comment says otherwise.
#pragma once

#include <string_view>

#include "opsets/rewriter.h"

namespace oe::opsets {

// --- parts
// Replaces the node by the function body in its schema, which passes through the rung again.
// Throws NotExpressible when there is none.
void expand_body(Rewriter& r, ir::Node& n);
// (x - mean) / sqrt(variance + epsilon) over `axes`; axes count from 0. In x's own type.
T normalize(T x, const Ints& axes, double epsilon);
// Running "Add" or "Mul" along a constant axis, one entry after the other.
T cumulate(Rewriter& r, std::string_view op, T x, T axis, bool exclusive, bool from_end);
// int64; a bound that is null does not bind.
T clamp(Rewriter& r, T v, T low, T high);
// Negative int64 indices count from the end: i < 0 ? i + size : i.
T wrap_indices(Rewriter& r, T indices, T size);
// Positions in `data` with its first axes flattened: `coordinates[i]` indexes axis i (int64,
// broadcast against each other).
T linear_index(T data, const Values& coordinates);
// Constant padding by concatenation: any element type, computed and negative pads. `value` is 0-d.
T pad_by_concat(Rewriter& r, T x, T pads, T value);

// Weights of the four neighbours at distance 1 + share, share, 1 - share and 2 - share (Keys' cubic
// convolution). In the type of `share`.
Values cubic_weights(T share, double a);
// As Round does; without it below opset 11.
T round_to_even(T x);

// --- whole nodes
// What the operators mean, without them.
void quantize_linear(Rewriter& r, ir::Node& n);
void dequantize_linear(Rewriter& r, ir::Node& n);
// What a DequantizeLinear gives, from its operands by a Cast.
T dequantized(Rewriter& r, const ir::Node& n);
void matmul_integer(Rewriter& r, ir::Node& n);
// The `axes` input of a reduction becomes an attribute.
void reduce_axes_to_attribute(Rewriter& r, ir::Node& n);
// ReduceProd as products of entry after entry, which are exact for integers.
void product_in_steps(Rewriter& r, ir::Node& n);
// ReduceLogSumExp as what it means: numbers less the largest of them.
void log_sum_exp_from_largest(Rewriter& r, ir::Node& n);
// ReduceSumSquare and ReduceL2 as sums of products.
void sum_of_squares(Rewriter& r, ir::Node& n);
// ReduceSum of integers through int64, and of int64 in two halves of 32 bits, whose sums float64
// holds up to two million entries.
void sum_in_halves(Rewriter& r, ir::Node& n);
// GlobalAveragePool as a reduction.
void global_pool(Rewriter& r, ir::Node& n);
// Div and Mod of integers whose one divisor is zero only where nothing is divided.
void never_by_zero(Rewriter& r, ir::Node& n);
// Known to fit into 32 bits: sizes, counts, casts of smaller types and what picks from them.
bool small_integers(const ir::Value* v, int depth = 6);
// x * sigmoid(alpha x).
void swish(Rewriter& r, ir::Node& n);
// x > 0 ? x : alpha (exp(x / alpha) - 1).
void celu(Rewriter& r, ir::Node& n);
void gelu(Rewriter& r, ir::Node& n);
// Elu, Selu, LeakyRelu, PRelu, HardSigmoid, Softplus and Softsign in simpler operators.
void plain_activation(Rewriter& r, ir::Node& n);
// Acos, Acosh, Asin, Asinh, Atan, Atanh, Cosh, Erf, Sinh and Tan of float64 by Exp, Log, Sqrt, Sin,
// Cos and Tanh.
void function_of_doubles(Rewriter& r, ir::Node& n);
// Relu of integers.
void relu_as_max(Rewriter& r, ir::Node& n);
// LSTM, GRU and RNN with layout = 1, which puts the batch first in X, Y and the states.
void time_first(Rewriter& r, ir::Node& n);
// Scan as a Loop that gathers the entries.
void scan_as_loop(Rewriter& r, ir::Node& n);
// Gemm without factors as MatMul and Add.
void gemm_of_integers(Rewriter& r, ir::Node& n);
// The points of a grid, axis by axis.
void affine_grid(Rewriter& r, ir::Node& n);
// GridSample by gathering what lies around each point: any opset, images and volumes.
void grid_sample_by_gather(Rewriter& r, ir::Node& n);
// OneHot as the two values, picked by whether an index equals the position.
void one_hot_by_compare(Rewriter& r, ir::Node& n);
// Reductions of duplicates as a loop over the updates: they meet in order. `combine` names the
// operator: "Add", "Mul", "Max" or "Min".
void scatter_elements_loop(Rewriter& r, ir::Node& n, std::string_view combine);
void scatter_nd_loop(Rewriter& r, ir::Node& n, std::string_view combine);
// By flattened positions, for opsets below 11.
void flat_gather_elements(Rewriter& r, ir::Node& n);
void flat_gather_nd(Rewriter& r, ir::Node& n);
// A shape for Reshape in which 0 is a size, as long as one size alone is: -1 stands for it
// (allowzero, opset 14, says so; without it 0 copies an axis of the input).
T shape_with_zero(T shape);
void flat_scatter_nd(Rewriter& r, ir::Node& n);
void reverse_sequence(Rewriter& r, ir::Node& n);
// DepthToSpace and SpaceToDepth as a Transpose between two shapes.
void move_blocks(Rewriter& r, ir::Node& n);
// Pad in wrap, reflect or edge mode with computed indices.
void pad_by_index(Rewriter& r, ir::Node& n);
// ceil_mode of AveragePool and MaxPool as padding at the end, for opsets below 10.
void ceil_pool(Rewriter& r, ir::Node& n);
// Resize in opset-11 form: as Resize-10 where that says the same, else by picking and weighting
// samples along each axis.
void resize_by_samples(Rewriter& r, ir::Node& n);
// BitwiseAnd, BitwiseOr, BitwiseXor digit by digit; BitwiseNot.
void bitwise(Rewriter& r, ir::Node& n);
void bitwise_not(Rewriter& r, ir::Node& n);
// Transposes, sums and products of matrices.
void einsum(Rewriter& r, ir::Node& n);
// DFT of a known or computed size as products with matrices.
void dft_as_products(Rewriter& r, ir::Node& n);
// Shifted copies of each block position, added.
void col_to_im(Rewriter& r, ir::Node& n);

// x * x for the norms: of float as Pow, which the fusions of ONNX Runtime look for.
T square(Rewriter& r, T x);

// BatchNormalization in training mode: the batch's own statistics, and the running ones moved
// towards them.
void expand_batch_training(Rewriter& r, ir::Node& n);

}  // namespace oe::opsets
