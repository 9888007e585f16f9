// Texts of the command line that have a grammar of their own: input SPECs, dynamic axes, sizes.
#pragma once

#include <cstdint>
#include <string>

#include "lib/torch/input_options.h"

namespace oe {

// One --input SPEC:
//   [NAME:]SHAPE[@DTYPE][=VALUE]   x:batch=2x3x224x224@f32   [1,3,224,224]=zeros   scalar@i64=3
//   NAME=VALUE                     n=5   mask=@mask.npy   sizes=[2,3]
// Throws Failure(Usage) that names `option` and quotes the part that cannot be read.
InputSpec parse_input_spec(const std::string& text, const std::string& option = "--input");

// "f32" of Float: an element type as a SPEC has it.
std::string spec_type(DType t);
// As --input takes it: "obs:1x48@f32".
std::string spec_text(const InputSpec& s);

// Adds one --dynamic-axes value to `axes`: torch's dictionary as JSON, @file.json, or the short
// form "x:0=batch,2=h y:0,2". Axes of a named input without a name get torch's automatic ones
// (x_dynamic_axes_1, ... in the order given). Throws Failure(Usage).
void parse_dynamic_axes(const std::string& text, AxesSpec& axes);

// "1024", "1KiB", "4k", "2MiB", "1GB" in bytes. Throws Failure(Usage) naming `option`.
int64_t parse_size(const std::string& text, const std::string& option);

}  // namespace oe
