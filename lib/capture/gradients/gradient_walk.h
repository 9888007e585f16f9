// The tape backwards, from what is differentiated to what it is differentiated by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/executor.h"

namespace oe::capture {

constexpr const char* kNoGradient = "OE4063";
constexpr const char* kNoGradientHint =
    "compute the part that is differentiated with other operators";

struct Gradient::Walk {
  Gradient& g;
  Executor& ex;
  Ids reached = {};                            // what depends on the inputs
  std::map<size_t, AbstractValue> grads = {};  // of variables

  size_t id(const AbstractValue& s) { return g.id_of(ex.views.read(s.tensor())); }

  bool depends(const AbstractValue& s) {
    return any_tensor(s, [&](const AbstractValue& t) { return reached.contains(id(t)); });
  }

  // From the outputs, with the gradients that are given for them (None: ones), to `reached`.
  void walk(const std::vector<AbstractValue>& outputs, const AbstractValue& given);

  // --- which calls lie between the inputs and the outputs
  std::vector<size_t> leading_to(const std::vector<AbstractValue>& outputs);
  void reach(const Entry& e);
  void reach_loop(const Entry& e);
  void refuse_unseen(const AbstractValue& s);
  bool depends_by_program(const program::Value* from);
  std::string obstacle(const Entry& e);
  void require_rules(const std::vector<size_t>& entries);

  // --- their products
  void run(const std::vector<size_t>& entries);
  void differentiate(const Entry& e);
  void differentiate_if(const Entry& e);
  void differentiate_loop(const Entry& e);
  void differentiate_through(const Entry& e, const std::vector<AbstractValue>& of_outputs);
  std::optional<AbstractValue> gradient_of(const Entry& e, const AbstractValue& out);
  std::vector<AbstractValue> gradients_of_outputs(const Entry& e);
  AbstractValue given_of(const Entry& e);
  void tie(const Entry& e);
  bool is_zeros(size_t variable, const std::vector<AbstractValue>& outputs);
  AbstractValue run_rule(const Entry& e, torch::jit::Function& rule,
                         std::vector<AbstractValue> given);
  AbstractValue product(const Entry& e, size_t argument, torch::jit::Function& rule,
                        const std::vector<AbstractValue>& of_outputs);
  void add(const AbstractValue& to, const AbstractValue& gradient);
  AbstractValue like(AbstractValue gradient, const TensorValuePtr& target);
  AbstractValue reduced(AbstractValue gradient, const TensorValuePtr& target);
};

// " (model.py:12)"; empty where the line is not known.
std::string at_line(const OriginPtr& o);

}  // namespace oe::capture
