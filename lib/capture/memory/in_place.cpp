// In-place and out= operators: the functional twin computes, the result is written to the target.
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

std::string text_of(at::IntArrayRef sizes) {
  std::string s = "[";
  for (size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + std::to_string(sizes[i]);
  return s + "]";
}

// The message with which LibTorch refuses to broadcast a target; empty when it does not.
std::string refusal(at::IntArrayRef from, at::IntArrayRef to) {
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const int64_t a = from[from.size() - 1 - i], b = to[to.size() - 1 - i];
    fits = a == b || a == 1;
  }
  if (fits) return {};
  return "output with shape " + text_of(to) + " doesn't match the broadcast shape " + text_of(from);
}

// Axes that only happen to have one size in every world: where the source's is 1, it is repeated as
// often as the target's says, which may be never.
bool may_be_repeated(const TensorValue& source, const TensorValue& target) {
  return source.ranked && target.ranked && source.axes.size() == target.axes.size() &&
         !same_axes(source, target);
}

}  // namespace

AbstractValue Writes::cast_like(const AbstractValue& v, const TensorValuePtr& like) {
  const size_t w = ex_.worlds.first();
  const at::ScalarType to = like->c.at(w).toTensor().scalar_type();
  if (ex_.views.read(v.tensor())->c.at(w).toTensor().scalar_type() == to) return v;
  return ex_.apply("aten::to.dtype",
                   {v, AbstractValue::of(static_cast<int64_t>(to)), AbstractValue::of(false),
                    AbstractValue::of(false), AbstractValue::none()});
}

// The new value of an in-place operator's target: cast and broadcast as LibTorch does.
TensorValuePtr Writes::conform(const AbstractValue& v, const TensorValuePtr& target) {
  const size_t w0 = ex_.worlds.first();
  const at::Tensor to = target->c.at(w0).toTensor();
  const at::Tensor from = ex_.views.read(v.tensor())->c.at(w0).toTensor();
  if (!c10::canCast(from.scalar_type(), to.scalar_type()))
    ex_.worlds.each([&](size_t w) {
      ex_.apply.fail(w, std::string("result type ") + c10::toString(from.scalar_type()) +
                            " can't be cast to the desired output type " +
                            c10::toString(to.scalar_type()));
    });
  AbstractValue out = cast_like(v, target);
  TensorValuePtr now = ex_.views.read(out.tensor());
  bool same = now->ranked && target->ranked && now->axes.size() == target->axes.size();
  ex_.worlds.each([&](size_t w) {
    if (!now->c.has(w) || !target->c.has(w)) return;
    const at::IntArrayRef a = now->c.at(w).toTensor().sizes(),
                          b = target->c.at(w).toTensor().sizes();
    if (const std::string why = refusal(a, b); !why.empty()) ex_.apply.fail(w, why);
    same = same && a == b;
  });
  // A twin's result has the target's sizes or is refused, but for what it did not see of the
  // target.
  for (size_t i = 0; same && i < now->axes.size(); ++i)
    same = !now->axes[i].is_static() || target->axes[i].is_static();
  if (!same) {
    out = ex_.interpreter.call_operator("aten::expand_as", {out, ex_.values.tensor(target)});
    now = ex_.views.read(out.tensor());
  }
  // The result has the target's axes, whatever the operator's rule could tell.
  auto named = std::make_shared<TensorValue>(*now);
  named->axes = target->axes;
  return named;
}

// The functional operator with this call's arguments; what it has beyond them are defaults, but
// for the element type, which is the target's.
std::vector<AbstractValue> Writes::call_twin(const OpInfo& op,
                                             const std::vector<AbstractValue>& args,
                                             const AbstractValue& target) {
  if (op.twin_arguments.empty())
    return ex_.interpreter.call_operator(*op.twin, {args.begin(), args.end() - op.outs});
  std::vector<AbstractValue> given;
  const auto& parameters = op.twin->schema->arguments();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (const int from = op.twin_arguments[i]; from >= 0) {
      given.push_back(args[static_cast<size_t>(from)]);
    } else if (parameters[i].name() == "dtype") {
      const TensorValuePtr t = ex_.views.read(target.tensor());
      given.push_back(AbstractValue::of(
          static_cast<int64_t>(t->c.at(ex_.worlds.first()).toTensor().scalar_type())));
    } else {
      given.push_back(ex_.values.constant(*parameters[i].default_value(), ""));
    }
  }
  return ex_.interpreter.call_operator(*op.twin, given);
}

std::vector<AbstractValue> Writes::call_in_place(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args) {
  const AbstractValue& target = args[static_cast<size_t>(op.written)];
  TensorValuePtr before = ex_.views.read(target.tensor());
  if (op.base == "aten::copy_" && args[1].is(K::Tensor)) {
    // The source itself, cast and broadcast: no node where nothing changes. Unlike the results of
    // other in-place operators it may be cast to any type.
    AbstractValue source = cast_like(ex_.values.tensor(ex_.views.read(args[1].tensor())), before);
    if (may_be_repeated(*ex_.views.read(source.tensor()), *before))
      source = ex_.apply("aten::expand_as", {source, ex_.values.tensor(before)});
    ex_.views.write(target.tensor(), conform(source, before));
    return {target};
  }
  if (!op.twin)
    ex_.site.refuse("OE4022",
                    "in-place operator " + op.base + " has no out-of-place form to convert");
  if (op.metadata_in_place) {
    ex_.views.look_as(target.tensor(),
                      *ex_.interpreter.call_operator(*op.twin, args).at(0).tensor());
    return {target};
  }
  ex_.views.write(target.tensor(), conform(call_twin(op, args, target).at(0), before));
  return {target};
}

std::vector<AbstractValue> Writes::call_out(const OpInfo& op,
                                            const std::vector<AbstractValue>& args) {
  if (!op.twin) ex_.site.refuse("OE4024", "aten has no form of " + op.base + " without out=");
  std::vector<AbstractValue> out(args.end() - op.outs, args.end());
  std::vector<AbstractValue> results = call_twin(op, args, out[0]);
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorValuePtr before = ex_.views.read(out[i].tensor()),
                         now = ex_.views.read(results[i].tensor());
    bool empty = true, same = true;
    ex_.worlds.each([&](size_t w) {
      if (!before->c.has(w) || !now->c.has(w)) return;
      const at::Tensor &a = before->c.at(w).toTensor(), &b = now->c.at(w).toTensor();
      same = same && a.sizes() == b.sizes();
      empty = empty && a.numel() == 0;
    });
    if (same) {
      ex_.views.write(out[i].tensor(), conform(results[i], before));
    } else if (empty) {  // an empty tensor takes the result's shape: memory of its own from now on
      ex_.views.look_as(out[i].tensor(), *cast_like(results[i], before).tensor());
    } else {  // resized, and written as a whole
      move(out[i], cast_like(results[i], before), false);
    }
  }
  return out;
}

// As LibTorch does it: every write goes through a view.
void Writes::fill_diagonal(const AbstractValue& target, const AbstractValue& value, bool wrap) {
  auto view = [&](const char* op, std::vector<AbstractValue> args) {
    return ex_.interpreter.call_operator(op, args);
  };
  const TensorValuePtr t = ex_.views.read(target.tensor());
  const at::Tensor example = t->c.at(ex_.worlds.first()).toTensor();
  AbstractValue diagonal = target;
  if (wrap && example.dim() == 2) {  // goes on below the square, a row apart
    const AbstractValue all =
        ex_.values.list({AbstractValue::of(int64_t{-1})}, c10::IntType::get());
    const AbstractValue zero = AbstractValue::of(int64_t{0});
    const AbstractValue step =
        ex_.apply("aten::add.int", {ex_.apply.size_of(target, 1), AbstractValue::of(int64_t{1})});
    diagonal = view("aten::slice.Tensor", {view("aten::view", {target, all}), zero,
                                           AbstractValue::none(), AbstractValue::none(), step});
  } else {
    // The entries whose indices are all the same: of the first two axes, then of that and the next.
    for (int64_t rank = example.dim(); rank > 1; --rank)
      diagonal = view("aten::diagonal",
                      {diagonal, AbstractValue::of(int64_t{0}), AbstractValue::of(int64_t{0}),
                       AbstractValue::of(rank == example.dim() ? int64_t{1} : rank - 1)});
  }
  ex_.interpreter.call_operator("aten::fill_.Scalar", {diagonal, value});
}

// Gives the new statistics instead of writing them.
constexpr const char* kFunctionalBatchNorm = "aten::_native_batch_norm_legit_functional";

// Normalisation with the batch's own statistics also moves the running ones, which its schema does
// not say. The result does not depend on them.
std::vector<AbstractValue> Writes::call_with_statistics(const OpInfo& op,
                                                        const std::vector<AbstractValue>& args) {
  auto at = [&](const char* name) {
    return static_cast<size_t>(*op.schema->argumentIndexWithName(name));
  };
  std::vector<AbstractValue> out;
  if (op.base == "aten::batch_norm" && args[at("running_mean")].is(K::Tensor) &&
      args[at("running_var")].is(K::Tensor) &&
      ex_.views.read(args[at("input")].tensor())->axes.size() > 1) {  // less it refuses
    // All but the last argument, which chooses a kernel.
    out = {ex_.apply(ex_.operators.named(kFunctionalBatchNorm), {args.begin(), args.end() - 1})[0]};
  } else {
    std::vector<AbstractValue> given = args;
    given[at("running_mean")] = given[at("running_var")] = AbstractValue::none();
    out = ex_.apply(op, given);
  }

  const AbstractValue keep = AbstractValue::of(false), none = AbstractValue::none();
  auto ints = [&](std::vector<AbstractValue> v) {
    return ex_.values.list(std::move(v), c10::IntType::get());
  };
  auto scaled = [&](const AbstractValue& t, double by) {
    return ex_.apply("aten::mul.Scalar", {t, AbstractValue::of(by)});
  };
  const bool per_instance = op.base == "aten::instance_norm";
  const double momentum = args[at("momentum")].c.at(0).toDouble();
  for (const char* name : {"running_mean", "running_var"}) {
    const AbstractValue& running = args[at(name)];
    if (!running.is(K::Tensor)) continue;
    const TensorValuePtr before = ex_.views.read(running.tensor());
    const AbstractValue x = cast_like(args[at("input")], before);
    std::vector<AbstractValue> dims;
    for (size_t i = per_instance ? 2 : 0; i < ex_.views.read(x.tensor())->axes.size(); ++i)
      if (i != 1) dims.push_back(AbstractValue::of(static_cast<int64_t>(i)));
    const bool mean = std::string_view(name) == "running_mean";
    AbstractValue now = mean ? ex_.apply("aten::mean.dim", {x, ints(dims), keep, none})
                             : ex_.apply("aten::var.correction",
                                         {x, ints(dims), AbstractValue::of(int64_t{1}), keep});
    if (per_instance)
      now = ex_.apply("aten::mean.dim", {now, ints({AbstractValue::of(int64_t{0})}), keep, none});
    const AbstractValue after =
        ex_.apply("aten::add.Tensor", {scaled(ex_.values.tensor(before), 1 - momentum),
                                       scaled(now, momentum), AbstractValue::of(int64_t{1})});
    ex_.views.write(running.tensor(), conform(after, before));
  }
  return out;
}

// The rows that are looked up are shortened to `max_norm`; one of its two schemas does not say that
// it writes. https://pytorch.org/docs/stable/generated/torch.nn.functional.embedding.html
void Writes::embedding_renorm(const std::vector<AbstractValue>& args) {
  const AbstractValue weight = ex_.values.tensor(ex_.views.read(args[0].tensor())),
                      zero = AbstractValue::of(int64_t{0});
  const AbstractValue one = AbstractValue::of(int64_t{1}), keep = AbstractValue::of(true);
  auto ints = [&](int64_t v) {
    return ex_.values.list({AbstractValue::of(v)}, c10::IntType::get());
  };
  const AbstractValue indices = ex_.apply("aten::reshape", {args[1], ints(-1)});
  const AbstractValue rows = ex_.apply("aten::index_select", {weight, zero, indices});
  const AbstractValue norm = ex_.apply("aten::norm.ScalarOpt_dim", {rows, args[3], ints(1), keep});
  const AbstractValue tiny = ex_.apply("aten::add.Scalar", {norm, AbstractValue::of(1e-7), one});
  const AbstractValue scale =
      ex_.apply("aten::mul.Scalar", {ex_.apply("aten::reciprocal", {tiny}), args[2]});
  const AbstractValue scaled = ex_.apply("aten::mul.Tensor", {rows, scale});
  const AbstractValue long_ones = ex_.apply("aten::gt.Scalar", {norm, args[2]});
  const AbstractValue now = ex_.apply("aten::where.self", {long_ones, scaled, rows});
  const AbstractValue written = ex_.apply("aten::index_copy", {weight, zero, indices, now});
  ex_.views.write(args[0].tensor(), conform(written, ex_.views.read(args[0].tensor())));
}

std::optional<std::vector<AbstractValue>> Writes::call(const OpInfo& op,
                                                       const std::vector<AbstractValue>& args) {
  auto holds = [&](const char* flag) {
    auto i = op.schema->argumentIndexWithName(flag);
    return i && args[static_cast<size_t>(*i)].is_constant_number() &&
           args[static_cast<size_t>(*i)].c.at(0).toBool();
  };
  if (op.schema->argumentIndexWithName("running_mean") &&
      (holds("training") || holds("use_input_stats")) && !op.schema->is_mutable() &&
      op.name != kFunctionalBatchNorm)
    return call_with_statistics(op, args);
  if (op.outs) return call_out(op, args);
  if (resizes(op, args)) return std::vector<AbstractValue>{args[0]};
  if (op.base == "aten::fill_diagonal_") {
    fill_diagonal(args[0], args[1], args[2].c.at(0).toBool());
    return std::vector<AbstractValue>{args[0]};
  }
  if (op.base == "aten::embedding_renorm_" || op.base == "aten::_no_grad_embedding_renorm_") {
    embedding_renorm(args);
    return std::vector<AbstractValue>{args[0]};
  }
  if (op.base == "aten::set_data") {
    const AbstractValue now = ex_.interpreter.call_operator("aten::detach", {args[1]});
    ex_.views.look_as(args[0].tensor(), *now.tensor());
    return std::vector<AbstractValue>{};
  }
  if (op.base == "aten::requires_grad_") {
    ex_.gradient.require(args[0], args[1]);
    return std::vector<AbstractValue>{args[0]};
  }
  if (op.base == "aten::retain_grad") {
    ex_.gradient.retain(args[0]);
    return std::vector<AbstractValue>{};
  }
  if (op.composite && !op.twin) return std::nullopt;  // its function writes
  if (op.written >= 0) return call_in_place(op, args);
  if (op.schema->is_mutable())
    ex_.site.refuse("OE4016", op.base + " writes its arguments in a way that is not supported");
  return std::nullopt;
}

}  // namespace oe::capture
