// A parser of the names that dims of computed sizes have.
#include "lib/support/dim_expression.h"

#include <algorithm>

namespace oe {
namespace {

constexpr int kDeepest = 100;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }

class Parser {
 public:
  Parser(std::string_view text, const std::map<std::string, int64_t>& sizes)
      : rest_(text), sizes_(sizes) {}

  std::optional<int64_t> whole() {
    const auto n = sum();
    skip();
    return rest_.empty() ? n : std::nullopt;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::string_view take_while(bool (*belongs)(char)) {
    const auto end = std::ranges::find_if_not(rest_, belongs);
    const std::string_view taken(rest_.begin(), end);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::optional<int64_t> sum() {
    auto left = product();
    while (left) {
      const bool minus = take("-");
      if (!minus && !take("+")) break;
      const auto right = product();
      int64_t n = 0;
      if (!right || (minus ? __builtin_sub_overflow(*left, *right, &n)
                           : __builtin_add_overflow(*left, *right, &n)))
        return std::nullopt;
      left = n;
    }
    return left;
  }

  std::optional<int64_t> product() {
    auto left = factor();
    while (left) {
      const bool quotient = take("//");
      if (!quotient && !take("*")) break;
      const auto right = factor();
      if (!right) return std::nullopt;
      int64_t n = 0;
      if (!quotient) {
        if (__builtin_mul_overflow(*left, *right, &n)) return std::nullopt;
      } else {
        if (*right == 0 || *right == -1) return std::nullopt;
        n = *left / *right - (*left % *right != 0 && (*left < 0) != (*right < 0));
      }
      left = n;
    }
    return left;
  }

  std::optional<int64_t> factor() {
    if (++depth_ > kDeepest) return std::nullopt;
    auto n = unnested_factor();
    --depth_;
    return n;
  }

  std::optional<int64_t> unnested_factor() {
    if (take("-")) {
      const auto n = factor();
      return n && *n != INT64_MIN ? std::optional(-*n) : std::nullopt;
    }
    if (take("(")) return arguments(false);
    if (take("max(")) return arguments(true);
    if (rest_.empty()) return std::nullopt;
    if (is_digit(rest_.front())) return number(take_while(is_digit));
    if (!begins_name(rest_.front())) return std::nullopt;
    const auto found = sizes_.find(std::string(take_while(continues_name)));
    return found == sizes_.end() ? std::nullopt : std::optional(found->second);
  }

  // Up to the closing parenthesis: one, or the largest of several.
  std::optional<int64_t> arguments(bool several) {
    auto largest = sum();
    while (largest && several && take(",")) {
      const auto next = sum();
      if (!next) return std::nullopt;
      largest = std::max(*largest, *next);
    }
    return take(")") ? largest : std::nullopt;
  }

  static std::optional<int64_t> number(std::string_view digits) {
    int64_t n = 0;
    for (char c : digits)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n))
        return std::nullopt;
    return n;
  }

  std::string_view rest_;
  const std::map<std::string, int64_t>& sizes_;
  int depth_ = 0;
};

}  // namespace

std::optional<int64_t> evaluate_dim(std::string_view text,
                                    const std::map<std::string, int64_t>& sizes) {
  const auto found = sizes.find(std::string(text));
  return found != sizes.end() ? found->second : Parser(text, sizes).whole();
}

bool is_dim_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, continues_name);
}

}  // namespace oe
