// Why a converted model differs from LibTorch on some inputs: an operator that is wrong, or one
// that chooses among equals, or rounding.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/compare/replay.h"
#include "lib/lower/user_rules.h"
#include "lib/options/options.h"
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
    Overflow,  // an operator's sums leave the range of their type
  };
  Kind kind = Kind::Unknown;
  // The operator with its place: "aten::topk at net.py:12  y = x.topk(3)"; may be empty.
  std::string text;
  std::string first;  // the first result of the whole model that differs, and how; may be empty
};

// ONNX Runtime leaves out the rounding between nodes of float16, and has hardly any kernels for
// bfloat16: from here on `m` computes each node in float32 and rounds what comes of it. Its bytes.
std::string rounding_bytes(ir::Model& m);

// Runs the program in LibTorch, and two models of it in ONNX Runtime that give the result of every
// operator at its top: one as a whole, and one in which each operator gets LibTorch's own results,
// so that it answers for itself alone. Does the same for the body of a loop and for a branch where
// that is what differs. Not for models that draw random numbers.
class DifferenceCause {
 public:
  // All must outlast this.
  DifferenceCause(const program::Program& p, const Options& o, const lower::UserRules& rules,
                  verify::Ort& ort)
      : given_(p), o_(o), rules_(rules), ort_(ort) {}

  // `inputs`: one a port of the program.
  Cause of(const std::vector<TensorPtr>& inputs);

 private:
  using Results = std::map<const program::Value*, TensorPtr>;
  struct Model {
    std::string bytes;                              // empty: it cannot be made
    std::unique_ptr<verify::Ort::Session> session;  // once it has run
  };
  // The models of one block: of the program's body, a branch or a loop's.
  struct Models {
    std::vector<program::Port> inputs;
    std::vector<const program::Value*> results;        // of the outputs "step_0", "step_1", ...
    std::map<const program::Value*, std::string> cut;  // inputs of `apart` that stand for results
    Model whole, apart;
  };

  Models& models_of(program::Block& b, const capture::BlockRun& run);
  std::string model(program::Block& b, const Models& m, const std::vector<program::Port>& inputs);
  Results run(Model& model, const std::vector<const program::Value*>& results,
              const std::map<std::string, TensorPtr>& given) const;
  // The results of both models.
  std::pair<Results, Results> run_both(const program::Block& b, Models& m,
                                       const capture::BlockRun& run);
  std::optional<Cause> alone(const capture::BlockRun& run, const Models& m, const Results& apart);
  static Cause of_first(const capture::Replayed* first, bool right_rounded);
  Cause of(program::Block& b, const capture::BlockRun& run);
  Cause inside(const program::Node& n);
  bool is_right_rounded(const std::vector<capture::Replayed>& steps);

  const program::Program& given_;
  program::Program p_;  // its copy, once a difference is looked into: changed while models are made
  const Options& o_;
  const lower::UserRules& rules_;
  verify::Ort& ort_;
  std::vector<TensorPtr> inputs_;  // of the run that was asked about last, and its answer
  Cause cause_;
  std::map<const program::Block*, Models> models_;
};

}  // namespace oe
