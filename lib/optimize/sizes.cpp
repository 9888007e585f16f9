// Arithmetic on sizes of which some are not known.
#include "lib/optimize/sizes.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace oe::optimize {

Size sum(const Size& a, const Size& b) { return a && b ? a->plus(*b) : std::nullopt; }
Size sum(const Size& a, int64_t b) { return sum(a, DimPolynomial::number(b)); }
Size difference(const Size& a, const Size& b) { return a && b ? a->minus(*b) : std::nullopt; }
Size product(const Size& a, const Size& b) { return a && b ? a->times(*b) : std::nullopt; }
Size product(const Size& a, int64_t b) { return product(a, DimPolynomial::number(b)); }
Size product(const Sizes& all, size_t from, size_t to) {
  Size p = DimPolynomial::number(1);
  for (size_t i = from; i < to; ++i) p = product(p, all[i]);
  return p;
}
Size floor_quotient(const Size& a, int64_t b) {
  return a && b > 0 ? a->floor_divided(b) : std::nullopt;
}
// Div of integers rounds towards 0.
Size quotient(const Size& a, const Size& b) {
  if (!a || !b || !a->never_negative()) return std::nullopt;
  const auto number = b->as_number();
  return number ? floor_quotient(a, *number) : a->divided_exactly(*b);
}

// floor(size * scale), where the product of floats is exact: by an integer, and by a power of 2.
Size scaled(const Size& size, float scale) {
  if (scale >= 1 && scale < 1024 && scale == std::floor(scale))
    return product(size, static_cast<int64_t>(scale));
  const float inverse = 1 / scale;
  if (scale > 0 && scale < 1 && inverse <= 1024 && inverse == std::floor(inverse) &&
      std::has_single_bit(static_cast<unsigned>(inverse)))
    return floor_quotient(size, static_cast<int64_t>(inverse));
  return std::nullopt;
}

Size wider(const Size& a, const Size& b) {
  if (a && a->as_number() == 1) return b;
  if (b && b->as_number() == 1) return a;
  return a && b && *a == *b ? a : std::nullopt;
}
Sizes wider(Sizes a, Sizes b) {
  if (a.size() < b.size()) std::swap(a, b);
  b.insert(b.begin(), a.size() - b.size(), DimPolynomial::number(1));
  for (size_t i = 0; i < a.size(); ++i) a[i] = wider(a[i], b[i]);
  return a;
}

Size taken(const DimPolynomial& d, const DimPolynomial& start, const DimPolynomial& end,
           int64_t step) {
  const auto from = start.as_number(), to = end.as_number();
  if (!from || step <= 0 || !d.never_negative()) return std::nullopt;
  const bool to_end = (to && *to > INT32_MAX) || end == d;
  // The elements before `from`, or all but the last -to.
  Size count;
  if (to_end && *from >= 0)
    count = d.minus(DimPolynomial::number(*from));
  else if (*from == 0 && to && *to < 0)
    count = d.plus(end);
  if (!count) return std::nullopt;
  return step == 1 ? Size(count->at_least_zero())
                   : floor_quotient(sum(count->at_least_zero(), step - 1), step);
}

}  // namespace oe::optimize
