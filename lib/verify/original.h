// The model that a file was made from, as verification runs it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/support/draw.h"
#include "lib/support/host_value.h"

namespace oe::verify {

// Runs throw std::runtime_error where the original refuses the inputs, or does not run in that way.
class Original {
 public:
  virtual ~Original() = default;

  virtual HostRun run(const Draw& draw) = 0;
  // The inputs of a run that is not made, one a leaf.
  virtual std::vector<TensorPtr> inputs(const Draw& draw) = 0;
  // A run that goes on from the state that the last one left; where `begin`, from the draw's.
  virtual HostRun step(const Draw&, bool /*begin*/) { throw std::runtime_error("it has no state"); }

  // The outputs of the last run, made again in another way:
  // in another type of float;
  virtual std::vector<HostValue> last_in(DType) { return not_run(); }
  // with the other kernels that LibTorch has for quantized operators;
  virtual std::vector<HostValue> last_by_qnnpack() { return not_run(); }
  // with LibTorch's own kernels in place of oneDNN's: 0, nothing else; 1 to 3, with weights and
  // inputs one unit in the last place off; 4 and 5, with each operator's results eight units up and
  // down;
  virtual std::vector<HostValue> last_rounded_otherwise(uint64_t /*how*/) { return not_run(); }
  // as its code is written, without what optimizes it.
  virtual std::vector<HostValue> last_as_written() { return not_run(); }

  // Why a difference of the last run, whose inputs are given, is nobody's mistake: operators that
  // choose among equals, rounding that one of them magnifies. Empty: it is one, or it is not known.
  virtual std::string undecided(const std::vector<TensorPtr>&) { return {}; }

 private:
  [[noreturn]] static std::vector<HostValue> not_run() {
    throw std::runtime_error("it does not run in that way");
  }
};

}  // namespace oe::verify
