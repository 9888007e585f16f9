// Whether the shapes that a model states are those that its outputs have.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/support/dtype.h"
#include "lib/support/tensor.h"

namespace oe::verify {

// The sizes of axes in one run, by the names that the model's inputs give them.
using NamedSizes = std::map<std::string, int64_t>;
void add_sizes(const Shape& stated, const Tensor& input, NamedSizes& sizes);

// What the model states of the shape that the tensor does not have, as "axis 0 is 1, the model
// says n = 4"; empty: nothing. A name stands for its size, or is an expression ("2*n", see
// evaluate_dim); one that no input determines says nothing.
std::string not_as_stated(const Tensor& t, const Shape& stated, const NamedSizes& sizes);

}  // namespace oe::verify
