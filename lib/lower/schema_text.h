// Reading the signature of a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/lower/lowering.h"

namespace oe::lower {

// The argument texts of a schema: "Tensor self", "Scalar alpha=1" (without the "*").
std::vector<std::string_view> schema_arguments(std::string_view schema);
// The name of one argument: "alpha" of "Scalar alpha=1".
std::string_view argument_name(std::string_view argument);
// Whether the argument has the value that the schema gives it by default.
bool at_default(const program::Arg& value, std::string_view argument);

}  // namespace oe::lower
