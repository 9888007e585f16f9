// The words that options take: one table, for reading, for --help and for completion.
#pragma once

#include <string_view>

#include "app/arguments.h"

namespace oe::app {

// Of "--guess": auto, off, sure. Empty for options that take something else. Those of positionals
// stand under their name: "SHELL".
const Strings& choices_of(std::string_view option);

// The index of `text` in the option's words; the first one when it is empty. Throws Failure(Usage).
size_t choose(const char* option, const std::string& text);

}  // namespace oe::app
