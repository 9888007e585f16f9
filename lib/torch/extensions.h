// Operators of libraries that LibTorch lacks, as TorchScript: extensions/NAMESPACE.py, one function
// each; those whose names begin with _ are only theirs.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace torch::jit {
struct Function;
}

namespace oe::torch_io {

// Registers them, so that files that name them load and run; what a library has registered stays.
// Idempotent.
void register_extensions();

// The function for "torch_scatter::scatter_sum"; null when there is none. Its parameters are the
// operator's, in order.
torch::jit::Function* extension(const std::string& op);

// An operator has several results where a function has a tuple.
std::vector<c10::Argument> operator_results(const torch::jit::Function& f);
// Runs the function as the kernel of an operator.
void run_as_operator(torch::jit::Function& f, std::vector<c10::IValue>& stack);

// The files: namespace and content, nulls at the end.
struct ExtensionText {
  const char *name_space, *text;
};
extern const ExtensionText kExtensionTexts[];

}  // namespace oe::torch_io
