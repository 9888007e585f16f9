// The model from which a file was converted, as verification runs it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/support/draw.h"
#include "lib/support/host_value.h"

namespace oe::verify {

// Runs throw std::runtime_error if the original rejects the inputs, or does not run in that way.
class Original {
 public:
  virtual ~Original() = default;

  virtual HostRun run(const Draw& draw) = 0;
  // The inputs of a run, one for each leaf, without running it.
  virtual std::vector<TensorPtr> inputs(const Draw& draw) = 0;
  // A run that continues from the state after the last one; with `begin`, from the draw's state.
  virtual HostRun step(const Draw&, bool /*begin*/) { throw std::runtime_error("it has no state"); }

  // The outputs of the last run, computed again in another way:
  // in another float type;
  virtual std::vector<HostValue> last_in(DType) { return not_run(); }
  // with the other kernels that LibTorch has for quantized operators;
  virtual std::vector<HostValue> last_by_qnnpack() { return not_run(); }
  // with LibTorch's own kernels instead of oneDNN's: 0, no other change; 1 to 3, with weights and
  // inputs changed by one unit in the last place; 4 and 5, with each operator's results changed by
  // eight units up and down;
  virtual std::vector<HostValue> last_rounded_otherwise(uint64_t /*how*/) { return not_run(); }
  // line by line, without optimizations.
  virtual std::vector<HostValue> last_as_written() { return not_run(); }

  // Why a difference of the last run, with the given inputs, is not an error: operators that choose
  // among equal elements, or amplified rounding. Empty: it is an error, or not known.
  virtual std::string undecided(const std::vector<TensorPtr>&) { return {}; }

 private:
  [[noreturn]] static std::vector<HostValue> not_run() {
    throw std::runtime_error("it does not run in that way");
  }
};

}  // namespace oe::verify
