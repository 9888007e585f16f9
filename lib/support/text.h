// Small text helpers: nearest match for misspelt names, sizes and counts for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oe {

// The candidate that differs least from `word` (insertions, deletions, changes, swapped
// neighbours; case differences are cheap), or "" when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean 'x'?" for the nearest candidate, "" when there is none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

std::string human_bytes(uint64_t bytes);              // "512 B", "44.7 MB" (powers of 1000)
std::string plural(size_t n, std::string_view noun);  // "1 node", "124 nodes", "2 classes"

// As a POSIX shell takes it: in quotes where it has characters that mean something there.
std::string shell_word(std::string_view word);

// The shortest text that reads back as the same number of that type, always with a point or an
// exponent: "1.0", "1e-05", "nan", "-inf".
std::string float_text(double v);
std::string float_text(float v);

std::vector<std::string> split(std::string_view text, char separator);
std::string lowered(std::string_view text);     // ASCII letters
std::string_view strip(std::string_view text);  // without blanks at both ends
std::string first_line(std::string_view text);  // without its newline
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace oe
