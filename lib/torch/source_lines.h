// The author's source lines, which an archive keeps beside its code.
#pragma once

#include <torch/csrc/jit/serialization/source_range_serialization.h>

#include <memory>
#include <string>

namespace oe::torch_io {

// Of a record like "code/__torch__.py.debug_pkl": which lines of which file each piece of the
// serialized code was made from. Read when first asked. `pickle`: the record's content; what is
// malformed in it has no lines.
std::shared_ptr<torch::jit::SourceRangeUnpickler> source_lines(std::string pickle);

}  // namespace oe::torch_io
