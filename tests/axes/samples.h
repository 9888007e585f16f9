// Arguments for every overload of an operator: drawn by the types of its schema, or written down.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/axes/values.h"

namespace oe::axes {

// Whether the overload takes or gives tensors and writes none; empty, or the reason why it is out.
std::string outside(const c10::FunctionSchema& schema);

// Arguments of which most are wrong. Different from draw to draw.
Sample drawn(const c10::FunctionSchema& schema, Random& random);

// Good arguments, written down where drawing finds none, and those that once came out wrong:
//   "self=f[a,3,2c,d] weight=f[4,3,2,2] stride=[2,2]"
// f, i, b, c[...]: a tensor of floats, integers (i7: below 7), bools or complex numbers; {2,1}: one
// of these integers; (x;y): a list of tensors; [a,2]: a list of numbers; 'text'; None; True.
// Arguments that are left out have their default, or else None.
struct Written {
  std::string_view overload;  // with namespace: "aten::conv2d"
  std::string_view arguments;
};
std::span<const Written> written();
// False: the kernel would end the process, or run for long, on arguments that do not fit.
bool may_be_drawn(std::string_view overload);
Sample parse(const c10::FunctionSchema& schema, std::string_view arguments);

// Overloads that no sample is expected for, and why.
struct Unsampled {
  std::string_view overload, reason;
};
std::span<const Unsampled> unsampled();

}  // namespace oe::axes
