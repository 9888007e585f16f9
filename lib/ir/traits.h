// Facts about the results of the standard operators, from their definitions at every opset: one row
// for each operator. The passes, the builder, --to, --verify and the ladder read it. A test
// compares it with the schemas of the ONNX library: every operator has a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/ir/ir.h"

namespace oe::ir {

// Which dims of the results are known from the dims of the inputs.
enum class DimRule {
  Unknown,
  Same,       // those of the first input
  First,      // dim 0 is that of the first input: the batch
  FirstTwo,   // dims 0 and 1 are: batch and channels
  Broadcast,  // of all inputs, as in numpy
  MatMul,
  Gemm,
  Transpose,
  Squeeze,    // and Unsqueeze
  AlongAxis,  // those of the first input, except along the attribute "axis"
  Gather,
  Slice,
  Reshape,
  Reduce,
};

// How large the results are, which decides what --to computes in 16 bits (docs/precision.md).
enum class Half {
  Pointwise,  // most operators: 16 bits, but float32 where an input has to stay float32
  Bounded,    // the same, and the results are of moderate size for every input
  Quotient,   // the same, and a function of integers alone counts as one
  Mover,      // the results are elements of the inputs and have their type
  Product,    // 16 bits for every input: every runtime adds up in wider accumulators
  Carrier,    // any type: Cast, Shape, ...
  Float32,    // stays float32, with results of moderate size
  Mean,       // stays float32, with results about as large as the inputs
  Wide,       // stays float32, and its results may exceed the range of 16 bits
  Position,   // stays float32: makes numbers from integers, to count or to index with
};

// Facts about the elements of the results; a set of bits.
enum Fact : uint32_t {
  // Each element is a function of one element of the first input, at the same index. Other inputs
  // are numbers for the whole tensor. It is defined for every value.
  kElementwise = 1,
  // Each element is one of the inputs, or 0.
  kMoves = 2,
  // Each element is a copy, or computed modulo 2^n: an integer type of the same size or a wider
  // one gives the same.
  kKeepsBits = 4,
  // Of integers: each element is an element of the inputs, a sum or difference of two, or a truth
  // value. A double that holds the inputs exactly gives the same.
  kExactInDouble = 8,
  kRounds = 16,  // to whole numbers, in floats too
  kDraws = 32,   // random numbers (Dropout only in training)
};

struct Traits {
  std::string_view op;  // of domain ""
  DimRule dims = DimRule::Unknown;
  uint32_t facts = 0;
  Half half = Half::Pointwise;
  std::string_view why = {};  // of Half: why it stays float32; empty where it does not

  bool has(Fact f) const { return (facts & f) != 0; }
};

std::span<const Traits> all_traits();  // sorted by operator

// The row of the operator; one without name and facts for an operator of another domain.
const Traits& traits_of(const Node& n);
const Traits& traits_of(std::string_view standard_op);

}  // namespace oe::ir
