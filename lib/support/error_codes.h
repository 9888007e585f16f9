// Every code a problem can have: what it means and what to do. docs/errors.md is made from it.
#pragma once

#include <span>
#include <string_view>

#include "lib/support/diagnostics.h"

namespace oe {

struct ErrorCode {
  std::string_view code;
  ExitCode exit_code;  // what the process ends with; Ok: a warning or a note
  std::string_view meaning, cure;
};

// In ascending order of their codes.
std::span<const ErrorCode> error_codes();

}  // namespace oe
