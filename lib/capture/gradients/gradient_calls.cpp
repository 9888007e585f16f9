// What the model asks of autograd: torch.autograd.grad, backward(), .grad of a tensor.
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "lib/capture/gradients/gradient_walk.h"

namespace oe::capture {

void Gradient::fail(const std::string& message) {
  ex_.worlds.each([&](size_t w) { ex_.apply.fail(w, message); });
}

// The gradients of what is differentiated: given, or one for a scalar.
void Gradient::seed(Walk& walk, const std::vector<AbstractValue>& outputs,
                    const AbstractValue& given) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorValuePtr y = ex_.views.read(outputs[i].tensor());
    if (kind_of(y) == Kind::Constant)
      fail("element " + std::to_string(i) +
           " of tensors does not require grad and does not have a grad_fn");
    AbstractValue seed = given.is(K::List) ? given.list()->items.at(i) : AbstractValue::none();
    if (seed.is(K::None)) {
      ex_.worlds.each([&](size_t w) {
        if (y->c.at(w).toTensor().numel() != 1)
          ex_.apply.fail(w, "grad can be implicitly created only for scalar outputs");
      });
      const AbstractValue none = AbstractValue::none();
      seed = ex_.apply("aten::ones_like", {ex_.values.tensor(y), none, none, none, none, none});
    }
    walk.add(outputs[i], seed);
  }
}

void Gradient::Walk::walk(const std::vector<AbstractValue>& outputs, const AbstractValue& given) {
  for (const AbstractValue& y : outputs) refuse_unseen(y);
  const std::vector<size_t> entries = leading_to(outputs);
  for (const size_t i : entries) reach(g.tape_[i]);
  require_rules(entries);
  g.seed(*this, outputs, given);
  run(entries);
}

std::vector<AbstractValue> Gradient::of_inputs(const std::vector<AbstractValue>& args) {
  const std::vector<AbstractValue> outputs = args[0].list()->items, inputs = args[1].list()->items;
  const bool allow_unused = known_flag(args[5]);
  // More than what is asked for where create_graph is computed: that only costs memory.
  const c10::AutoGradMode mode(args[4].taint != Taint::Constant || known_flag(args[4]));
  Walk walk{*this, ex_};
  for (const AbstractValue& x : inputs) {
    if (kind_of(ex_.views.read(x.tensor())) == Kind::Constant)
      fail("One of the differentiated Tensors does not require grad");
    walk.reached.insert(walk.id(x));
  }
  walk.walk(outputs, args[2]);
  std::vector<AbstractValue> results;
  for (const AbstractValue& x : inputs) {
    const auto it = walk.grads.find(walk.id(x));
    if (it != walk.grads.end()) {
      results.push_back(it->second);
    } else if (walk.is_zeros(walk.id(x), outputs)) {
      const AbstractValue none = AbstractValue::none();
      results.push_back(ex_.apply("aten::zeros_like", {x, none, none, none, none, none}));
    } else {
      if (!allow_unused)
        fail(
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.");
      results.push_back(AbstractValue::none());
    }
  }
  return {ex_.values.list(std::move(results), c10::OptionalType::ofTensor())};
}

// Into .grad of every leaf and of what retain_grad() names. Parameters are left out: reading
// theirs is refused.
void Gradient::accumulate(const std::vector<AbstractValue>& outputs, const AbstractValue& given,
                          const AbstractValue& create_graph) {
  if (depth_ > 0)
    ex_.site.refuse(kNoGradient,
                    "aten::backward: called under a condition on the input or in a loop that stays "
                    "in the graph",
                    "use torch.autograd.grad, which returns the gradients");
  const bool create = known_flag(create_graph);
  const c10::AutoGradMode mode(create);
  Walk walk{*this, ex_};
  walk.reached = retained_;
  for (size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].kind == Kind::Leaf && variables_[i].value->taint != Taint::Constant)
      walk.reached.insert(i);
  const Ids wanted = walk.reached;
  walk.walk(outputs, given);
  for (const auto& [variable, gradient] : walk.grads) {
    if (!wanted.contains(variable)) continue;
    const auto old = kept_.find(variable);
    if (old == kept_.end())
      kept_.emplace(variable, gradient);
    else if (create || retained_.contains(variable))
      old->second =
          ex_.apply("aten::add.Tensor", {old->second, gradient, AbstractValue::of(int64_t{1})});
    else  // whoever holds it sees the sum
      ex_.interpreter.call_operator("aten::add_.Tensor",
                                    {old->second, gradient, AbstractValue::of(int64_t{1})});
  }
}

void Gradient::retain(const AbstractValue& tensor) {
  if (!on_) return;
  const TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (kind_of(t) == Kind::Constant)
    fail("can't retain_grad on Tensor that has requires_grad=False");
  if (kind_of(t) == Kind::Computed) retained_.insert(id_of(t));
}

AbstractValue Gradient::accumulated(const AbstractValue& tensor) {
  const TensorValuePtr t = ex_.views.read(tensor.tensor());
  if (kind_of(t) == Kind::Leaf && t->taint == Taint::Constant)
    ex_.site.refuse(kNoGradient,
                    "prim::grad: .grad of a parameter keeps what earlier calls of the model added",
                    "use torch.autograd.grad, which returns the gradients of this call");
  const auto it = kept_.find(id_of(t));
  return it == kept_.end() ? AbstractValue::none() : it->second;
}

std::vector<AbstractValue> Gradient::call(const OpInfo& op,
                                          const std::vector<AbstractValue>& args) {
  const Site::Held held(ex_.site);
  if (op.name == "prim::grad") return {accumulated(args[0])};
  if (!on_)
    ex_.site.refuse(kNoGradient, op.base + ": the code that calls it was not found beforehand",
                    "call it in a method of the model");
  if (op.base == "aten::grad") return of_inputs(args);
  if (op.name == "aten::backward.TensorList") {
    accumulate(args[0].list()->items, args[1], args[3]);
  } else {
    const AbstractValue given =
        args[1].is(K::None) ? args[1] : ex_.values.list({args[1]}, c10::OptionalType::ofTensor());
    accumulate({args[0]}, given, args[3]);
  }
  return {};
}

}  // namespace oe::capture
