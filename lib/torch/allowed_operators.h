// Operators that a model may run: a list that somebody reviewed, and what the user registers.
#pragma once

#include <ATen/core/jit_type.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oe::torch_io {

// Why a model may not run the operator (named without overload: "aten::save"), as the rest of a
// sentence: "opens files". Empty where it may: the reviewed list allows it, or the user named it
// (--custom-op-lib, --custom-schema, --symbolics), or it stands in for one that is missing.
std::string_view refusal_of(const std::string& op);

// The same for a class of torch.classes, whose methods are native code. Empty for other classes.
std::string_view refusal_of(const c10::Type& type);

// Call it before libraries of the user are loaded: operators that are registered by then are
// LibTorch's own, and the reviewed list decides about them alone. Idempotent.
void note_own_operators();

// Replaces the kernels of refused operators that could do harm, as TorchScript calls them, by one
// that throws c10::Error. LibTorch's compiler runs code before a graph can be looked at: default
// values of parameters, and operators of constants. Idempotent.
void disarm_operators();
// Throws Failure(Refused, OE0141) where a disarmed operator was called in this thread since the
// last call. `file`: the model, as messages name it.
void throw_if_disarmed_ran(const std::string& file);

// Every name on the reviewed list, sorted, with the reason it is refused for ("" where allowed).
std::vector<std::pair<std::string_view, std::string_view>> reviewed_operators();

}  // namespace oe::torch_io
