// Stand-ins for operators and classes that no library registered, so that the file loads and one
// message can list all that are missing, with the author's lines.
#pragma once

#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

namespace oe::archive {
class Archive;
}

namespace oe::torch_io {

// Registers the classes that extensions need (XNNPACK's). Idempotent.
void register_known_classes();

// Registers a schema for every unregistered operator in the archive's code, derived from how the
// code calls it, and a class that keeps its pickled state for every class of torch.classes. The
// operators stay until the next call, the classes permanently. Returns what is missing, for
// messages: "lib::scale (code/__torch__.py:7)", with the place of the first call, and "class
// lib.Engine".
std::vector<std::string> register_stand_ins(const archive::Archive& a);

// Whether the class is a stand-in for one of torch.classes. Its objects are not created by
// __setstate__: a pickled tuple has their slots in order, or the only slot has the whole state.
bool is_stand_in(const c10::ClassType& type);

// Whether only the calls of the operator (a name without overload) are known, not the operator. It
// throws when it runs.
bool is_stand_in(const std::string& op);

}  // namespace oe::torch_io
