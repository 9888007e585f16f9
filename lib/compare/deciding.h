// Operators whose result rounding may decide: they choose among elements, or round to whole steps.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "lib/program/program.h"

namespace oe {

// "aten::topk at net.py:12  y = x.topk(3)".
std::string place(const program::Node& n);
// The operator's name without its overload.
std::string_view base_of(const program::Node& n);
bool is_one_of(const program::Node& n, std::initializer_list<std::string_view> names);

// Operators that choose elements: among equal ones LibTorch does not say which.
bool chooses(const program::Node& n);
// Operators that round what they compute to whole numbers or steps.
bool rounds(const program::Node& n);
// Whether two elements are equal, to the bit.
bool has_equal_elements(const Tensor& t);

// How messages go on behind place().
constexpr const char* kAmongEquals = " chooses among equal elements, whose order is not defined";
constexpr const char* kAtLimit = " decides on numbers that differ from the limit by rounding only";

// Why two results of `n` for arguments that agree up to rounding are both right, as one of the
// texts above; empty: nothing shows that they are. `argument`: the node's first, as LibTorch
// computed it. Of an operator that chooses both must be indices of elements that are equal up to
// rounding; where one that rounds differs, by one step, its argument must lie next to the limit.
std::string_view both_right(const program::Node& n, const Tensor& argument, const Tensor& actual,
                            const Tensor& expected);

}  // namespace oe
