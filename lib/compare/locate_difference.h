// Locates the first difference between an ONNX file of any tool and the module.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/program/program.h"
#include "lib/support/tensor.h"
#include "lib/verify/ort.h"

namespace oe {

// Runs the program in LibTorch and the file in ONNX Runtime on the same inputs, node by
// node. Names do not relate the results of the two, so results are matched by their values,
// also in another layout. From the outputs that differ, results without a match are
// followed upwards, and the first of them is reported. Not for models that draw random
// numbers.
class FileDifference {
 public:
  struct Found {
    // Of the program with its source line, of the file with its node: "aten::gelu at net.py:12
    // y = gelu(x); in the file node '/act/Erf' (Erf)". Empty where nothing can be told.
    std::string text;
    // Where every output differs from such a place on: why LibTorch's result and the file's are
    // both right there: "aten::topk at net.py:12  y = x.topk(3) chooses among equal elements,
    // whose order is not defined". Empty where an output has none.
    std::string tie;
  };

  // All must outlast this. `names`: what the file calls the input of each port of the program.
  FileDifference(const program::Program& p, const std::vector<std::string>& names,
                 const ir::Model& file, verify::Ort& ort, int threads)
      : p_(p), names_(names), given_(file), ort_(ort), threads_(threads) {}

  // `inputs`: one a port of the program.
  Found of(const std::vector<TensorPtr>& inputs);

 private:
  bool run_file(const std::vector<TensorPtr>& inputs);

  const program::Program& p_;
  const std::vector<std::string>& names_;
  const ir::Model& given_;
  verify::Ort& ort_;
  int threads_;
  std::optional<ir::Model> file_;  // with the result of every node as an output
  std::unique_ptr<verify::Ort::Session> session_;
  std::map<const ir::Value*, TensorPtr> results_;  // of the last run, of file_
  std::vector<TensorPtr> inputs_;                  // that were asked about last, and the answer
  Found found_;
};

}  // namespace oe
