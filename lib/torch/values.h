// Example values: from the text after '=' in a SPEC, from files, or random.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <vector>

#include "lib/torch/example_files.h"
#include "lib/torch/input_options.h"

namespace oe::torch_io {

// The type inside any Optional.
c10::TypePtr strip_optional(c10::TypePtr type);

// `v` with the element types of `type`: pickle_load and JSON produce List[Any] and
// Dict[Any, Any], which LibTorch rejects as arguments. `path` is its name in a
// Failure(Usage).
c10::IValue retype(const c10::IValue& v, const c10::TypePtr& type, const std::string& path);

// The value of a SPEC, for a leaf (or a whole list, tuple or dict) of TorchScript type `type`.
// `like` is the file's example (from a trace), or None: it determines the default element type,
// and, if it has data, the range of random integers. Random values come from `seed`.
c10::IValue make_value(const InputSpec& spec, const c10::TypePtr& type, const c10::IValue& like,
                       const std::string& path, uint64_t seed, ExampleFiles& files);

// The number converted to an element type: floats are rounded; an integer outside the type's range
// is a Failure(Usage). Undefined: `v`.
c10::IValue represented_number(const c10::IValue& v, DType type, const std::string& path);

// Whether the tensor has data: a trace stores only type and sizes of its inputs.
bool has_data(const at::Tensor& t);

// The least and the largest number of "rand(a,b)" and "randint(a,b)"; nothing: another value.
using Range = std::pair<double, double>;
std::optional<Range> range_of(const InputSpec& spec, const std::string& path);

// Another tensor like `example` with the given sizes: floats from N(0,1) when `normal`, else evenly
// from `range`, or the example's without one; integers likewise; bools either.
// A sorted 1-d example stays sorted (lengths of packed sequences).
at::Tensor random_like(const at::Tensor& example, const std::vector<int64_t>& sizes, bool normal,
                       const std::optional<Range>& range, uint64_t seed);

// The seed of one leaf, derived from the run's seed: leaves differ, and do not depend on how many
// numbers another leaf draws.
uint64_t leaf_seed(uint64_t seed, size_t leaf);

}  // namespace oe::torch_io
