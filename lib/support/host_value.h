// A value in host memory: a result of LibTorch or ONNX Runtime, or the content of a file of test
// data.
#pragma once

#include <utility>
#include <vector>

#include "lib/support/tensor.h"

namespace oe {

struct HostValue {
  enum class Kind { Tensor, Sequence, None };
  Kind kind = Kind::Tensor;
  TensorPtr tensor;                 // of a Tensor
  std::vector<TensorPtr> sequence;  // of a Sequence

  static HostValue of(TensorPtr t) { return {Kind::Tensor, std::move(t), {}}; }
  static HostValue of(std::vector<TensorPtr> s) { return {Kind::Sequence, nullptr, std::move(s)}; }
  static HostValue none() { return {Kind::None, nullptr, {}}; }
};

struct HostRun {
  std::vector<TensorPtr> inputs;   // one a leaf
  std::vector<HostValue> outputs;  // one an output of the program
};

}  // namespace oe
