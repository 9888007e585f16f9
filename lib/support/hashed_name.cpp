// Names of files beside a model: the plain one, or one with a content hash where that is taken.
#include "lib/support/hashed_name.h"

#include <algorithm>
#include <cstddef>

namespace oe {
namespace {

constexpr size_t kDigits = 8;

// Where the last extension begins. A name that begins with its only dot has none.
size_t extension_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name.size() : dot;
}

}  // namespace

std::string hashed_name(std::string_view name, uint64_t hash) {
  std::string digits(kDigits, '0');
  for (size_t i = kDigits; i-- > 0; hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
  const size_t at = extension_of(name);
  return std::string(name.substr(0, at)) + "." + digits + std::string(name.substr(at));
}

bool is_name_or_hashed(std::string_view name, std::string_view candidate) {
  if (candidate == name) return true;
  const size_t at = extension_of(name);
  if (candidate.size() != name.size() + 1 + kDigits || candidate[at] != '.') return false;
  const std::string_view digits = candidate.substr(at + 1, kDigits);
  return candidate.substr(0, at) == name.substr(0, at) &&
         candidate.substr(at + 1 + kDigits) == name.substr(at) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string free_name(const std::string& name, uint64_t hash,
                      const std::vector<std::string>& taken) {
  const auto is_taken = [&](const std::string& n) {
    return std::find(taken.begin(), taken.end(), n) != taken.end();
  };
  std::string result = name;
  for (; is_taken(result); ++hash) result = hashed_name(name, hash);
  return result;
}

}  // namespace oe
