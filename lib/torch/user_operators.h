// Operators that the user describes (lib/rules): by TorchScript, or by a schema alone.
#pragma once

#include <string>
#include <vector>

#include "lib/rules/rules.h"

namespace torch::jit {
struct Function;
}

namespace oe::torch_io {

// Registers operators that no library registered, so that files with them load and run. Forgets
// those of an earlier call. Throws Failure(Usage) with the rule's place for TorchScript that does
// not compile, an invalid schema, or a schema that differs from a library's.
void register_user_operators(const rules::Rules& rules);

// One message for each rule whose operator is not registered while an operator with a similar name
// is. Call it before the above, when all libraries are loaded.
std::vector<std::string> misspelt(const rules::Rules& rules);

// The user's function for "lib::twice" or "aten::add.Tensor"; null if there is none. Its parameters
// are the operator's, in order.
torch::jit::Function* user_function(const std::string& op);

// Whether only the schema of the operator (a name without overload) is known: its results have the
// right types and sizes, and arbitrary numbers.
bool is_made_up(const std::string& op);

}  // namespace oe::torch_io
