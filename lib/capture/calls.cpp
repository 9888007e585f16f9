// Operators: run by LibTorch in every world, typed, then recorded or folded.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "lib/capture/executor.h"
#include "lib/support/trial.h"
#include "lib/torch/convert.h"

namespace oe::capture {
namespace {

using K = Sym::Kind;

// Results that say nothing about elements or sizes: always constants.
const std::unordered_set<std::string>& metadata() {
  static const std::unordered_set<std::string> names = {"aten::dim",
                                                        "aten::is_floating_point",
                                                        "aten::is_complex",
                                                        "prim::dtype",
                                                        "prim::device",
                                                        "prim::layout",
                                                        "prim::is_cuda",
                                                        "prim::is_cpu",
                                                        "prim::requires_grad",
                                                        "prim::is_quantized",
                                                        "prim::is_sparse",
                                                        "prim::is_mkldnn",
                                                        "prim::is_mps",
                                                        "prim::is_xpu",
                                                        "prim::is_nested",
                                                        "prim::is_meta",
                                                        "aten::result_type",
                                                        "aten::element_size",
                                                        "aten::get_device",
                                                        "aten::is_signed",
                                                        "aten::is_leaf",
                                                        "aten::is_inference",
                                                        "aten::is_contiguous",
                                                        "aten::is_pinned",
                                                        "aten::is_grad_enabled",
                                                        "aten::is_autocast_enabled",
                                                        "aten::is_autocast_cpu_enabled",
                                                        "prim::is_xla",
                                                        "prim::is_ipu",
                                                        "prim::is_maia",
                                                        "prim::is_vulkan",
                                                        "aten::is_conj",
                                                        "aten::is_neg",
                                                        "prim::type",
                                                        "aten::is_scripting"};
  return names;
}

// Results that depend on the sizes of tensor arguments but not on their elements.
bool content_free(const std::string& base) {
  static const std::unordered_set<std::string> names = {
      "aten::numel",           "aten::stride",
      "aten::storage_offset",  "aten::is_same_size",
      "aten::zeros_like",      "aten::ones_like",
      "aten::full_like",       "aten::empty_like",
      "aten::rand_like",       "aten::randn_like",
      "aten::randint_like",    "aten::new_zeros",
      "aten::new_ones",        "aten::new_full",
      "aten::new_empty",       "aten::new_empty_strided",
      "aten::_shape_as_tensor"};
  return names.contains(base);
}

Taint axes_taint(const TensorValue& t) {
  Taint r = t.ranked ? Taint::Constant : Taint::Data;
  for (const Axis& a : t.axes) r = join(r, a.taint);
  return r;
}

bool is_custom_class(const ObjectCell& o) {
  return o.type->name() && o.type->name()->prefix().find("torch.classes") != std::string::npos;
}

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
  const uint64_t bit = uint64_t{1} << w;
  if (real_ & bit) {
    if (w == 0)
      throw Failure(ExitCode::Refused, "OE2101", "LibTorch refuses this input: " + message, "",
                    here());
    std::string why = message;
    if (OriginPtr o = here(); o && o->line)
      why += " (" + o->file + ":" + std::to_string(o->line) + "  " + o->text + ")";
    dead_.emplace(w, why);
    real_ &= ~bit;
  }
  active_ &= ~bit;
  if (!active_) throw Unreachable{message};
}

Taint Executor::taint_of(const Sym& s) {
  switch (s.kind) {
    case K::Tensor:
      return read(s.tensor)->taint;
    case K::List: {
      if (s.list->is_open()) return Taint::Data;
      Taint t = Taint::Constant;
      for (const Sym& e : s.list->items) t = join(t, taint_of(e));
      return t;
    }
    case K::Sequence:
      return Taint::Data;
    case K::Maybe:
    case K::Tuple: {
      Taint t = Taint::Constant;
      for (const Sym& e : *s.tuple) t = join(t, taint_of(e));
      return t;
    }
    case K::Dict: {
      Taint t = Taint::Constant;
      for (const auto& [k, v] : s.dict->items) t = join(t, taint_of(v));
      return t;
    }
    default:
      return s.taint;
  }
}

Taint Executor::content_taint(const OpInfo& op, const std::vector<Sym>& args) {
  if (op.base == "aten::dim" && !read(args[0].tensor)->ranked) return Taint::Data;
  if (metadata().contains(op.base)) return Taint::Constant;
  const bool sizes_only = content_free(op.base);
  const bool type_only = op.base.starts_with("aten::new_");  // is all they take from their tensor
  Taint t = Taint::Constant;
  for (const Sym& a : std::span(args).subspan(type_only ? 1 : 0))
    t = join(t, sizes_only && a.is(K::Tensor) ? axes_taint(*read(a.tensor)) : taint_of(a));
  return t;
}

// Operators like dropout are tagged random but draw nothing in inference.
bool Executor::is_random(const OpInfo& op, const std::vector<Sym>& args) const {
  if (!op.random) return false;
  for (const char* flag : {"train", "training"})
    if (auto i = op.schema->argumentIndexWithName(flag))
      return !(args[*i].is_constant_number() && !args[*i].c.at(0).toBool());
  for (const char* p : {"dropout_p", "dropout"})
    if (auto i = op.schema->argumentIndexWithName(p))
      return !(args[*i].is_constant_number() && args[*i].c.at(0).toDouble() == 0);
  return true;
}

c10::IValue Executor::to_ivalue(const Sym& s, size_t w) {
  auto missing = [&]() -> c10::IValue {
    world_failed(w, "a value is not known in this world");
    throw Unreachable{"a value is not known in this world"};
  };
  switch (s.kind) {
    case K::None:
      return {};
    case K::Tensor: {
      TensorValuePtr t = read(s.tensor);
      return t->c.has(w) ? t->c.at(w) : missing();
    }
    case K::List: {
      if (s.list->is_open()) return open_ivalue(s.list->open, s.list->element, w);
      c10::impl::GenericList list(s.list->element);
      list.reserve(s.list->items.size());
      for (const Sym& e : s.list->items) list.push_back(to_ivalue(e, w));
      return list;
    }
    case K::Dict: {
      c10::impl::GenericDict dict(s.dict->key, s.dict->value);
      for (const auto& [k, v] : s.dict->items) {
        const bool perhaps = v.is(K::Maybe) && s.dict->may_lack_entries();
        if (!perhaps || to_ivalue(v.tuple->at(0), w).toBool())
          dict.insert(to_ivalue(k, w), to_ivalue(perhaps ? v.tuple->at(1) : v, w));
      }
      return dict;
    }
    case K::Tuple: {
      std::vector<c10::IValue> items;
      for (const Sym& e : *s.tuple) items.push_back(to_ivalue(e, w));
      if (auto t = s.type ? s.type->cast<c10::TupleType>() : nullptr; t && t->schema())
        return c10::ivalue::Tuple::createNamed(std::move(items), t);
      return c10::ivalue::Tuple::create(std::move(items));
    }
    case K::Object: {
      // One of LibTorch's own classes: what it holds is in C++.
      if (s.object->object && is_custom_class(*s.object)) return s.object->object;
      auto object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, s.object->type),
                                                s.object->type->numAttributes());
      return c10::IValue(object);
    }
    case K::Maybe:
      return to_ivalue(s.tuple->at(0), w).toBool() ? to_ivalue(s.tuple->at(1), w) : c10::IValue();
    case K::Sequence:
      return s.sequence->c.has(w) ? s.sequence->c.at(w) : missing();
    case K::Uninitialized:
      refuse("OE4009", "a value is used that was never set");
    default:
      return s.c.has(w) ? s.c.at(w) : missing();
  }
}

program::Arg Executor::to_arg(const Sym& s) {
  if (!recorder_.on()) return {};
  switch (s.kind) {
    case K::None:
      return {};
    case K::Tensor:
      return {recorder_.value(read(s.tensor))};
    case K::Sequence:
      return {s.sequence->recorded};
    case K::Maybe:
      refuse("OE4012",
             "a value that is None or something else, depending on the input, is used as it is",
             "test it with 'is None' first: ONNX operators take no optional values");
    case K::List: {
      if (s.list->is_open()) return to_arg(s.list->open);
      program::Args items;
      for (const Sym& e : s.list->items) items.push_back(to_arg(e));
      return {std::move(items)};
    }
    case K::Int:
    case K::Float:
    case K::Bool:
      if (s.taint != Taint::Constant) {
        if (!s.recorded)
          throw Failure(ExitCode::Internal, "OE1005", "a computed number was never recorded", "",
                        here());
        return {s.recorded};
      }
      if (s.is(K::Int)) return {s.c.at(0).toInt()};
      if (s.is(K::Float)) return {s.c.at(0).toDouble()};
      return {s.c.at(0).toBool()};
    case K::String:
      if (s.taint != Taint::Constant)
        refuse("OE4010", "a string depends on the input; ONNX graphs cannot compute it");
      return {s.c.at(0).toStringRef()};
    case K::Opaque:
      if (s.c.at(0).isDevice()) return {s.c.at(0).toDevice().str()};
      if (s.c.at(0).isComplexDouble())
        refuse("OE4011", "a complex number has no counterpart in ONNX operators");
      return {};
    case K::Object:
      // No row takes one: the operator itself is what is reported, with its line.
      if (is_custom_class(*s.object)) return {};
      [[fallthrough]];
    default:
      refuse("OE4012", "a value of this kind cannot be an argument of an operator");
  }
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

std::vector<Sym> Executor::apply(const OpInfo& op, const std::vector<Sym>& args, int list_length) {
  const auto& returns = op.schema->returns();
  const bool random = is_random(op, args);
  const Taint taint = random ? Taint::Data : content_taint(op, args);
  bool fold = taint == Taint::Constant;
  if (asks_autograd(op.base) && to_ivalue(args[0], first_active()).toTensor().is_inference())
    throw AsksAutograd{};

  std::vector<PerWorld> results(returns.size());
  auto run = [&](size_t w) -> std::optional<torch::jit::Stack> {
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
      if (list_length >= 0 && stack.size() == 1 && stack[0].isList() &&
          stack[0].toListRef().size() != static_cast<size_t>(list_length))
        message = "Expected " + std::to_string(list_length) + " elements in a list but found " +
                  std::to_string(stack[0].toListRef().size());
      else
        return stack;
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
  };

  if (fold) {
    std::optional<torch::jit::Stack> stack;
    while (!(stack = run(first_active()))) {
    }
    for (size_t i = 0; i < returns.size(); ++i) results[i] = PerWorld::constant((*stack)[i]);
    for (const PerWorld& r : results) fold = fold && !stays_computed(r, args);
  } else {
    for (auto& r : results) r = PerWorld::sized(worlds_);
    for (size_t w = 0; w < worlds_; ++w) {
      if (!active(w)) continue;
      std::optional<torch::jit::Stack> stack;
      try {
        stack = run(w);
      } catch (const Unreachable&) {
        if (!active_) throw;
      }
      if (stack)
        for (size_t i = 0; i < returns.size(); ++i) results[i].set(w, std::move((*stack)[i]));
    }
  }
  program::Node* node = nullptr;
  const bool text = !returns.empty() && returns[0].type()->kind() == c10::TypeKind::StringType;
  if (!fold && recorder_.on() && !text) {
    require_known_types(op, args);
    program::Args recorded;
    recorded.reserve(args.size());
    for (const Sym& a : args) recorded.push_back(to_arg(a));
    node = recorder_.record(op.name, std::move(recorded), here());
  }
  std::vector<Sym> out;
  for (size_t i = 0; i < returns.size(); ++i)
    out.push_back(
        make_output(op, args, std::move(results[i]), taint, i, node, fold, returns[i].type()));
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
  if (!unranked) return true;
  if (op.rule == AxisRule::Sizes) return true;  // as many axes as sizes are given
  // A reduction over everything.
  return op.rule == AxisRule::Reduce && !op.schema->argumentIndexWithName("dim") &&
         args.size() <= 2;
}

Sym Executor::make_output(const OpInfo& op, const std::vector<Sym>& args, PerWorld c, Taint taint,
                          size_t index, program::Node* node, bool folded,
                          const c10::TypePtr& type) {
  size_t w = c.shared() ? 0 : first_active();
  while (!c.has(w) && w + 1 < worlds_) ++w;
  const c10::IValue example = c.at(w);
  if (example.isTensor() && example.toTensor().defined()) {
    if (const char* kind = foreign_kind(example.toTensor()); kind && !folded)
      refuse("OE4018", op.base + " gives " + kind + ", which ONNX graphs do not have",
             "convert it to a dense tensor in the model");
    auto v = std::make_shared<TensorValue>();
    v->c = std::move(c);
    v->taint = taint;
    const int64_t rank = example.toTensor().dim();
    for (size_t i = 0; i < worlds_; ++i) {
      if (!v->c.has(i)) continue;
      if (v->c.at(i).toTensor().dim() != rank) v->ranked = false;
      if (v->c.at(i).toTensor().scalar_type() != example.toTensor().scalar_type())
        refuse("OE4017", "the element type of a result of " + op.base + " depends on the input");
    }
    if (!folded && !rank_known(op, args)) v->ranked = false;
    if (v->ranked) {
      v->axes =
          folded ? std::vector<Axis>(static_cast<size_t>(rank)) : infer_axes(op, args, v->c, index);
      if (v->axes.size() != static_cast<size_t>(rank)) {
        v->axes.clear();
        v->ranked = false;
      }
    }
    v->taint = join(v->taint, axes_taint(*v));
    if (folded) {
      for (const Sym& a : args)
        if (a.is(K::Tensor) && !read(a.tensor)->name.empty()) {
          // Not the plain name: that one holds the state_dict's numbers.
          v->name = read(a.tensor)->name + "_" + op.base.substr(op.base.find("::") + 2);
          break;
        }
    } else if (node) {
      v->recorded = recorder_.add_output(node, recorder_.type_of(*v));
    }
    if (op.base == "prim::NumToTensor") v->number = std::make_shared<const Sym>(args[0]);
    return fresh_tensor(v);
  }
  if (example.isNone() || example.isTensor()) {
    if (node)
      recorder_.add_output(node, {program::Type::Kind::None, DType::Undefined, {}, nullptr});
    return Sym::none();
  }
  if (example.isInt() || example.isDouble() || example.isBool()) {
    Sym s;
    s.kind = example.isInt() ? K::Int : example.isDouble() ? K::Float : K::Bool;
    s.taint = taint;
    s.c = std::move(c);
    if (node)
      s.recorded = recorder_.add_output(node, s.is(K::Int)     ? program::Type::integer()
                                              : s.is(K::Float) ? program::Type::floating()
                                                               : program::Type::boolean());
    return s;
  }
  if (example.isList()) {
    const size_t n = example.toListRef().size();
    for (size_t i = 0; i < worlds_; ++i)
      if (c.has(i) && c.at(i).toListRef().size() != n)
        refuse("OE4013",
               op.base + " gives a list whose length depends on a dynamic size or on data",
               "give the axis a fixed size, or unpack the list into a fixed number of values");
    std::vector<Sym> items;
    for (size_t k = 0; k < n; ++k) {
      PerWorld e =
          c.shared() ? PerWorld::constant(c.at(0).toListRef()[k]) : PerWorld::sized(worlds_);
      if (!c.shared())
        for (size_t i = 0; i < worlds_; ++i)
          if (c.has(i)) e.set(i, c.at(i).toListRef()[k]);
      items.push_back(make_output(op, args, std::move(e), taint, k, node, folded, type));
    }
    return make_list(std::move(items), example.toList().elementType());
  }
  if (example.isString()) {
    Sym s;
    s.kind = K::String;
    s.taint = taint;
    s.c = std::move(c);
    return s;
  }
  if (taint != Taint::Constant)
    refuse("OE4014", op.base + " gives a " + example.tagKind() + " that depends on the input");
  return wrap_constant(example, "");
}

// --- sizes

Sym Executor::size_of(const Sym& tensor, int64_t axis) {
  TensorValuePtr t = read(tensor.tensor);
  if (!t->ranked) {
    Sym s = apply(op_named("aten::size.int"), {tensor, Sym::of(axis)}).at(0);
    s.taint = join(s.taint, Taint::Shape);
    return s;
  }
  const auto rank = static_cast<int64_t>(t->axes.size());
  if (axis < -rank || axis >= rank)
    world_failed(first_active(), "Dimension out of range (expected to be in range of [" +
                                     std::to_string(-rank) + ", " + std::to_string(rank - 1) +
                                     "], but got " + std::to_string(axis) + ")");
  if (axis < 0) axis += rank;
  const Axis& a = t->axes[static_cast<size_t>(axis)];
  if (a.is_static()) return Sym::of(t->c.at(first_active()).toTensor().size(axis));
  Sym s;
  s.kind = K::Int;
  s.taint = a.taint;
  s.axis_id = a.id;
  s.c = PerWorld::sized(worlds_);
  for (size_t w = 0; w < worlds_; ++w)
    if (active(w) && t->c.has(w)) s.c.set(w, t->c.at(w).toTensor().size(axis));
  if (recorder_.on()) {
    s.recorded = recorder_.size_of(a.id);
    if (!s.recorded) {
      program::Node* n = recorder_.record("aten::size.int", {{recorder_.value(t)}, {axis}}, here());
      s.recorded = recorder_.add_output(n, program::Type::integer());
      recorder_.remember_size(a.id, s.recorded);
    }
  }
  return s;
}

Sym Executor::sizes_of(const Sym& tensor) {
  TensorValuePtr t = read(tensor.tensor);
  if (!t->ranked) refuse("OE4015", "the sizes of a tensor whose rank varies are taken as a list");
  std::vector<Sym> items;
  for (size_t i = 0; i < t->axes.size(); ++i)
    items.push_back(size_of(tensor, static_cast<int64_t>(i)));
  return make_list(std::move(items), c10::IntType::get());
}

Sym Executor::numel_of(const Sym& tensor) {
  TensorValuePtr t = read(tensor.tensor);
  if (axes_taint(*t) == Taint::Constant) return Sym::of(t->c.at(first_active()).toTensor().numel());
  return apply(op_named("aten::numel"), {tensor}).at(0);
}

std::vector<Sym> Executor::call_operator(const OpInfo& op, const std::vector<Sym>& args,
                                         JitNode* n) {
  if (!args.empty() && args[0].is(K::Tensor)) {
    if (op.name == "aten::size.int" && args[1].is_constant_number())
      return {size_of(args[0], args[1].c.at(0).toInt())};
    if (op.name == "aten::size" || op.base == "prim::shape") return {sizes_of(args[0])};
    if (op.name == "aten::len.Tensor") return {size_of(args[0], 0)};
    if (op.name == "aten::numel" && args.size() == 1) return {numel_of(args[0])};
    if (op.base == "aten::stride" && axes_taint(*read(args[0].tensor)) != Taint::Constant) {
      std::vector<Sym> strides = strides_of(args[0]);
      if (op.name == "aten::stride") return {make_list(std::move(strides), c10::IntType::get())};
      const auto rank = static_cast<int64_t>(strides.size());
      const int64_t axis = known_int(args[1], "the axis of stride()");
      if (axis >= -rank && axis < rank)
        return {strides[static_cast<size_t>(axis < 0 ? axis + rank : axis)]};
    }
    if (op.base == "aten::is_contiguous")
      if (auto known = contiguity_of(args[0])) return {*known};
    // A number that became a tensor and a number again is that number (traced sizes).
    TensorValuePtr t = read(args[0].tensor);
    if (t->number && ((t->number->is(K::Int) &&
                       (op.name == "aten::Int.Tensor" || op.name == "aten::IntImplicit")) ||
                      op.name == "aten::ScalarImplicit" || op.name == "aten::item"))
      return {*t->number};
  }
  // An argument that may be None: the operator with it, and without it.
  for (size_t i = 0; i < args.size() && concrete_ < 0; ++i)
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
  int length = -1;
  if (n && n->outputs().size() == 1) {
    const auto& uses = n->output()->uses();
    if (uses.size() == 1 && uses[0].user->kind() == c10::prim::ListUnpack)
      length = static_cast<int>(uses[0].user->outputs().size());
  }
  if (length < 0 && cuts_dynamic_axis(op, args)) return {open_split(op, args)};
  out = apply(op, args, length);
  alias_outputs(op, args, out);
  return out;
}

}  // namespace oe::capture
