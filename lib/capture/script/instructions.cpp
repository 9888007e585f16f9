// The TorchScript instructions that are no operators.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/torch/module_classes.h"

namespace oe::capture {

namespace prim = c10::prim;

namespace {

bool has_type(const AbstractValue& v, const c10::TypePtr& t);

bool is_tuple_of(const AbstractValue& v, c10::ArrayRef<c10::TypePtr> elements) {
  if (!v.is(K::Tuple) || elements.size() != v.tuple().size()) return false;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!has_type(v.tuple()[i], elements[i])) return false;
  return true;
}

bool has_type(const AbstractValue& v, const c10::TypePtr& t) {
  switch (t->kind()) {
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::NoneType:
      return v.is(K::None);
    case c10::TypeKind::TensorType:
      return v.is(K::Tensor);
    case c10::TypeKind::IntType:
      return v.is(K::Int);
    case c10::TypeKind::FloatType:
      return v.is(K::Float);
    case c10::TypeKind::BoolType:
      return v.is(K::Bool);
    case c10::TypeKind::NumberType:
      return v.is_number();
    case c10::TypeKind::StringType:
      return v.is(K::String);
    case c10::TypeKind::OptionalType:
      return v.is(K::None) || has_type(v, t->castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::UnionType:
      return std::ranges::any_of(t->castRaw<c10::UnionType>()->containedTypes(),
                                 [&](const c10::TypePtr& option) { return has_type(v, option); });
    case c10::TypeKind::ListType:
      return v.is(K::List) &&
             v.list()->element->isSubtypeOf(*t->castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::DictType:
      return v.is(K::Dict) &&
             v.dict()->key->isSubtypeOf(*t->castRaw<c10::DictType>()->getKeyType()) &&
             v.dict()->value->isSubtypeOf(*t->castRaw<c10::DictType>()->getValueType());
    case c10::TypeKind::TupleType:
      return is_tuple_of(v, t->containedTypes());
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return v.is(K::Object) && v.object()->type->isSubtypeOf(*t);
    default:
      return v.is(K::Opaque) && v.c.at(0).type()->isSubtypeOf(*t);
  }
}

}  // namespace

// One of them, as it is run.
struct Interpreter::Instruction {
  Executor& ex;
  JitNode* n;
  Frame& f;

  const AbstractValue& in(size_t i = 0) { return f.get(n->input(i)); }
  void out(AbstractValue s) { f.set(n, {std::move(s)}); }

  void constant() { out(ex.interpreter.constant_node(n, f.path)); }
  void get_attribute() { out(ex.values.attribute(in(), n->s(c10::attr::name))); }
  void set_attribute() {
    const AbstractValue object = in();
    if (!object.is(K::Object))
      ex.site.refuse("OE4007", "an attribute of an object without TorchScript code is set");
    ex.values.load_attributes(*object.object());
    ex.heap.change(*object.object());
    ex.values.note_write(*object.object(), n->s(c10::attr::name));
    object.object()->attributes[n->s(c10::attr::name)] = in(1);
  }
  void create_object() {
    auto cell = ex.heap.make<ObjectCell>();
    cell->type = n->output()->type()->expect<c10::ClassType>();
    cell->path = f.path;
    out(AbstractValue::of(std::move(cell)));
  }
  void make_tuple() { out(AbstractValue::of_tuple(f.inputs_of(n), n->output()->type())); }
  void unpack_tuple() { f.set(n, in().tuple()); }
  void make_list() {
    const auto type = n->output()->type()->expect<c10::ListType>();
    out(ex.values.list(f.inputs_of(n), type->getElementType()));
  }
  void unpack_list() {
    const AbstractValue l = in();
    const size_t wanted = n->outputs().size();
    if (l.list()->is_open()) {
      std::vector<AbstractValue> items;
      for (size_t i = 0; i < wanted; ++i)
        items.push_back(ex.open_lists.element(
            l.list()->open, AbstractValue::of(static_cast<int64_t>(i)), l.list()->element));
      ex.assumed.say("a list has " + std::to_string(wanted) + " elements");
      return f.set(n, std::move(items));
    }
    if (l.list()->items.size() != wanted)
      ex.apply.fail(ex.worlds.first(), "Expected " + std::to_string(wanted) +
                                           " elements in a list but found " +
                                           std::to_string(l.list()->items.size()));
    f.set(n, l.list()->items);
  }
  void make_dict() {
    const std::vector<AbstractValue> given = f.inputs_of(n);
    const auto type = n->output()->type()->expect<c10::DictType>();
    std::vector<std::pair<AbstractValue, AbstractValue>> items;
    for (size_t i = 0; i + 1 < given.size(); i += 2) {
      const auto same = std::ranges::find_if(
          items, [&](const auto& e) { return equal_constants(e.first, given[i]); });
      if (same != items.end())
        same->second = given[i + 1];
      else
        items.emplace_back(given[i], given[i + 1]);
    }
    out(ex.values.dict(std::move(items), type->getKeyType(), type->getValueType()));
  }
  void uninitialized() { out(AbstractValue{}); }
  void cast() {
    const AbstractValue& v = in();
    const bool wanted =
        v.is(K::Maybe) && n->output()->type()->kind() != c10::TypeKind::OptionalType;
    out(wanted ? v.tuple().at(1) : v);
  }
  void is_instance() {
    out(AbstractValue::of(std::ranges::any_of(
        n->tys(c10::attr::types), [&](const c10::TypePtr& t) { return has_type(in(), t); })));
  }
  void raise() {
    const AbstractValue& m = in();
    throw Raised{m.is(K::String) && m.taint == Taint::Constant ? m.c.at(0).toStringRef()
                                                               : "an exception"};
  }
  void nothing() {}
  void loop() { ex.control.run_loop(n, f); }
  void call_method() {
    std::vector<AbstractValue> args = f.inputs_of(n);
    const std::string& name = n->s(c10::attr::name);
    if (!args[0].is(K::Object))
      ex.site.refuse("OE4006", "method '" + name + "' is called on a value that is not an object",
                     "interfaces and custom classes have no TorchScript code to convert");
    const ObjectCell& self = *args[0].object();
    torch::jit::Function& method = self.type->getMethod(name);
    if (auto made = ex.interpreter.run_built_in(method, args)) return f.set(n, {*made});
    const std::string path = self.type->is_module() ? self.path : f.path;
    // A module's call of a method of its own is part of its call.
    ModuleCallPtr call = f.call;
    if (path != f.path)
      call = std::make_shared<const ModuleCall>(f.call, path, torch_io::python_class(*self.type));
    ex.interpreter.run_callee(n, f, method, std::move(args), path, call);
  }
  void call_function() {
    const auto type = n->input(0)->type()->expect<c10::FunctionType>();
    std::vector<AbstractValue> args = f.inputs_of(n);
    args.erase(args.begin());
    ex.interpreter.run_callee(n, f, *type->function(), std::move(args), f.path, f.call);
  }
  void enter() { region("__enter__", {}); }
  void leave() { region("__exit__", std::vector<AbstractValue>(3, AbstractValue::none())); }
  void region(const char* method, const std::vector<AbstractValue>& args) {
    const AbstractValue manager = in();
    const bool casts = is_autocast(*n->input(0)->type());  // they are in the code
    if (manager.is(K::Object) && !manager.object()->type->is_module() && !casts) {
      std::vector<AbstractValue> all = {manager};
      all.insert(all.end(), args.begin(), args.end());
      AbstractValue result = ex.interpreter.run_function(manager.object()->type->getMethod(method),
                                                         std::move(all), f.path, f.call);
      if (n->outputs().size() == 1) out(result);
      return;
    }
    // Context managers that leave numbers alone (no_grad, profiler); their value is not used.
    f.set(n, std::vector<AbstractValue>(n->outputs().size(), AbstractValue::none()));
  }
  // Run at once; the future is the value.
  void fork() {
    auto graph = n->g(c10::attr::Subgraph);
    Frame inner;
    inner.path = f.path;
    inner.call = f.call;
    ex.interpreter.analyse_lifetimes(graph->block());
    f.set(n, ex.interpreter.run_block(graph->block(), f.inputs_of(n), inner));
  }
  void wait() { out(in()); }
  // modules[i] or modules["name"], where the class has an interface type.
  void submodule() {
    const std::vector<AbstractValue> args = f.inputs_of(n);
    if (args[1].is(K::String) && args[1].taint == Taint::Constant)
      return out(ex.values.attribute(args[0], args[1].c.at(0).toStringRef()));
    std::vector<std::string> names;
    for (const auto& a : args[0].object()->type->getAttributes())
      if (auto c = a.getType()->cast<c10::ClassType>(); c && c->is_module())
        names.push_back(a.getName());
    int64_t i = ex.apply.known_int(args[1], "index");
    if (i < 0) i += static_cast<int64_t>(names.size());
    out(ex.values.attribute(args[0], names.at(static_cast<size_t>(i))));
  }
};

void Interpreter::run_node(JitNode* n, Frame& f) {
  using I = Instruction;
  static const std::unordered_map<c10::Symbol, void (I::*)()> instructions = {
      {prim::Constant, &I::constant},
      {prim::GetAttr, &I::get_attribute},
      {prim::SetAttr, &I::set_attribute},
      {prim::CreateObject, &I::create_object},
      {prim::TupleConstruct, &I::make_tuple},
      {prim::TupleUnpack, &I::unpack_tuple},
      {prim::ListConstruct, &I::make_list},
      {prim::ListUnpack, &I::unpack_list},
      {prim::DictConstruct, &I::make_dict},
      {prim::Uninitialized, &I::uninitialized},
      {prim::unchecked_cast, &I::cast},
      {prim::unchecked_unwrap_optional, &I::cast},
      {prim::isinstance, &I::is_instance},
      {prim::RaiseException, &I::raise},
      {prim::Print, &I::nothing},
      {c10::Symbol::fromQualString("aten::warn"), &I::nothing},
      {prim::Loop, &I::loop},
      {prim::CallMethod, &I::call_method},
      {prim::CallFunction, &I::call_function},
      {prim::Enter, &I::enter},
      {prim::Exit, &I::leave},
      {prim::fork, &I::fork},
      {c10::Symbol::fromQualString("aten::wait"), &I::wait},
      {c10::Symbol::fromQualString("prim::ModuleContainerIndex"), &I::submodule}};
  if (const auto it = instructions.find(n->kind()); it != instructions.end()) {
    I instruction{ex_, n, f};
    return (instruction.*it->second)();
  }
  const torch::jit::Operator* op = n->maybeOperator();
  if (!op)
    ex_.site.refuse("OE4008",
                    std::string("no operator ") + n->kind().toQualString() + " is registered");
  std::vector<AbstractValue> in = f.inputs_of(n);
  const OpInfo& info = with_number_operand(ex_.operators.of(*op), n, f, in);
  std::optional<std::vector<AbstractValue>> out = ex_.containers.call(info, in, n);
  if (!out) out = call_operator(info, in, n);
  if (out->size() > n->outputs().size()) out->resize(n->outputs().size());
  f.set(n, std::move(*out));
}

AbstractValue Interpreter::constant_node(JitNode* n, const std::string& path) {
  auto it = constants_.find(n);
  if (it != constants_.end()) return it->second;
  AbstractValue s;
  if (n->output()->type()->kind() == c10::TypeKind::FunctionType) {
    s.kind = K::Opaque;  // callers look at the node, not at the value
  } else {
    auto v = torch::jit::toIValue(n->output());
    if (!v)
      throw Failure(ExitCode::Internal, "OE1004", "a constant has no value", "", ex_.site.here());
    s = ex_.values.kept_constant(*v, path.empty() ? "constant" : path + ".constant");
  }
  return constants_[n] = s;
}

}  // namespace oe::capture
