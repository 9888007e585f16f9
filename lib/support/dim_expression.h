// The size that a dim's name stands for: "2*h + 1", with the sizes of the names in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace oe {

// Integers, names, + - * // and max(a, b, ...), with Python's precedence; // rounds down. Nothing
// for another text, a name without a size, a division by 0 and an overflow. A name is looked up
// whole first, whatever characters it has.
std::optional<int64_t> evaluate_dim(std::string_view text,
                                    const std::map<std::string, int64_t>& sizes);

// Whether the text is one name: letters, digits, _ and ., not beginning with a digit.
bool is_dim_name(std::string_view text);

}  // namespace oe
