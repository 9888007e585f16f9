// The words that options take: one table, for reading, for --help and for completion.
#pragma once

#include <string_view>
#include <type_traits>

#include "app/arguments.h"

namespace oe::app {

// Of "--guess": auto, off, sure. Empty for options that take something else. Those of positionals
// stand under their name: "SHELL".
const Strings& choices_of(std::string_view option);

// The index of `text` in the option's words; the first one when it is empty. Throws Failure(Usage).
size_t choose(const char* option, const std::string& text);

// The enumerator of that index. The words are in the order of the enumerators.
template <class E>
requires std::is_enum_v<E>
void choose(const char* option, const std::string& text, E& to) {
  to = static_cast<E>(choose(option, text));
}

}  // namespace oe::app
