// Between the caller's values and the program's ports: arguments and state in, results and state
// out.
#include "lib/capture/ports/ports.h"

#include <utility>

#include "lib/capture/operators/ranks.h"
#include "lib/capture/values/snapshot.h"
#include "lib/support/text.h"

namespace oe::capture {
namespace {

// Rebuilds the method's arguments with symbolic leaves, in the order of torch_io::leaf_values().
class InputBuilder {
 public:
  InputBuilder(Executor& ex, const torch_io::ExampleInputs& e,
               const std::vector<std::vector<c10::IValue>>& leaves,
               const std::map<std::string, int>& axis_ids)
      : ex_(ex), e_(e), leaves_(leaves), axis_ids_(axis_ids) {}

  std::vector<AbstractValue> build() {
    std::vector<AbstractValue> args;
    for (size_t i = 0; i < e_.arguments.size(); ++i) {
      args.push_back(order_.enter(i) ? build(e_.arguments[i])
                                     : ex_.values.constant(e_.arguments[i], "argument"));
    }
    return args;
  }

 private:
  AbstractValue build(const c10::IValue& v) {
    if (v.isTensor() || v.isInt() || v.isDouble() || v.isBool()) {
      const std::optional<size_t> at = order_.next();
      return at ? leaf(*at) : ex_.values.constant(v, "argument");
    }
    if (v.isTuple()) {
      std::vector<AbstractValue> items;
      for (const c10::IValue& x : v.toTupleRef().elements()) items.push_back(build(x));
      return AbstractValue::of_tuple(std::move(items), v.type());
    }
    if (v.isList()) {
      std::vector<AbstractValue> items;
      for (const c10::IValue& x : v.toListRef()) items.push_back(build(x));
      return ex_.values.list(std::move(items), v.toList().elementType());
    }
    if (v.isGenericDict()) {
      const auto dict = v.toGenericDict();
      std::vector<std::pair<AbstractValue, AbstractValue>> items;
      for (const auto& x : dict)
        items.emplace_back(ex_.values.constant(x.key(), ""), build(x.value()));
      return ex_.values.dict(std::move(items), dict.keyType(), dict.valueType());
    }
    return ex_.values.constant(v, "argument");
  }

  AbstractValue leaf(size_t i) {
    const auto& l = e_.leaves[i];
    PerWorld c = PerWorld::sized(leaves_.size());
    for (size_t w = 0; w < leaves_.size(); ++w) c.set(w, torch_io::as_input(l, leaves_[w][i]));
    program::Program& p = ex_.recorder.program();
    if (c.at(0).isTensor()) {
      std::vector<Axis> axes(static_cast<size_t>(c.at(0).toTensor().dim()));
      for (size_t a = 0; a < l.axis_names.size(); ++a)
        if (!l.axis_names[a].empty()) axes[a] = {Taint::Shape, axis_ids_.at(l.axis_names[a])};
      TensorValuePtr t = ex_.values.input_tensor(nullptr, std::move(c), std::move(axes));
      t->recorded = p.new_value(ex_.recorder.type_of(*t), l.name);
      p.inputs.push_back({l.name, {t->recorded}});
      AbstractValue made = ex_.values.tensor(t);
      if (!l.value.isTensor()) return ex_.open_lists.number_in(made, l.value.type());
      if (l.role != torch_io::Role::Own) ex_.values.owns_memory(l.value.toTensor(), *made.tensor());
      return made;
    }
    program::Value* v = p.new_value(l.value.isInt()      ? program::Type::integer()
                                    : l.value.isDouble() ? program::Type::floating()
                                                         : program::Type::boolean(),
                                    l.name);
    p.inputs.push_back({l.name, {v}});
    return ex_.values.input_number(v, std::move(c));
  }

  Executor& ex_;
  const torch_io::ExampleInputs& e_;
  const std::vector<std::vector<c10::IValue>>& leaves_;
  const std::map<std::string, int>& axis_ids_;
  torch_io::LeafOrder order_{e_};
};

// Flattens the result into ports; dict keys and field names become output names.
class OutputBuilder {
 public:
  OutputBuilder(Executor& ex, bool field_names, Diagnostics& d)
      : ex_(ex), field_names_(field_names), d_(d) {}

  program::Result add(const AbstractValue& s, const std::string& name) {
    switch (s.kind) {
      case K::Tuple: {
        auto type = s.type() ? s.type()->cast<c10::TupleType>() : nullptr;
        program::Result result{Kind::Items};
        for (size_t i = 0; i < s.tuple().size(); ++i) {
          const bool named = field_names_ && type && type->schema();
          result.items.push_back(
              add(s.tuple()[i],
                  join(name, named ? type->schema()->arguments()[i].name() : std::to_string(i),
                       named)));
        }
        return result;
      }
      case K::List: {
        if (s.list()->is_open()) {
          const AbstractValue whole = ex_.open_lists.output(s, label(name));
          program::Result result = add(whole, name);
          if (whole.kind == K::Tensor) result.kind = Kind::Vector;
          return result;
        }
        program::Result result{Kind::Items};
        for (size_t i = 0; i < s.list()->items.size(); ++i)
          result.items.push_back(
              add_element(s.list()->items[i], join(name, std::to_string(i), false), label(name)));
        return result;
      }
      case K::Dict: {
        if (s.dict()->unordered)
          throw Failure(ExitCode::Unsupported, "OE4044",
                        "output '" + label(name) + "' is a dict whose keys depend on the input",
                        "return its entries as separate values");
        program::Result result{Kind::Items};
        for (const auto& [k, v] : s.dict()->items) {
          const c10::IValue& key = k.c.at(0);
          result.items.push_back(
              add(v, join(name, key.isString() ? key.toStringRef() : std::to_string(key.toInt()),
                          key.isString())));
        }
        return result;
      }
      case K::None:
        if (present_) refuse_optional(name, "a container that has a None of its own");
        d_.report({"OE2201", Severity::Note, "",
                   "output '" + label(name) + "' is None and left out", "", nullptr, 0});
        return {Kind::Absent};
      case K::Maybe:
        return add_optional(s, name);
      case K::Tensor:
        if (present_) return put(label(name), {optional(s)});
        if (const AbstractValue* guard = rank_guard(ex_, {s}))
          if (const auto known = ex_.control.known_condition(*guard))
            return add(args_by_rank(ex_, {s}, *guard, *known).at(0), name);
        if (const TensorValuePtr t = ex_.views.read(s.tensor()); !t->ranked) {
          d_.report({"OE4065", Severity::Note, "",
                     "output '" + label(name) +
                         "' has a rank that depends on the input; it is an optional that always "
                         "has a value, because ONNX requires a fixed rank of every other output",
                     "", nullptr, 0});
          return put(label(name), {some(s)});
        }
        if (const std::string steps = ex_.quantized.describe(s); !steps.empty())
          d_.report({"OE3063", Severity::Note, "",
                     "output '" + label(name) +
                         "' is a quantized tensor; the file returns its integers, " + steps,
                     "", nullptr, 0});
        return put_as_is(s, name, Kind::Value);
      case K::Sequence:
        return put_as_is(s, name, Kind::Sequence);
      case K::Int:
      case K::Float:
      case K::Bool:
        return put_as_is(s, name, Kind::Value);
      default:
        throw Failure(ExitCode::Unsupported, "OE4040",
                      "output '" + label(name) + "' is neither a tensor nor a number",
                      "return tensors, numbers, and tuples, lists or dicts of them");
    }
  }

 private:
  using Kind = program::Result::Kind;

  program::Result put(const std::string& name, program::Arg value, Kind kind = Kind::Value) {
    ex_.recorder.program().outputs.push_back({name, std::move(value)});
    return {kind};
  }
  program::Result put_as_is(const AbstractValue& s, const std::string& name, Kind kind) {
    return put(label(name), present_ ? program::Arg{optional(s)} : ex_.apply.arg(s), kind);
  }
  program::Value* made(program::Args args, const program::Type& element) {
    program::Node* n = ex_.recorder.record("prim::Optional", std::move(args), ex_.site.here());
    return ex_.recorder.add_output(n, program::Type::optional(element));
  }
  static program::Type type_of(const program::Arg& a) {
    if (const program::Value* v = a.value()) return v->type;
    return std::holds_alternative<int64_t>(a.v)  ? program::Type::integer()
           : std::holds_alternative<double>(a.v) ? program::Type::floating()
                                                 : program::Type::boolean();
  }
  // The value as an optional.
  program::Value* some(const AbstractValue& s) {
    const program::Arg value = ex_.apply.arg(s);
    return made({value}, type_of(value));
  }
  [[noreturn]] static void refuse_optional(const std::string& name, const std::string& what) {
    throw Failure(ExitCode::Unsupported, "OE4041",
                  "output '" + label(name) + "' is None or " + what + ", depending on the input",
                  "return tensors or numbers that may each be None");
  }
  // None or a value: each tensor and number in it is an optional.
  program::Result add_optional(const AbstractValue& s, const std::string& name) {
    const AbstractValue &here = s.tuple().at(0), &value = s.tuple().at(1);
    if (present_ && !leafy(value)) refuse_optional(name, "a container with one that may be None");
    const AbstractValue both = present_ ? ex_.apply("aten::__and__.bool", {*present_, here}) : here;
    const AbstractValue* outer = std::exchange(present_, &both);
    program::Result result = add(value, name);
    present_ = outer;
    if (result.outputs() == 0) refuse_optional(name, std::string(describe(value)) + " of nothing");
    result.optional = true;
    return result;
  }
  // The value where present_ says that there is one, as an optional.
  program::Value* optional(const AbstractValue& value) {
    auto node = std::make_unique<program::Node>();
    node->op = "prim::If";
    node->args = {ex_.apply.arg(*present_)};
    node->origin = ex_.site.here();
    program::Type type;
    for (const bool there : {true, false}) {
      node->blocks.push_back(std::make_unique<program::Block>());
      ex_.recorder.enter(node->blocks.back().get());
      program::Value* v = there ? some(value) : made({}, *type.element);
      ex_.recorder.leave();
      node->blocks.back()->returns = {{v}};
      type = v->type;
    }
    program::Value* out = ex_.recorder.add_output(node.get(), type);
    ex_.recorder.append(std::move(node));
    return out;
  }
  program::Result add_element(const AbstractValue& s, const std::string& name,
                              const std::string& list) {
    program::Result result = add(s, name);
    if (s.kind == K::Tensor) ex_.recorder.program().outputs.back().list = list;
    return result;
  }
  static std::string label(const std::string& name) { return name.empty() ? "output" : name; }
  static std::string join(const std::string& outer, const std::string& inner, bool named) {
    if (!outer.empty()) return outer + "." + inner;
    return named ? inner : "output_" + inner;
  }
  Executor& ex_;
  bool field_names_;
  Diagnostics& d_;
  const AbstractValue* present_ = nullptr;  // inside of what may be None: whether it is there
};

}  // namespace

std::vector<AbstractValue> make_arguments(Executor& ex, const torch_io::ExampleInputs& e,
                                          const std::vector<std::vector<c10::IValue>>& leaves,
                                          const std::map<std::string, int>& axis_ids) {
  return InputBuilder(ex, e, leaves, axis_ids).build();
}

program::Result add_outputs(Executor& ex, const AbstractValue& value, const std::string& name,
                            Diagnostics& d) {
  return OutputBuilder(ex, /*field_names=*/true, d).add(value, name);
}

program::Result add_persistent(Executor& ex, const AbstractValue& value, const std::string& name,
                               Diagnostics& d) {
  return OutputBuilder(ex, /*field_names=*/false, d).add(value, name);
}

}  // namespace oe::capture
