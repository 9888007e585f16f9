// Whether the shapes that a model states are those that its outputs have.
#include "lib/verify/stated.h"

#include "lib/support/dim_expression.h"

namespace oe::verify {

void add_sizes(const Shape& stated, const Tensor& input, NamedSizes& sizes) {
  if (!stated || stated->size() != input.dims().size()) return;
  for (size_t k = 0; k < stated->size(); ++k)
    if ((*stated)[k].is_symbol()) sizes.emplace((*stated)[k].symbol, input.dims()[k]);
}

std::string not_as_stated(const Tensor& t, const Shape& stated, const NamedSizes& sizes) {
  if (!stated) return {};
  if (stated->size() != t.dims().size())
    return "the rank is " + std::to_string(t.dims().size()) + ", the model declares " +
           std::to_string(stated->size());
  for (size_t k = 0; k < stated->size(); ++k) {
    const Dim& d = (*stated)[k];
    const auto size = d.is_number()   ? std::optional(d.number)
                      : d.is_symbol() ? evaluate_dim(d.symbol, sizes)
                                      : std::nullopt;
    if (!size || *size == t.dims()[k]) continue;
    return "axis " + std::to_string(k) + " is " + std::to_string(t.dims()[k]) +
           ", the model declares " + (d.is_number() ? "" : d.symbol + " = ") +
           std::to_string(*size);
  }
  return {};
}

}  // namespace oe::verify
