// Quantized tensors: integers in the program, with a scale and a zero point that are known here.
//
// LibTorch runs its own quantized tensors in every world. What is recorded of one is its integers
// (uint8, int8 or int32), and `TensorValue::quantizer` says what they stand for. Operators on
// quantized tensors come in three kinds: those that take one apart or put one together (int_repr,
// q_scale, dequantize, ...) are done here; those that only move elements (view, slice, max_pool2d,
// ...) are recorded on the integers; all others are composites (composites/quantized.py,
// of_quantized.py) that dequantize, compute and quantize again. Nothing else is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

// number = (integer - zero_point) * scale
struct Quantizer {
  AbstractValue scale, zero_point;  // a number each; per channel a tensor each
  std::optional<int64_t> axis;      // per channel: of the channels
};

class Quantized {
 public:
  explicit Quantized(Executor& ex) : ex_(ex) {}

  // Whether an argument is a quantized tensor, or a list of some.
  bool among(const std::vector<AbstractValue>& args);
  // What takes a quantized tensor apart; nothing for other operators. Refuses by name what cannot
  // be written of a quantized tensor that is not constant.
  std::optional<std::vector<AbstractValue>> call(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args);
  // Whether the result is the first argument's integers under another type.
  static bool relabels(const OpInfo& op);
  // Of a quantized result of a call that is recorded.
  std::shared_ptr<const Quantizer> of_result(const OpInfo& op,
                                             const std::vector<AbstractValue>& args);
  // "of scale 0.1 and zero point 3" of a quantized tensor; empty for others.
  std::string describe(const AbstractValue& s);
  // Of a value on two paths: theirs, where it is the same known one.
  std::shared_ptr<const Quantizer> joined(const TensorValue& a, const TensorValue& b);

 private:
  bool is_quantized(const AbstractValue& s);
  std::shared_ptr<const Quantizer> of(const TensorValue& t);
  AbstractValue integers(const AbstractValue& q);
  AbstractValue dequantized(const AbstractValue& q);

  Executor& ex_;
};

}  // namespace oe::capture
