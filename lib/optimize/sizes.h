// Arithmetic on sizes of which some are not known.
#pragma once

#include <optional>
#include <vector>

#include "lib/optimize/dim_polynomial.h"

namespace oe::optimize {

using Size = std::optional<DimPolynomial>;  // nothing: unknown
using Sizes = std::vector<Size>;

Size sum(const Size& a, const Size& b);
Size sum(const Size& a, int64_t b);
Size difference(const Size& a, const Size& b);
Size product(const Size& a, const Size& b);
Size product(const Size& a, int64_t b);
// Of all[from] to all[to - 1].
Size product(const Sizes& all, size_t from, size_t to);
Size floor_quotient(const Size& a, int64_t b);
// Div of integers rounds towards 0.
Size quotient(const Size& a, const Size& b);
// floor(size * scale), where the product of floats is exact: by an integer, and by a power of 2.
Size scaled(const Size& size, float scale);
// The dims of the result where two tensors are broadcast.
Size wider(const Size& a, const Size& b);
Sizes wider(Sizes a, Sizes b);
// How many elements Slice takes of `d`, along whole axes or without elements at one end.
Size taken(const DimPolynomial& d, const DimPolynomial& start, const DimPolynomial& end,
           int64_t step);

}  // namespace oe::optimize
