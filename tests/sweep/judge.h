// Whether ONNX Runtime's result is right beside PyTorch's own and the same computed in float64.
#pragma once

#include <string>

#include "lib/support/tensor.h"

namespace oe::sweep {

// What is wrong with `actual`; empty: nothing. Element type and shape have to be those of
// `expected`, integers and bools equal. A float is right where its error against `exact` is at most
// 4 times the largest one of `expected` (its own one where that is no rounding), plus 8 units in
// the last place of the tensor's largest magnitude; or where it is as near to `expected` as
// torch.testing.assert_close asks by default. NaN and infinities are right where `expected` has the
// same, or where `exact` has a number that is near. `exact`: of type Double and the same shape;
// null, or anything else: unknown.
std::string difference(const Tensor& actual, const Tensor& expected, const Tensor* exact);

// Whether two tensors of doubles of one shape are equal as far as float32 goes: the elements differ
// by at most a thousandth of the largest one, as a function of rounded inputs may.
bool equal_in_float(const Tensor& actual, const Tensor& expected);

}  // namespace oe::sweep
