// Operators: run by LibTorch in every world, typed, then recorded or folded.
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/capture/operators/axes/axes.h"
#include "lib/support/trial.h"
#include "lib/torch/convert.h"
#include "lib/torch/cuda.h"

namespace oe::capture {
namespace {

// What a graph of dense tensors cannot hold; empty: nothing.
const char* foreign_kind(const at::Tensor& t) {
  if (t.unsafeGetTensorImpl()->is_nested()) return "a nested tensor";
  if (t.layout() != c10::kStrided) return "a tensor with a sparse or opaque layout";
  if (t.is_meta()) return "a tensor without data (device meta)";
  return nullptr;
}

// Autograd's answers about a tensor: false and true of whatever is computed without it.
bool asks_autograd(const std::string& base) {
  return base == "prim::requires_grad" || base == "aten::is_leaf";
}

// What has no value in an ONNX graph can only be folded.
bool representable(const at::Tensor& t) {
  const DType dtype = torch_io::to_dtype(t.scalar_type());
  return !foreign_kind(t) && !t.is_quantized() && dtype != DType::Undefined;
}

}  // namespace

Axis Apply::fresh_axis(Taint t) { return {t, ex_.recorder.new_axis_id()}; }

void Apply::fail(size_t w, const std::string& message) {
  ex_.worlds.fail(w, message, ex_.site.here());
}

// Whether a result of constants is recorded all the same: integer weights stay integers.
bool Apply::stays_computed(const OpInfo& op, const PerWorld& out,
                           const std::vector<AbstractValue>& args) {
  if (op.base.starts_with("quantized_decomposed::dequantize_")) return true;
  if (!out.at(0).isTensor() || !out.at(0).toTensor().defined()) return false;
  const at::Tensor result = out.at(0).toTensor();
  if (plan_.fold_limit && static_cast<int64_t>(result.nbytes()) <= *plan_.fold_limit) return false;
  std::vector<at::Tensor> operands;
  std::function<void(const AbstractValue&)> add = [&](const AbstractValue& s) {
    if (s.is(K::Tensor)) operands.push_back(ex_.views.read(s.tensor())->c.at(0).toTensor());
    if (s.is(K::List))
      for (const AbstractValue& e : s.list()->items) add(e);
  };
  for (const AbstractValue& a : args) add(a);
  if (!plan_.fold_limit)
    return !operands.empty() && representable(result) &&
           std::ranges::all_of(operands, representable);
  size_t in = 0;
  for (const at::Tensor& t : operands) in += t.nbytes();
  return result.nbytes() > in;
}

// Element types are part of the graph.
void Apply::require_known_types(const OpInfo& op, const std::vector<AbstractValue>& args) {
  for (size_t i = 0; i < args.size() && i < op.schema->arguments().size(); ++i) {
    if (!args[i].is(K::Int) || args[i].taint == Taint::Constant) continue;
    const c10::TypePtr type = op.schema->arguments()[i].real_type();
    const auto optional = type->cast<c10::OptionalType>();
    if ((optional ? optional->getElementType() : type)->kind() == c10::TypeKind::ScalarTypeType)
      ex_.site.refuse(
          "OE4017", "the element type that " + op.base + " is given depends on the input",
          "ONNX types are fixed: convert to one type, choose between the results, or make the "
          "argument a constant with --constant");
  }
}

// What LibTorch gives; nothing where it refuses.
std::optional<torch::jit::Stack> Apply::ask(const OpInfo& op, torch::jit::Stack stack,
                                            int list_length, std::string& refusal) {
  try {
    // Where autograd does not run, LibTorch's dispatcher resolves a conjugate before it asks.
    if (op.base == "aten::is_conj") return torch::jit::Stack{stack[0].toTensor().is_conj()};
    if (op.base == "aten::is_neg") return torch::jit::Stack{stack[0].toTensor().is_neg()};
    op.op->getOperation()(stack);
    if (list_length < 0 || stack.size() != 1 || !stack[0].isList() ||
        stack[0].toListRef().size() == static_cast<size_t>(list_length))
      return stack;
    refusal = "Expected " + std::to_string(list_length) + " elements in a list but found " +
              std::to_string(stack[0].toListRef().size());
  } catch (const Failure&) {
    throw;
  } catch (const Unreachable&) {
    throw;
  } catch (const c10::Error& e) {
    refusal = e.what_without_backtrace();
  } catch (const std::exception& e) {
    refusal = e.what();
  }
  if (auto cut = refusal.find("\nException raised from"); cut != std::string::npos)
    refusal.resize(cut);
  return std::nullopt;
}

// What LibTorch gives in world w; nothing where it refuses, and the world has failed.
std::optional<torch::jit::Stack> Apply::run_in(size_t w, const OpInfo& op,
                                               const std::vector<AbstractValue>& args,
                                               int list_length) {
  torch::jit::Stack stack;
  stack.reserve(args.size());
  for (const AbstractValue& a : args) stack.push_back(value(a, w));
  if (op.schema->is_vararg()) stack.emplace_back(static_cast<int64_t>(args.size()));
  std::optional<Trial> trial;
  if (w < plan_.trials.size() && !plan_.trials[w].empty()) trial.emplace(plan_.trials[w]);
  note_operator(op.name);
  std::string refusal;
  auto results = ask(op, stack, list_length, refusal);
  if (!results && ex_.made_up.wanted(w))
    results = ex_.made_up.call(w, args, stack, [&](torch::jit::Stack other) {
      std::string ignored;
      return ask(op, std::move(other), list_length, ignored);
    });
  if (!results) fail(w, refusal);
  return results;
}

// Each result of a constant: the same in all worlds.
std::vector<PerWorld> Apply::run_once(const OpInfo& op, const std::vector<AbstractValue>& args,
                                      int list_length) {
  std::optional<torch::jit::Stack> stack;
  while (!stack) stack = run_in(ex_.worlds.first(), op, args, list_length);
  std::vector<PerWorld> results;
  for (size_t i = 0; i < op.schema->returns().size(); ++i)
    results.push_back(PerWorld::constant((*stack)[i]));
  return results;
}

std::vector<PerWorld> Apply::run_in_all(const OpInfo& op, const std::vector<AbstractValue>& args,
                                        int list_length) {
  std::vector<PerWorld> results(op.schema->returns().size(), PerWorld::sized(ex_.worlds.count()));
  const auto run = [&](size_t w) {
    std::optional<torch::jit::Stack> stack;
    try {
      stack = run_in(w, op, args, list_length);
    } catch (const Unreachable&) {
      if (!ex_.worlds.active()) throw;
    }
    if (stack)
      for (size_t i = 0; i < results.size(); ++i) results[i].set(w, std::move((*stack)[i]));
  };
  // The last one that fails is none that really comes here: it may go on with made-up values.
  const Worlds::Set real = ex_.worlds.real();
  for (const bool first : {true, false})
    ex_.worlds.each([&](size_t w) {
      if (Worlds::contains(real, w) == first) run(w);
    });
  return results;
}

std::vector<AbstractValue> Apply::operator()(const OpInfo& op,
                                             const std::vector<AbstractValue>& args,
                                             int list_length) {
  if (auto made = ex_.interpreter.call_composite(op, args)) {
    for (AbstractValue& s : *made)
      if (s.is(K::Tensor)) s = ex_.values.tensor(ex_.views.read(s));  // it may be a view
    return *made;
  }
  if (auto made = ex_.quantized.call(op, args)) return *made;
  const auto& returns = op.schema->returns();
  const Taint taint = is_random(op, args) ? Taint::Data : content_taint(op, args);
  if (asks_autograd(op.base))
    if (const auto known = ex_.gradient.answer(op, args)) return {*known};
  if (asks_autograd(op.base) && value(args[0], ex_.worlds.first()).toTensor().is_inference())
    throw AsksAutograd{};
  const bool constant = taint == Taint::Constant;
  std::vector<PerWorld> results =
      constant ? run_once(op, args, list_length) : run_in_all(op, args, list_length);
  Call call{op, args, taint};
  call.unpacked = list_length >= 0;
  call.folded = constant &&
                (!plan_.writable(op.recorded) || std::ranges::none_of(results, [&](const auto& r) {
                  return stays_computed(op, r, args);
                }));
  const bool text = !returns.empty() && returns[0].type()->kind() == c10::TypeKind::StringType;
  if (!call.folded && ex_.recorder.on() && !text && !Quantized::relabels(op)) {
    require_known_types(op, args);
    program::Args recorded;
    recorded.reserve(args.size());
    for (const AbstractValue& a : args) recorded.push_back(arg(a));
    call.node = ex_.recorder.record(op.recorded, std::move(recorded), ex_.site.here());
  }
  std::vector<AbstractValue> out;
  for (size_t i = 0; i < returns.size(); ++i)
    out.push_back(make_output(call, std::move(results[i]), i));
  ex_.gradient.note(op, args, out);
  return out;
}

AbstractValue Apply::operator()(const std::string& name, const std::vector<AbstractValue>& args) {
  const OpInfo& op = ex_.operators.named(name);
  const auto device = op.schema->argumentIndexWithName("device");
  if (!device || !args.at(static_cast<size_t>(*device)).is(K::None) || args[0].is(K::Tensor))
    return (*this)(op, args).at(0);
  // Without a device, an operator that takes no tensor allocates on the CPU.
  std::vector<AbstractValue> placed = args;
  placed[static_cast<size_t>(*device)] =
      AbstractValue::opaque(c10::Device(torch_io::current_device()));
  return (*this)(op, placed).at(0);
}

// Whether the rank of the results is the same in every run, whatever the worlds had.
bool Apply::rank_known(const OpInfo& op, const std::vector<AbstractValue>& args) {
  bool unranked = false;
  std::function<void(const AbstractValue&)> look = [&](const AbstractValue& s) {
    if (s.is(K::Tensor)) unranked = unranked || !ex_.views.read(s.tensor())->ranked;
    if (s.is(K::List))
      for (const AbstractValue& e : s.list()->items) look(e);
  };
  for (const AbstractValue& a : args) look(a);
  if (!gives_rank(op, args.size())) return !unranked;
  return std::ranges::none_of(
      args, [&](const AbstractValue& a) {  // sizes of which the number is not known
        if (!a.is(K::List) || !a.list()->is_open() || !a.list()->open.is(K::Tensor)) return false;
        const TensorValuePtr sizes = ex_.views.read(a.list()->open);
        return a.list()->element->kind() == c10::TypeKind::IntType &&
               !sizes->axes.at(0).is_static();
      });
}

std::vector<Axis> Apply::infer_axes(const OpInfo& op, const std::vector<AbstractValue>& args,
                                    const PerWorld& out, size_t index) {
  AxisCall c{op,
             args,
             {},
             out,
             index,
             static_cast<size_t>(out.any().toTensor().dim()),
             ex_.worlds.count(),
             [this](Taint t) { return fresh_axis(t); },
             [this](const AbstractValue& s) { return ex_.views.read(s.tensor()); }};
  for (const AbstractValue& a : args)
    c.values.push_back(a.is(K::Tensor) ? ex_.views.read(a.tensor()) : nullptr);
  return axes_of(c);
}

// The type that a tensor has in every run.
TensorValuePtr Apply::typed(const Call& call, PerWorld c, size_t index) {
  const OpInfo& op = call.op;
  auto v = std::make_shared<TensorValue>();
  v->c = std::move(c);
  const at::Tensor first = example(*v);
  if (const char* kind = foreign_kind(first); kind && !call.folded)
    ex_.site.refuse("OE4018", op.base + " returns " + kind + ", which ONNX graphs do not have",
                    "convert it to a dense tensor in the model");
  const auto rank = static_cast<size_t>(first.dim());
  for (size_t w = 0; w < ex_.worlds.count(); ++w) {
    if (!v->c.has(w)) continue;
    const at::Tensor& t = v->c.at(w).toTensor();
    v->ranked = v->ranked && t.dim() == first.dim();
    if (t.scalar_type() != first.scalar_type())
      ex_.site.refuse("OE4017",
                      "the element type of a result of " + op.base + " depends on the input");
  }
  if (!call.folded && !rank_known(op, call.args)) v->ranked = false;
  if (v->ranked) {
    v->axes = call.folded ? std::vector<Axis>(rank) : infer_axes(op, call.args, v->c, index);
    v->ranked = v->axes.size() == rank;
    if (!v->ranked) v->axes.clear();
  }
  v->taint = join(call.taint, axes_taint(*v));
  if (first.is_quantized() && !call.folded) v->quantizer = ex_.quantized.of_result(op, call.args);
  return v;
}

AbstractValue Apply::tensor_output(const Call& call, PerWorld c, size_t index) {
  TensorValuePtr v = typed(call, std::move(c), index);
  if (call.folded) {
    for (const AbstractValue& a : call.args)
      if (a.is(K::Tensor) && !ex_.views.read(a.tensor())->name.empty()) {
        // Not the plain name: that one holds the state_dict's numbers.
        v->name = ex_.views.read(a.tensor())->name + "_" + std::string(call.op.method());
        break;
      }
  } else if (Quantized::relabels(call.op)) {
    v->recorded = ex_.recorder.value(ex_.views.read(call.args[0]));
  } else if (call.node) {
    v->recorded = ex_.recorder.add_output(call.node, ex_.recorder.type_of(*v));
  }
  if (call.op.base == "prim::NumToTensor")
    v->number = std::make_shared<const AbstractValue>(call.args[0]);
  AbstractValue made = ex_.values.tensor(v);
  made.tensor()->storage->computed = true;
  return made;
}

AbstractValue Apply::list_output(const Call& call, const PerWorld& c) {
  const size_t n = c.any().toListRef().size();
  // Of one world alone what it finds is joined with the others' later.
  bool known = call.unpacked || call.taint == Taint::Constant || ex_.worlds.alone() ||
               gives_length(call.op, call.args, ex_.worlds.count(),
                            [&](const AbstractValue& s) { return ex_.views.read(s.tensor()); });
  for (size_t w = 0; w < ex_.worlds.count(); ++w)
    known = known && (!c.has(w) || c.at(w).toListRef().size() == n);
  if (!known)
    ex_.site.refuse(
        "OE4013",
        call.op.base + " returns a list whose length depends on a dynamic size or on data",
        "make the axis static, or unpack the list into a fixed number of values");
  std::vector<AbstractValue> items;
  for (size_t k = 0; k < n; ++k) {
    const auto kth = [&](const c10::IValue& list) { return list.toListRef()[k]; };
    PerWorld e = c.shared() ? PerWorld::constant(kth(c.at(0))) : ex_.worlds.map(c, kth);
    items.push_back(make_output(call, std::move(e), k));
  }
  return ex_.values.list(std::move(items), c.any().toList().elementType());
}

AbstractValue Apply::make_output(const Call& call, PerWorld c, size_t index) {
  const c10::IValue first = c.empty() ? c10::IValue() : c.any();
  if (first.isTensor() && first.toTensor().defined())
    return tensor_output(call, std::move(c), index);
  if (first.isNone() || first.isTensor()) {
    if (call.node)
      ex_.recorder.add_output(call.node,
                              {program::Type::Kind::None, DType::Undefined, {}, nullptr});
    return AbstractValue::none();
  }
  if (first.isList()) return list_output(call, c);
  const bool number = first.isInt() || first.isDouble() || first.isBool();
  if (!number && !first.isString()) {
    if (call.taint != Taint::Constant)
      ex_.site.refuse("OE4014", call.op.base + " returns a " + first.tagKind() +
                                    " that depends on the input, which ONNX graphs cannot compute");
    return ex_.values.constant(first, "");
  }
  AbstractValue s;
  s.kind = first.isInt()      ? K::Int
           : first.isDouble() ? K::Float
           : first.isBool()   ? K::Bool
                              : K::String;
  s.taint = call.taint;
  s.c = std::move(c);
  if (number && call.node) s.recorded = ex_.recorder.add_output(call.node, number_type(s.kind));
  return s;
}

}  // namespace oe::capture
