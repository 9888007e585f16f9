// Whether an output of one run is right.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/verify/verify_model.h"

namespace oe::verify {

// Compares outputs with LibTorch's, by what the request says of them, and keeps the largest errors,
// the gaps and what LibTorch's own rounding decided in the verification.
class Judge {
 public:
  // `unoptimized`: what ONNX Runtime gives for the last run's inputs without its optimisations.
  // Throws std::runtime_error where it does not run so.
  Judge(const Request& r, Verification& v, std::function<std::vector<HostValue>()> unoptimized)
      : r_(r), v_(v), unoptimized_(std::move(unoptimized)) {}

  // LibTorch ran anew. `inputs`: one a leaf; nothing: why it differs is not asked for.
  void next_run(std::optional<std::vector<TensorPtr>> inputs) {
    inputs_ = std::move(inputs);
    again_.clear();
    otherwise_.clear();
    plain_.reset();
  }
  // Whether a difference of it was found that nothing decides.
  bool is_open(size_t output) const { return open_.contains(output); }
  // Whether random numbers determine it.
  bool is_drawn(size_t output) const;
  // What is wrong with an output of the last run; empty: nothing. `where`: " at x[2,3], seed 0".
  std::string problem(size_t output, const std::string& where, const HostValue& actual,
                      const HostValue& expected);
  // Beside a run of LibTorch in float64. `actual`: in the order of the request's outputs.
  void measure_errors(const std::vector<HostValue>& actual, const HostRun& expected);

 private:
  std::string form_difference(size_t output, const HostValue& actual, const HostValue& expected);
  std::string rounded_difference(size_t output, const HostValue& actual, const HostValue& expected);
  std::string difference(size_t output, const HostValue& actual, const HostValue& expected);
  std::string difference(size_t output, const Tensor& actual, const Tensor& expected);
  bool is_rounding(size_t output, const HostValue& actual, const HostValue& expected);
  bool is_optimization(size_t output, const HostValue& actual, const HostValue& expected);
  bool is_quantization(size_t output, const HostValue& actual, const HostValue& expected);
  bool is_within_steps(const Tensor& a, const Tensor& e, const Tensor* other, double step);
  std::vector<TensorPtr> again_in(DType type, size_t output, std::vector<TensorPtr> otherwise);
  std::vector<TensorPtr> rounded_otherwise(uint64_t nudged, size_t output);
  bool is_decided(size_t output) const;
  // `error`: the largest of a tensor of the output.
  void note_error(size_t output, double error, const Tensor& expected);
  bool is_choice(size_t output, const HostValue& actual, const HostValue& expected);

  const Request& r_;
  Verification& v_;
  std::optional<std::vector<TensorPtr>> inputs_;  // of the last run
  // Set by is_rounding() where the noise passes its ceiling: why nothing can be decided.
  std::string noise_;
  std::function<std::vector<HostValue>()> unoptimized_;
  std::set<size_t> open_;                          // outputs that were left open once
  std::map<DType, std::vector<HostValue>> again_;  // the outputs of the last run in other types
  // And as rounding might have made them, each as often as it was asked for.
  std::vector<std::vector<HostValue>> otherwise_;
  std::optional<std::vector<HostValue>> plain_;  // unoptimized_; empty: it does not run so
};

}  // namespace oe::verify
