// An origin as messages and node names have it.
#include "lib/support/origin_text.h"

namespace oe {
namespace {

bool is_digits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string node_prefix(std::string_view module_path) {
  std::string out = "/", before;
  while (!module_path.empty()) {
    const size_t dot = module_path.find('.');
    std::string part(module_path.substr(0, dot));
    if (is_digits(part) && !before.empty()) part = before + "." + part;
    out += part + "/";
    before = std::move(part);
    module_path.remove_prefix(dot == std::string_view::npos ? module_path.size() : dot + 1);
  }
  return out;
}

}  // namespace oe
