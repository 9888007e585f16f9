// Operators that LibTorch defines by others, as TorchScript: composites/*.py, one function each.
#pragma once

#include <string>
#include <vector>

namespace torch::jit {
struct Function;
}

namespace oe::capture {

// The function for "aten::trapezoid.x" (trapezoid__x in the files); null when there is none. Its
// parameters are the operator's, in order.
torch::jit::Function* composite(const std::string& op);

// All of them.
std::vector<torch::jit::Function*> composites();

// The files' contents, null at the end.
extern const char* const kCompositeTexts[];

}  // namespace oe::capture
