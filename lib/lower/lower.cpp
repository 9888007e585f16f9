// The driver: program -> ONNX graph, one table row a call.
#include "lib/lower/lower.h"

#include <unordered_set>

#include "lib/lower/complex/complex.h"
#include "lib/lower/driver.h"
#include "lib/lower/schema_text.h"
#include "lib/onnx/schema.h"
#include "lib/support/origin_text.h"

namespace oe::lower {

using program::Arg;
using program::Args;

namespace {

// Fills in what `v` does not say yet. Dims that are known already stay as they are.
void merge(ir::Type& v, const ir::Type& recorded) {
  if (v.kind != recorded.kind || v.dtype != recorded.dtype || !recorded.shape) return;
  if (!v.shape) {
    v.shape = recorded.shape;
    return;
  }
  if (v.shape->size() != recorded.shape->size())
    throw std::logic_error("the lowering gave rank " + std::to_string(v.shape->size()) +
                           " where rank " + std::to_string(recorded.shape->size()) +
                           " was recorded");
  for (size_t i = 0; i < v.shape->size(); ++i)
    if ((*v.shape)[i].kind == Dim::Kind::Unknown) (*v.shape)[i] = (*recorded.shape)[i];
}

}  // namespace

ir::Type to_onnx_type(const program::Type& t) {
  using Kind = program::Type::Kind;
  switch (t.kind) {
    case Kind::Tensor:
      return ir::Type::tensor(t.dtype, t.shape);
    case Kind::Int:
      return ir::Type::tensor(DType::Int64, std::vector<Dim>{});
    case Kind::Float:
      return ir::Type::tensor(DType::Double, std::vector<Dim>{});
    case Kind::Bool:
      return ir::Type::tensor(DType::Bool, std::vector<Dim>{});
    case Kind::String:
      return ir::Type::tensor(DType::String, std::vector<Dim>{});
    case Kind::List:
      return ir::Type::sequence(to_onnx_type(*t.element));
    case Kind::Optional:
      return ir::Type::optional(to_onnx_type(*t.element));
    case Kind::None:
      break;
  }
  throw Unsupported("None has no value in ONNX");
}

DType number_type(const Arg& a) {
  if (std::holds_alternative<int64_t>(a.v)) return DType::Int64;
  return std::holds_alternative<double>(a.v) ? DType::Double : DType::Bool;
}

Driver::Driver(const program::Program& p, const LowerOptions& o, Diagnostics& d)
    : program_(p),
      options_(o),
      diagnostics_(d),
      call_(model_, onnx::newest_opset(), constants_, model_.graph.nodes) {
  call_.pairs_ = o.type != ExportType::Raw && o.type != ExportType::OnnxAten;
}

ir::Model Driver::run() {
  model_.opsets[""] = onnx::newest_opset();
  model_.graph.name = "main_graph";
  for (const program::Port& port : program_.inputs) {
    const program::Value* v = port.value.value();
    if (call_.pairs_ && is_complex(v->type)) {
      complex_input(v, port.name);
      continue;
    }
    ir::Value* made = model_.new_value(port.name, to_onnx_type(v->type));
    model_.graph.inputs.push_back(made);
    call_.values_.emplace(v, made);
  }
  // Output names are taken before any node asks for one.
  for (size_t i = 0; i < program_.outputs.size(); i += std::max<size_t>(kept_list(i), 1)) {
    const program::Port& port = program_.outputs[i];
    model_.graph.outputs.push_back(model_.new_value(kept_list(i) ? port.list : port.name));
  }
  nodes(program_.body);
  outputs();
  return std::move(model_);
}

void Driver::nodes(const program::Block& b) {
  for (const auto& n : b.nodes) node(*n);
}

void Driver::node(const program::Node& n) {
  const program::Node* outer = std::exchange(call_.call_, &n);
  const std::string outer_prefix = std::exchange(call_.prefix_, prefix(n));
  const OriginPtr outer_origin = std::exchange(call_.origin_, n.origin);
  if (n.op == "prim::If")
    conditional(n);
  else if (n.op == "prim::Loop")
    loop(n);
  else if (n.op == "prim::ListConstruct")
    list_construct(n);
  else if (n.op == "prim::Optional")
    optional(n);
  else if (n.op == "prim::of_rank")
    of_rank(n);
  else
    call(n);
  call_.call_ = outer;
  call_.prefix_ = outer_prefix;
  call_.origin_ = outer_origin;
}

// A list whose length is not known once it has been changed: a sequence.
void Driver::list_construct(const program::Node& n) {
  Values items;
  for (const Arg& a : n.args) {
    if (poisoned(a)) return poison(n);
    items.push_back(call_.lookup(a.value()));
  }
  const ir::Type type = to_onnx_type(n.outputs[0]->type);
  T made = items.empty() ? call_.op("SequenceEmpty", {},
                                    {{"dtype", static_cast<int64_t>(type.element->dtype)}})
                         : call_.op("SequenceConstruct", items);
  made->type = type;
  call_.values_[n.outputs[0]] = made;
}

// A tensor without a rank, where a condition gives it one.
void Driver::of_rank(const program::Node& n) {
  if (poisoned(n.args[0])) return poison(n);
  call_.values_[n.outputs[0]] =
      call_.op("Identity", {call_.lookup(n.args[0].value())}, {}, to_onnx_type(n.outputs[0]->type));
}

// A value that may be absent: with the value, or absent.
void Driver::optional(const program::Node& n) {
  const ir::Type type = to_onnx_type(n.outputs[0]->type);
  if (n.args.empty()) {
    call_.values_[n.outputs[0]] = call_.op("Optional", {}, {{"type", *type.element}}, type);
    return;
  }
  if (poisoned(n.args[0])) return poison(n);
  call_.values_[n.outputs[0]] =
      call_.op("Optional", {argument(n.args[0], type.element->dtype)}, {}, type);
}

// An operator that cannot be written stays what it is, where the export type says so.
void Driver::refuse(const program::Node& n, std::string code, std::string message) {
  const bool aten = n.op.starts_with("aten::");
  if (splits(n)) {  // what stays has no operands of two values
    report(n, std::move(code), std::move(message));
    return poison(n);
  }
  if (options_.type == ExportType::OnnxFallthrough) return keep(n, /*as_aten=*/false);
  if (options_.type == ExportType::OnnxAtenFallback && aten) return keep(n, /*as_aten=*/true);
  report(n, std::move(code), std::move(message));
  poison(n);
}

void Driver::call(const program::Node& n) {
  if (const auto* rule = options_.rules ? options_.rules->find(n.op) : nullptr) {
    for (const Arg& a : n.args)
      if (poisoned(a)) return poison(n);
    try {
      return ruled(n, *rule);
    } catch (const std::runtime_error& e) {
      report(n, "OE5104", e.what());
      return poison(n);
    }
  }
  if (options_.type == ExportType::Raw) return keep(n, /*as_aten=*/false);
  if (options_.type == ExportType::OnnxAten && n.op.starts_with("aten::"))
    return keep(n, /*as_aten=*/true);
  if (options_.kept.contains(n.origin))
    return refuse(n, "OE5101", "the target opset cannot express it");
  const Lowering* row = find(n.op);
  if (!row && !has_row(n.op)) return refuse(n, "OE5101", why_not_written(n.op));
  for (const Arg& a : n.args)
    if (poisoned(a)) return poison(n);
  try {
    for (const program::Value* v : n.outputs)
      if (v->type.kind == program::Type::Kind::Tensor && v->type.dtype == DType::Undefined)
        throw Unsupported("its result has an element type that ONNX does not have");
    if (splits(n))
      complex_call(n);
    else if (row)
      finish(n, run(n, *row));
    else
      throw Unsupported("it is supported for complex numbers only");
  } catch (const NotKnown& e) {
    refuse(n, "OE5102", e.what());
  } catch (const Unsupported& e) {
    refuse(n, "OE5103", e.what());
  } catch (const std::exception& e) {
    report(n, "OE5199", std::string("internal error in its lowering: ") + e.what());
    poison(n);
  }
}

// The row's results for a call, which may be one of parts of the program's values.
Values Driver::run(const program::Node& n, const Lowering& row) {
  const auto arguments = schema_arguments(row.signature);
  for (size_t i = row.parameters; i < n.args.size(); ++i) {
    const std::string_view a = i < arguments.size() ? arguments[i] : std::string_view("? new");
    if (!at_default(n.args[i], a))
      throw Unsupported("argument '" + std::string(argument_name(a)) +
                        "' must be left at its default");
  }
  call_.call_ = &n;
  call_.row_ = &row;
  Values results = row.run(call_, Arguments(call_, n));
  call_.row_ = nullptr;
  return results;
}

// Gives the results the types that capture recorded.
void Driver::finish(const program::Node& n, const Values& results) {
  const std::vector<program::Value*> outputs = split(n.outputs);
  if (results.size() != outputs.size())
    throw std::logic_error("the lowering gave " + std::to_string(results.size()) +
                           " results where " + std::to_string(outputs.size()) + " were recorded");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      unavailable_[outputs[i]] = n.op;
      call_.values_[outputs[i]] = nullptr;
      continue;
    }
    call_.values_[outputs[i]] = typed(results[i], outputs[i]->type);
  }
}

T Driver::typed(T v, const program::Type& t) {
  if (t.kind == program::Type::Kind::None) return v;
  const ir::Type recorded = to_onnx_type(t);
  if (recorded.kind == ir::Type::Kind::Tensor && v->type.kind == ir::Type::Kind::Tensor)
    v = cast(v, recorded.dtype);
  merge(v->type, recorded);
  if (recorded.kind != ir::Type::Kind::Tensor && recorded.element) v->type = recorded;
  return v;
}

bool Driver::poisoned(const Arg& a) const {
  if (auto* v = a.value()) {
    auto it = call_.values_.find(v);
    return it != call_.values_.end() && !it->second;
  }
  if (auto* list = std::get_if<Args>(&a.v))
    for (const Arg& e : *list)
      if (poisoned(e)) return true;
  return false;
}

void Driver::poison(const program::Node& n) {
  // A result that its row leaves out is an error only where somebody uses it.
  if (!unavailable_.empty()) {
    for (const Arg& a : n.args) {
      auto it = a.value() ? unavailable_.find(a.value()) : unavailable_.end();
      if (it == unavailable_.end()) continue;
      report(n, "OE5103", "uses a result of " + it->second + " that ONNX cannot express");
    }
  }
  for (const program::Value* v : n.outputs) call_.values_[v] = nullptr;
  for (const program::Value* v : split(n.outputs)) call_.values_[v] = nullptr;
}

void Driver::report(const program::Node& n, std::string code, std::string message) {
  Diagnostic d;
  d.code = std::move(code);
  d.op = n.op;
  d.message = std::move(message);
  d.origin = n.origin;
  diagnostics_.report(std::move(d));
}

// A driver's own operand: a computed value or a number as a constant of type t.
T Driver::argument(const Arg& a, DType t) {
  if (auto* v = a.value()) return cast(call_.lookup(v), t);
  if (auto* i = std::get_if<int64_t>(&a.v)) return call_.integer(*i, t);
  if (auto* b = std::get_if<bool>(&a.v)) return call_.integer(*b, t);
  if (auto* d = std::get_if<double>(&a.v)) return call_.number(*d, t);
  throw Unsupported("None and lists have no value here");
}

const std::string& Driver::prefix(const program::Node& n) {
  static const std::string top = "/";
  if (!n.origin) return top;
  auto [it, fresh] = prefixes_.try_emplace(n.origin->module_path);
  if (fresh) it->second = node_prefix(n.origin->module_path);
  return it->second;
}

// How many outputs from `first` on are the elements of a list of tensors that stays one (raw); 0:
// it is no such list.
size_t Driver::kept_list(size_t first) const {
  const std::string& list = program_.outputs[first].list;
  if (options_.type != ExportType::Raw || list.empty()) return 0;
  size_t end = first;
  const program::Value* one = program_.outputs[first].value.value();
  for (; end < program_.outputs.size() && program_.outputs[end].list == list; ++end) {
    const program::Value* v = program_.outputs[end].value.value();
    if (!v || !one || v->type.dtype != one->type.dtype) return 0;
  }
  return end - first;
}

void Driver::construct_list(size_t first, size_t count, ir::Value* port) {
  Values elements;
  for (size_t i = first; i < first + count; ++i) {
    const Arg& a = program_.outputs[i].value;
    if (poisoned(a)) return;
    elements.push_back(call_.lookup(a.value()));
  }
  port->type = ir::Type::sequence(ir::Type::tensor(elements[0]->type.dtype));
  call_.append("ListConstruct", elements, {port}, {})->domain = "prim";
  import_domain("prim");
}

void Driver::outputs() {
  std::unordered_set<const ir::Value*> used;
  for (size_t i = 0, place = 0; i < program_.outputs.size(); ++place) {
    ir::Value*& port = model_.graph.outputs[place];
    const size_t count = kept_list(i);
    if (count > 0)
      construct_list(i, count, port);
    else
      output(program_.outputs[i].value, port, used);
    i += std::max<size_t>(count, 1);
  }
}

// Every output of the model is a value of its own, made by a node, with the name asked for.
void Driver::output(const Arg& a, ir::Value*& port, std::unordered_set<const ir::Value*>& used) {
  if (poisoned(a)) {
    auto it = a.value() ? unavailable_.find(a.value()) : unavailable_.end();
    if (it != unavailable_.end() && a.value()->producer)
      report(*a.value()->producer, "OE5103", "the model returns a result that ONNX cannot express");
    return;
  }
  T v = nullptr;
  if (auto* p = a.value(); p && call_.pairs_ && is_complex(p->type)) {
    const Parts::Pair& parts = call_.parts_.of(p);
    note_pairs("output", port->name);
    v = packed({call_.lookup(parts.re), call_.lookup(parts.im)});
  } else if (p)
    v = call_.lookup(p);
  else
    v = argument(a, number_type(a));
  if (!v->producer || !used.insert(v).second) {
    port->type = v->type;
    call_.append("Identity", {v}, {port}, {});
    return;
  }
  // The reserved name moves to the value; the place holder gets the value's old name.
  std::swap(port->name, v->name);
  port = v;
}

ir::Model lower(const program::Program& p, const LowerOptions& o, Diagnostics& d) {
  return Driver(p, o, d).run();
}

}  // namespace oe::lower
