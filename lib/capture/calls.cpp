// Operators: run by LibTorch in every world, typed, then recorded or folded.
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/capture/axes/axes.h"
#include "lib/capture/composites.h"
#include "lib/capture/executor.h"
#include "lib/support/trial.h"
#include "lib/torch/convert.h"

namespace oe::capture {
namespace {

using K = Sym::Kind;

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
  return !foreign_kind(t) && !t.is_quantized() && dtype != DType::Undefined && !is_complex(dtype);
}

}  // namespace

void Executor::world_failed(size_t w, const std::string& message) {
  worlds_.fail(w, message, here());
}

// Whether a result of constants is recorded all the same.
bool Executor::stays_computed(const PerWorld& out, const std::vector<Sym>& args) {
  if (!out.at(0).isTensor() || !out.at(0).toTensor().defined()) return false;
  const at::Tensor result = out.at(0).toTensor();
  if (fold_limit_ && static_cast<int64_t>(result.nbytes()) <= *fold_limit_) return false;
  std::vector<at::Tensor> operands;
  std::function<void(const Sym&)> add = [&](const Sym& s) {
    if (s.is(K::Tensor)) operands.push_back(read(s.tensor)->c.at(0).toTensor());
    if (s.is(K::List))
      for (const Sym& e : s.list->items) add(e);
  };
  for (const Sym& a : args) add(a);
  if (!fold_limit_)
    return !operands.empty() && representable(result) &&
           std::ranges::all_of(operands, representable);
  size_t in = 0;
  for (const at::Tensor& t : operands) in += t.nbytes();
  return result.nbytes() > in;
}

// Element types are part of the graph.
void Executor::require_known_types(const OpInfo& op, const std::vector<Sym>& args) {
  for (size_t i = 0; i < args.size() && i < op.schema->arguments().size(); ++i) {
    if (!args[i].is(K::Int) || args[i].taint == Taint::Constant) continue;
    const c10::TypePtr type = op.schema->arguments()[i].real_type();
    const auto optional = type->cast<c10::OptionalType>();
    if ((optional ? optional->getElementType() : type)->kind() == c10::TypeKind::ScalarTypeType)
      refuse("OE4017", "the element type that " + op.base + " is given depends on the input",
             "ONNX types are fixed: convert to one type, or choose between the results");
  }
}

// What LibTorch gives in world w; nothing where it refuses, and the world has failed.
std::optional<torch::jit::Stack> Executor::run_in(size_t w, const OpInfo& op,
                                                  const std::vector<Sym>& args, int list_length) {
  torch::jit::Stack stack;
  stack.reserve(args.size());
  std::string message;
  try {
    for (const Sym& a : args) stack.push_back(to_ivalue(a, w));
    if (op.schema->is_vararg()) stack.emplace_back(static_cast<int64_t>(args.size()));
    std::optional<Trial> trial;
    if (w < trials_.size() && !trials_[w].empty()) trial.emplace(trials_[w]);
    note_operator(op.name);
    op.op->getOperation()(stack);
    if (list_length < 0 || stack.size() != 1 || !stack[0].isList() ||
        stack[0].toListRef().size() == static_cast<size_t>(list_length))
      return stack;
    message = "Expected " + std::to_string(list_length) + " elements in a list but found " +
              std::to_string(stack[0].toListRef().size());
  } catch (const Failure&) {
    throw;
  } catch (const Unreachable&) {
    throw;
  } catch (const c10::Error& e) {
    message = e.what_without_backtrace();
  } catch (const std::exception& e) {
    message = e.what();
  }
  if (auto cut = message.find("\nException raised from"); cut != std::string::npos)
    message.resize(cut);
  world_failed(w, message);
  return std::nullopt;
}

// Each result of a constant: the same in all worlds.
std::vector<PerWorld> Executor::run_once(const OpInfo& op, const std::vector<Sym>& args,
                                         int list_length) {
  std::optional<torch::jit::Stack> stack;
  while (!stack) stack = run_in(worlds_.first(), op, args, list_length);
  std::vector<PerWorld> results;
  for (size_t i = 0; i < op.schema->returns().size(); ++i)
    results.push_back(PerWorld::constant((*stack)[i]));
  return results;
}

std::vector<PerWorld> Executor::run_in_all(const OpInfo& op, const std::vector<Sym>& args,
                                           int list_length) {
  std::vector<PerWorld> results(op.schema->returns().size(), PerWorld::sized(worlds_.count()));
  worlds_.each([&](size_t w) {
    std::optional<torch::jit::Stack> stack;
    try {
      stack = run_in(w, op, args, list_length);
    } catch (const Unreachable&) {
      if (!worlds_.active()) throw;
    }
    if (stack)
      for (size_t i = 0; i < results.size(); ++i) results[i].set(w, std::move((*stack)[i]));
  });
  return results;
}

std::vector<Sym> Executor::apply(const OpInfo& op, const std::vector<Sym>& args, int list_length) {
  const auto& returns = op.schema->returns();
  const Taint taint = is_random(op, args) ? Taint::Data : content_taint(op, args);
  if (asks_autograd(op.base) && to_ivalue(args[0], worlds_.first()).toTensor().is_inference())
    throw AsksAutograd{};
  const bool constant = taint == Taint::Constant;
  std::vector<PerWorld> results =
      constant ? run_once(op, args, list_length) : run_in_all(op, args, list_length);
  Call call{op, args, taint};
  call.folded = constant && std::ranges::none_of(results, [&](const PerWorld& r) {
                  return stays_computed(r, args);
                });
  const bool text = !returns.empty() && returns[0].type()->kind() == c10::TypeKind::StringType;
  if (!call.folded && recorder_.on() && !text) {
    require_known_types(op, args);
    program::Args recorded;
    recorded.reserve(args.size());
    for (const Sym& a : args) recorded.push_back(to_arg(a));
    call.node = recorder_.record(op.recorded, std::move(recorded), here());
  }
  std::vector<Sym> out;
  for (size_t i = 0; i < returns.size(); ++i)
    out.push_back(make_output(call, std::move(results[i]), i));
  return out;
}

// Whether the rank of the results is the same in every run, whatever the worlds had.
bool Executor::rank_known(const OpInfo& op, const std::vector<Sym>& args) {
  bool unranked = false;
  std::function<void(const Sym&)> look = [&](const Sym& s) {
    if (s.is(K::Tensor)) unranked = unranked || !read(s.tensor)->ranked;
    if (s.is(K::List))
      for (const Sym& e : s.list->items) look(e);
  };
  for (const Sym& a : args) look(a);
  return !unranked || gives_rank(op, args.size());
}

std::vector<Axis> Executor::infer_axes(const OpInfo& op, const std::vector<Sym>& args,
                                       const PerWorld& out, size_t index) {
  AxisCall c{op,
             args,
             {},
             out,
             index,
             static_cast<size_t>(out.any().toTensor().dim()),
             worlds_.count(),
             [this](Taint t) { return fresh_axis(t); },
             [this](const Sym& s) { return read(s.tensor); }};
  for (const Sym& a : args) c.values.push_back(a.is(K::Tensor) ? read(a.tensor) : nullptr);
  return axes_of(c);
}

// The type that a tensor has in every run.
TensorValuePtr Executor::typed(const Call& call, PerWorld c, size_t index) {
  const OpInfo& op = call.op;
  auto v = std::make_shared<TensorValue>();
  v->c = std::move(c);
  const at::Tensor first = example(*v);
  if (const char* kind = foreign_kind(first); kind && !call.folded)
    refuse("OE4018", op.base + " gives " + kind + ", which ONNX graphs do not have",
           "convert it to a dense tensor in the model");
  const auto rank = static_cast<size_t>(first.dim());
  for (size_t w = 0; w < worlds_.count(); ++w) {
    if (!v->c.has(w)) continue;
    const at::Tensor& t = v->c.at(w).toTensor();
    v->ranked = v->ranked && t.dim() == first.dim();
    if (t.scalar_type() != first.scalar_type())
      refuse("OE4017", "the element type of a result of " + op.base + " depends on the input");
  }
  if (!call.folded && !rank_known(op, call.args)) v->ranked = false;
  if (v->ranked) {
    v->axes = call.folded ? std::vector<Axis>(rank) : infer_axes(op, call.args, v->c, index);
    v->ranked = v->axes.size() == rank;
    if (!v->ranked) v->axes.clear();
  }
  v->taint = join(call.taint, axes_taint(*v));
  return v;
}

Sym Executor::tensor_output(const Call& call, PerWorld c, size_t index) {
  TensorValuePtr v = typed(call, std::move(c), index);
  if (call.folded) {
    for (const Sym& a : call.args)
      if (a.is(K::Tensor) && !read(a.tensor)->name.empty()) {
        // Not the plain name: that one holds the state_dict's numbers.
        v->name = read(a.tensor)->name + "_" + std::string(call.op.method());
        break;
      }
  } else if (call.node) {
    v->recorded = recorder_.add_output(call.node, recorder_.type_of(*v));
  }
  if (call.op.base == "prim::NumToTensor") v->number = std::make_shared<const Sym>(call.args[0]);
  return fresh_tensor(v);
}

Sym Executor::list_output(const Call& call, const PerWorld& c) {
  const size_t n = c.any().toListRef().size();
  for (size_t w = 0; w < worlds_.count(); ++w)
    if (c.has(w) && c.at(w).toListRef().size() != n)
      refuse("OE4013",
             call.op.base + " gives a list whose length depends on a dynamic size or on data",
             "give the axis a fixed size, or unpack the list into a fixed number of values");
  std::vector<Sym> items;
  for (size_t k = 0; k < n; ++k) {
    const auto kth = [&](const c10::IValue& list) { return list.toListRef()[k]; };
    PerWorld e = c.shared() ? PerWorld::constant(kth(c.at(0))) : worlds_.map(c, kth);
    items.push_back(make_output(call, std::move(e), k));
  }
  return make_list(std::move(items), c.any().toList().elementType());
}

Sym Executor::make_output(const Call& call, PerWorld c, size_t index) {
  const c10::IValue first = c.empty() ? c10::IValue() : c.any();
  if (first.isTensor() && first.toTensor().defined())
    return tensor_output(call, std::move(c), index);
  if (first.isNone() || first.isTensor()) {
    if (call.node)
      recorder_.add_output(call.node, {program::Type::Kind::None, DType::Undefined, {}, nullptr});
    return Sym::none();
  }
  if (first.isList()) return list_output(call, c);
  const bool number = first.isInt() || first.isDouble() || first.isBool();
  if (!number && !first.isString()) {
    if (call.taint != Taint::Constant)
      refuse("OE4014", call.op.base + " gives a " + first.tagKind() + " that depends on the input");
    return wrap_constant(first, "");
  }
  Sym s;
  s.kind = first.isInt()      ? K::Int
           : first.isDouble() ? K::Float
           : first.isBool()   ? K::Bool
                              : K::String;
  s.taint = call.taint;
  s.c = std::move(c);
  if (number && call.node) s.recorded = recorder_.add_output(call.node, number_type(s.kind));
  return s;
}

// What is known of a tensor without running the operator on it.
std::optional<Sym> Executor::known_of_tensor(const OpInfo& op, const std::vector<Sym>& args) {
  if (args.empty() || !args[0].is(K::Tensor)) return std::nullopt;
  if (op.name == "aten::size.int" && args[1].is_constant_number())
    return size_of(args[0], args[1].c.at(0).toInt());
  if (op.name == "aten::size" || op.base == "prim::shape") return sizes_of(args[0]);
  if (op.name == "aten::len.Tensor") return size_of(args[0], 0);
  if (op.name == "aten::numel" && args.size() == 1) return numel_of(args[0]);
  if (op.base == "aten::stride" && axes_taint(*read(args[0].tensor)) != Taint::Constant) {
    std::vector<Sym> strides = strides_of(args[0]);
    if (op.name == "aten::stride") return make_list(std::move(strides), c10::IntType::get());
    const auto rank = static_cast<int64_t>(strides.size());
    const int64_t axis = known_int(args[1], "the axis of stride()");
    if (axis >= -rank && axis < rank)
      return strides[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }
  if (op.base == "aten::is_contiguous")
    if (auto known = contiguity_of(args[0])) return known;
  // A number that became a tensor and a number again is that number (traced sizes).
  TensorValuePtr t = read(args[0].tensor);
  if (t->number && ((t->number->is(K::Int) &&
                     (op.name == "aten::Int.Tensor" || op.name == "aten::IntImplicit")) ||
                    op.name == "aten::ScalarImplicit" || op.name == "aten::item"))
    return *t->number;
  return std::nullopt;
}

namespace {

// How many elements a list result has to have; -1: any number.
int unpacked_length(const torch::jit::Node* n) {
  if (!n || n->outputs().size() != 1) return -1;
  const auto& uses = n->output()->uses();
  if (uses.size() != 1 || uses[0].user->kind() != c10::prim::ListUnpack) return -1;
  return static_cast<int>(uses[0].user->outputs().size());
}

}  // namespace

std::vector<Sym> Executor::call_operator(const OpInfo& op, const std::vector<Sym>& args,
                                         JitNode* n) {
  if (auto known = known_of_tensor(op, args)) return {*known};
  // An argument that may be None: the operator with it, and without it.
  for (size_t i = 0; i < args.size() && !worlds_.alone(); ++i)
    if (args[i].is(K::Maybe)) {
      const Sym present = args[i].tuple->at(0), value = args[i].tuple->at(1);
      return *kept_branches(
          present,
          [&](size_t k) {
            std::vector<Sym> known = args;
            known[i] = k == 0 ? value : Sym::none();
            return call_operator(op, known, n);
          },
          {false, false}, true);
    }
  std::vector<Sym> out;
  if (writing_call(op, args, out)) return out;
  if (op.base == "aten::as_strided") return {as_strided(op, args)};
  const int length = unpacked_length(n);
  if (length < 0 && cuts_dynamic_axis(op, args)) return {open_split(op, args)};
  if (torch::jit::Function* f = composite(op.name);
      f && content_taint(op, args) != Taint::Constant) {
    const Site::Held held(site_);
    const Sym result = run_function(*f, args, site_.path());
    return result.is(K::Tuple) ? *result.tuple : std::vector<Sym>{result};
  }
  out = apply(op, args, length);
  alias_outputs(op, args, out);
  return out;
}

}  // namespace oe::capture
