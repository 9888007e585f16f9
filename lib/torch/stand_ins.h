// What a file names and nobody has registered gets a stand-in, so that the file opens and all that
// is missing can be said at once, with the author's lines.
#pragma once

#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

namespace oe::archive {
class Archive;
}

namespace oe::torch_io {

// The classes that extensions are written with (XNNPACK's). Idempotent.
void register_known_classes();

// A schema for every operator that the archive's code calls and nobody registered, made of how it
// is called, and a class that keeps its pickled state for every one of torch.classes that it names.
// The operators stay until the next call, the classes for good. Gives what is missing, for
// messages: "lib::scale (code/__torch__.py:7)", with the first call's place, and "class
// lib.Engine".
std::vector<std::string> register_stand_ins(const archive::Archive& a);

// Whether the class stands in for one of torch.classes. Its objects are not made by __setstate__: a
// pickled tuple has their slots in order, or all of the state is in the only one.
bool is_stand_in(const c10::ClassType& type);

// Whether nothing is known of the operator (named without overload) but how it is called. It throws
// when it runs.
bool is_stand_in(const std::string& op);

}  // namespace oe::torch_io
