// LibTorch's own results, for verification: the method run on inputs of any size and seed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/draw.h"
#include "lib/support/host_value.h"
#include "lib/support/left_out.h"
#include "lib/torch/inputs.h"
#include "lib/torch/results.h"

namespace torch::jit {
struct Function;
}

namespace oe::torch_io {

class Reference {
 public:
  // Takes a snapshot of the module's buffers and attributes, and of the constants that its code may
  // write. Every run starts from it, so that no state leaks from one run into the next. Create it
  // before anything runs the module. `left_out`: sizes that run() refuses, because LibTorch would
  // crash.
  explicit Reference(const Loaded& m, std::vector<LeftOut> left_out = {});
  ~Reference();

  struct Form {
    std::vector<DType> types;  // of the leaves: numbers become 0-d tensors; Undefined: unchanged
    ResultForm results;
  };
  // The outputs of the first and of the third call on the example. LibTorch's default executor
  // profiles the first call and optimizes later ones; module(x) returns both. Call it before
  // anything else runs the module. Throws like run().
  std::pair<std::vector<HostValue>, std::vector<HostValue>> first_and_third(const ExampleInputs& e);

  // Runs the method. Numbers vary with the seed where LibTorch accepts that. Throws
  // std::runtime_error with LibTorch's message when it refuses the inputs.
  HostRun run(const ExampleInputs& e, const Draw& draw, const Form& form);
  // The same, but the module continues from its state after the last step; with `begin`, from the
  // saved state, or from the draw's state if it has one.
  HostRun step(const ExampleInputs& e, const Draw& draw, const Form& form, bool begin);
  // The outputs of the last run, computed in another float type by a copy of the module; in
  // float64, also where its code names float32. This measures the rounding in the model's element
  // types. Throws std::runtime_error if the model does not run in that type.
  std::vector<HostValue> last_in(DType type, const Form& form);
  // The outputs of the last run, computed by a copy of the module with QNNPACK's kernels: they add
  // a quantized layer's bias as 32-bit integers, as ONNX does. Throws std::runtime_error if
  // LibTorch was built without them, or they do not run the model.
  std::vector<HostValue> last_by_qnnpack(const Form& form);
  // The outputs of the last run, computed by a copy of the module without oneDNN. If `nudged` is
  // not 0, its float32 and float64 weights and inputs are also changed by one unit in the last
  // place, up or down as that number draws it; or instead, the results of each operator by eight
  // units. Throws std::runtime_error if that does not run.
  static constexpr uint64_t kResultsUp = 4, kResultsDown = 5;
  std::vector<HostValue> last_rounded_otherwise(const Form& form, uint64_t nudged);
  // The outputs of the last run, computed by a copy of the module line by line, without the passes
  // with which LibTorch rewrites a graph before its default executor runs it. Throws
  // std::runtime_error if that does not run.
  std::vector<HostValue> last_as_written(const Form& form);

 private:
  struct Snapshot;
  // As module(x) is called by who loaded a file and does nothing else: gradients are on, which
  // models ask (nn.MultiheadAttention chooses its operators by it).
  // From the snapshot and the state in `arguments`.
  std::vector<HostValue> call(const ExampleInputs& e, const std::vector<c10::IValue>& arguments,
                              const Form& form);
  // From the state that the module has.
  std::vector<HostValue> call_as_is(const ExampleInputs& e,
                                    const std::vector<c10::IValue>& arguments, const Form& form,
                                    bool gradients);
  // The last run by a copy of the module, whose tensors of floats `change` changes, as `call` calls
  // it.
  std::vector<HostValue> again(
      const Form& form, const std::vector<c10::IValue>& arguments,
      const std::function<c10::IValue(torch::jit::Module&, std::vector<c10::IValue>)>& call,
      const std::function<at::Tensor(const at::Tensor&)>& change = {});
  // Those of the code that it writes, which copies of the module share.
  void restore_constants();
  std::string trial_of(const ExampleInputs& e, const Draw& draw) const;
  const Loaded& module_;
  std::vector<LeftOut> left_out_;
  std::unique_ptr<Snapshot> snapshot_;
  bool optimized_ = true;                    // LibTorch's executor may rewrite the method
  ExampleInputs last_inputs_;                // what the last run was drawn from
  std::vector<c10::IValue> last_arguments_;  // with the state it began from
};

// Whether a method calls torch.autograd.grad or backward(). It must run as written: LibTorch's
// optimizer would differentiate it with operators that a file may not call itself
// (avg_pool2d_backward).
bool differentiates(const torch::jit::Function& method);

// Values of leaves as tensors of the types of `form`. Throws std::runtime_error.
std::vector<TensorPtr> host_leaves(const std::vector<c10::IValue>& leaves,
                                   const Reference::Form& form);
// The leaves that Reference::run would return for this run, without running it.
std::vector<TensorPtr> drawn_inputs(const ExampleInputs& e, const Draw& draw,
                                    const Reference::Form& form);

// Names of parameters and buffers in state_dict order.
std::vector<std::string> state_names(const torch::jit::Module& m);

}  // namespace oe::torch_io
