// Why a converted model differs from LibTorch on some inputs: an operator that is wrong, or one
// that chooses among equals, or rounding.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/capture/replay.h"
#include "lib/lower/user_rules.h"
#include "lib/options.h"
#include "lib/program/program.h"
#include "lib/verify/ort.h"

namespace oe {

struct Cause {
  enum class Kind {
    Unknown,
    Operator,  // wrong beyond rounding on inputs that are LibTorch's own, bit for bit
    Passes,    // every operator is right, and so is the graph before the passes over it
    Tie,       // an operator chooses, or rounds to whole steps, where rounding decides
    Rounding,  // an operator magnifies differences that are within the tolerance
  };
  Kind kind = Kind::Unknown;
  // The operator with its place: "aten::topk at net.py:12  y = x.topk(3)"; may be empty.
  std::string text;
  std::string first;  // the first result of the whole model that differs, and how; may be empty
};

// Runs the program in LibTorch, and two models of it in ONNX Runtime that give the result of every
// operator at its top: one as a whole, and one in which each operator gets LibTorch's own results,
// so that it answers for itself alone. Not for models that draw random numbers.
class DifferenceCause {
 public:
  // All must outlast this. The program is changed while models are made, and is itself afterwards.
  DifferenceCause(program::Program& p, const Options& o, const lower::UserRules& rules,
                  verify::Ort& ort)
      : p_(p), o_(o), rules_(rules), ort_(ort) {}

  // `inputs`: one a port of the program.
  Cause of(const std::vector<TensorPtr>& inputs);

 private:
  using Steps = std::vector<capture::Replayed>;
  using Results = std::map<const program::Value*, TensorPtr>;

  std::string model_of(const std::vector<const program::Value*>& results);
  void make_models(const Steps& steps);
  Results run(const std::string& model, const std::map<std::string, TensorPtr>& given) const;
  Cause judge(const Steps& steps, const Results& whole, const Results& apart) const;

  program::Program& p_;
  const Options& o_;
  const lower::UserRules& rules_;
  verify::Ort& ort_;
  bool made_ = false;
  std::vector<const program::Value*> results_;  // in the order of the outputs "step_0", "step_1"
  std::map<const program::Value*, std::string> cut_;  // inputs of `apart_`
  std::string whole_, apart_;                         // empty: it cannot be made
};

}  // namespace oe
