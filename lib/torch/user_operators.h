// Operators that the user describes (lib/rules): by TorchScript, or by a schema alone.
#pragma once

#include <string>
#include <vector>

#include "lib/rules/rules.h"

namespace torch::jit {
struct Function;
}

namespace oe::torch_io {

// Registers what nobody has registered, so that files that name it load and run. Those of an
// earlier call are forgotten. Throws Failure(Usage) with the rule's place for TorchScript that does
// not compile, a schema that cannot be read, or one that differs from what a library registered.
void register_user_operators(const rules::Rules& rules);

// Rules whose operator nobody has registered while one of nearly that name is: what to say of them,
// one line each. Call it before the above, when all libraries are loaded.
std::vector<std::string> misspelt(const rules::Rules& rules);

// The user's function for "lib::twice" or "aten::add.Tensor"; null when there is none. Its
// parameters are the operator's, in order.
torch::jit::Function* user_function(const std::string& op);

// Whether the operator (without overload) is known by its schema alone: its results have the right
// types and sizes, and their numbers mean nothing.
bool is_made_up(const std::string& op);

}  // namespace oe::torch_io
