// Where an ONNX file begins to compute something else than the module, whoever made the file.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/program/program.h"
#include "lib/support/tensor.h"
#include "lib/verify/ort.h"

namespace oe {

// The program is run by LibTorch and the file by ONNX Runtime on the same inputs, node by node. No
// name says which result of the one is which of the other, so results are recognised by their
// values, also in another layout. From the outputs that differ the results that nothing on the
// other side equals are followed upwards; the first of them is told, of the program with its source
// line, of the file with its node: "aten::gelu at net.py:12  y = gelu(x); in the file node
// '/act/Erf' (Erf)". Empty where that cannot be done.
// `inputs`: one a port of the program; `names`: what the file calls each. `file` gets further
// outputs.
std::string locate_difference(const program::Program& p, const std::vector<TensorPtr>& inputs,
                              const std::vector<std::string>& names, const ir::Model& file,
                              verify::Ort& ort, int threads);

}  // namespace oe
