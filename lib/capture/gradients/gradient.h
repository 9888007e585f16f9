// Reverse-mode differentiation of what the model has computed: torch.autograd.grad and
// backward().
//
// Where a model differentiates, a tape keeps every call of a functional operator that autograd
// would keep. The gradient walks it backwards and runs the vector-Jacobian product of each call:
// functions of TorchScript (composites/derivatives_*.py), one for an operator and argument, which
// the executor runs like any other code. They are recorded, and on the tape themselves with
// create_graph. A kept If or Loop is on the tape with what its branches or its body did, and is
// differentiated as one that runs them again.
#pragma once

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

struct KeptIf;
struct KeptLoop;

// A call on the tape, with contents of its own: later writes change nothing. Or a kept If or Loop:
// no operator, `args` are what it takes from outside, `out` what it leaves.
struct GradientEntry {
  const OpInfo* op = nullptr;
  std::vector<AbstractValue> args, out;
  OriginPtr origin;
  std::shared_ptr<const KeptIf> kept{};
  std::shared_ptr<const KeptLoop> loop{};
};
using GradientLog = std::vector<GradientEntry>;

// A kept If as what its branches did: they are run again to be differentiated.
struct KeptIf {
  struct Output {
    AbstractValue out;
    std::array<AbstractValue, 2> in;  // what each branch leaves for it
  };
  AbstractValue cond;
  std::array<GradientLog, 2> logs;
  std::vector<Output> outputs;
  int first_value, last_value;  // ids of the program's values recorded inside
};

// A tensor or number that a kept Loop carries: before it, in its body and behind it.
struct LoopPiece {
  AbstractValue before, param, end, after;
};

// A kept Loop as what one iteration did.
struct KeptLoop {
  AbstractValue trip, cond;  // at most so many iterations, and whether there is one
  AbstractValue index;       // in the body: the number of the iteration, from 0
  AbstractValue next;        // at its end: whether there is another one
  std::vector<LoopPiece> pieces;
  GradientLog log;
  int first_value, last_value;  // ids of the program's values recorded inside
};

class Gradient {
 public:
  explicit Gradient(Executor& ex) : ex_(ex) {}

  // While it lives, a branch or an iteration is recorded: note() keeps all of its calls.
  class Inside {
   public:
    explicit Inside(Gradient& g) : g_(g), begin_(g.tape_.size()) { ++g_.depth_; }
    ~Inside() {
      g_.tape_.resize(begin_);
      --g_.depth_;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    // What was kept since then.
    GradientLog log() const {
      return {g_.tape_.begin() + static_cast<long>(begin_), g_.tape_.end()};
    }

   private:
    Gradient& g_;
    size_t begin_;
  };

  // Before the method runs: whether its code, or code that it calls, differentiates.
  void begin(torch::jit::Function& method);
  // A functional operator has run.
  void note(const OpInfo& op, const std::vector<AbstractValue>& args,
            const std::vector<AbstractValue>& out);
  // Whether there are rules for an operator and the arguments of it that require a gradient. One
  // that is made of others is differentiated as a whole then: `run` is not followed.
  bool has_rules(const OpInfo& op, const std::vector<AbstractValue>& args);
  std::vector<AbstractValue> whole(const OpInfo& op, const std::vector<AbstractValue>& args,
                                   const std::function<std::vector<AbstractValue>()>& run);
  // requires_grad_(wanted).
  void require(const AbstractValue& tensor, const AbstractValue& wanted);
  // The content of a tensor is replaced in place.
  void overwrite(const TensorValue& before, const TensorValue& after);
  // The answer of autograd about a tensor (requires_grad, is_leaf); nothing without a tape.
  std::optional<AbstractValue> answer(const OpInfo& op, const std::vector<AbstractValue>& args);
  // A kept If or Loop has been recorded.
  void note_if(KeptIf made);
  void note_loop(KeptLoop made);
  // aten::grad, aten::backward and prim::grad (.grad of a tensor)
  std::vector<AbstractValue> call(const OpInfo& op, const std::vector<AbstractValue>& args);
  // retain_grad()
  void retain(const AbstractValue& tensor);

 private:
  // How autograd sees a tensor. Unseen: no operator gave it (a kept If or Loop did).
  enum class Kind : uint8_t { Constant, Leaf, Computed, Unseen };
  struct Variable {
    TensorValuePtr value;  // kept, so that its address stays its own
    Kind kind = Kind::Constant;
  };
  using Entry = GradientEntry;
  using Ids = std::unordered_set<size_t>;
  struct Walk;
  struct Again;

  // Whether a gradient flows through the call: it gave a result with one where it was recorded.
  bool flows(const Entry& e);

  // --- gradient_tape.cpp
  size_t id_of(const TensorValuePtr& t);
  Kind kind_of(const TensorValuePtr& t) { return variables_[id_of(t)].kind; }
  Kind kind_of_unknown(const TensorValue& t) const;
  bool is_input(const program::Value* v) const;
  bool known_flag(const AbstractValue& s);
  AbstractValue snapshot(const AbstractValue& s);
  void set_kind(const AbstractValue& tensor, Kind kind);
  void add_outside(Entry& e, const AbstractValue& s, int first_value, int last_value);

  // --- gradient_calls.cpp
  void fail(const std::string& message);
  void seed(Walk& walk, const std::vector<AbstractValue>& outputs, const AbstractValue& given);
  std::vector<AbstractValue> of_inputs(const std::vector<AbstractValue>& args);
  void accumulate(const std::vector<AbstractValue>& outputs, const AbstractValue& given,
                  const AbstractValue& create_graph);
  AbstractValue accumulated(const AbstractValue& tensor);

  Executor& ex_;
  bool on_ = false;      // a tape is kept
  bool paused_ = false;  // what runs is not followed
  int depth_ = 0;        // kept branches and loops around what runs
  std::vector<Variable> variables_;
  std::unordered_map<const void*, size_t> ids_;
  GradientLog tape_;
  // Gradients that LibTorch computes from a variable on which they depend nowhere.
  std::unordered_map<size_t, std::vector<size_t>> tied_;
  Ids retained_;                            // results that keep their gradient
  std::map<size_t, AbstractValue> kept_{};  // .grad of variables
};

// The rule for an operator's argument: aten::mul.Tensor and other are mul__Tensor__other; null:
// there is none.
torch::jit::Function* derivative_of(const OpInfo& op, const std::string& argument);
// The function that is differentiated for an operator without rules; null: there is none.
torch::jit::Function* made_of(const OpInfo& op);

// Whether `f` holds of a tensor that an argument is or holds.
template <class F>
bool any_tensor(const AbstractValue& s, F&& f) {
  if (s.is(AbstractValue::Kind::Tensor)) return f(s);
  return s.is(AbstractValue::Kind::List) &&
         std::ranges::any_of(s.list()->items,
                             [&](const AbstractValue& e) { return any_tensor(e, f); });
}

// Calls `f` with every tensor that an argument is or holds.
template <class F>
void each_tensor(const AbstractValue& s, F&& f) {
  if (s.is(AbstractValue::Kind::Tensor)) f(s);
  if (s.is(AbstractValue::Kind::List))
    for (const AbstractValue& e : s.list()->items) each_tensor(e, f);
}

}  // namespace oe::capture
