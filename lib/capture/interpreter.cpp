// Functions, blocks and the TorchScript instructions that are no operators.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "lib/capture/executor.h"
#include "lib/torch/runtime.h"

namespace oe::capture {

using torch::jit::Node;
namespace prim = c10::prim;

Executor::Executor(program::Program& p, std::vector<Iterations> entries, CaptureMode mode,
                   Diagnostics& d)
    : recorder_(p),
      worlds_(entries.size()),
      mode_(mode),
      diagnostics_(d),
      entries_(std::move(entries)) {}

// --- values

Sym Executor::fresh_tensor(TensorValuePtr v) {
  recorder_.remember_axes(*v);
  auto storage = heap_.make<StorageCell>();
  heap_.set_base(*storage, v);
  auto handle = heap_.make<TensorHandle>();
  handle->cached = std::move(v);
  handle->cached_version = storage->version;
  handle->storage = std::move(storage);
  Sym s;
  s.kind = Sym::Kind::Tensor;
  s.tensor = std::move(handle);
  return s;
}

TensorValuePtr Executor::input_tensor(program::Value* recorded, PerWorld c,
                                      std::vector<Axis> axes) {
  auto v = std::make_shared<TensorValue>();
  v->taint = Taint::Data;
  v->axes = std::move(axes);
  v->c = std::move(c);
  v->recorded = recorded;
  return v;
}

Sym Executor::input_number(program::Value* recorded, PerWorld c) {
  Sym s;
  const c10::IValue& example = c.at(0);
  s.kind = example.isBool()     ? Sym::Kind::Bool
           : example.isDouble() ? Sym::Kind::Float
                                : Sym::Kind::Int;
  s.taint = Taint::Data;
  s.recorded = recorded;
  s.c = std::move(c);
  return s;
}

Sym Executor::wrap_constant(const c10::IValue& v, const std::string& name) {
  if (v.isNone()) return Sym::none();
  if (v.isTensor()) {
    const at::Tensor& t = v.toTensor();
    if (!t.defined()) return Sym::none();
    auto [it, fresh] = wrapped_.try_emplace(t.unsafeGetTensorImpl());
    if (!fresh) return it->second;
    auto value = std::make_shared<TensorValue>();
    value->c = PerWorld::constant(t);
    value->axes.resize(static_cast<size_t>(t.dim()));
    value->name = name;
    Sym s = fresh_tensor(value);
    // The model's own was there before any branch or loop that reads it first.
    s.tensor->serial = s.tensor->storage->serial = 0;
    if (t.has_storage())
      // Another tensor of the model over the same memory: reading both is fine, writing is not.
      for (auto& other : by_memory_[t.storage().unsafeGetStorageImpl()]) {
        Heap::entangle(*other, *s.tensor->storage);
      }
    if (t.has_storage())
      by_memory_[t.storage().unsafeGetStorageImpl()].push_back(s.tensor->storage);
    model_storages_.push_back({name, s.tensor->storage, s.tensor->storage->version});
    return wrapped_[t.unsafeGetTensorImpl()] = s;
  }
  if (v.isInt()) return Sym::of(v.toInt());
  if (v.isDouble()) return Sym::of(v.toDouble());
  if (v.isBool()) return Sym::of(v.toBool());
  if (v.isString()) return Sym::of(v.toStringRef());
  if (v.isTuple()) {
    std::vector<Sym> items;
    const auto& elements = v.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i)
      items.push_back(wrap_constant(elements[i], name + "." + std::to_string(i)));
    return Sym::of_tuple(std::move(items), v.type());
  }
  if (v.isList()) {
    auto [it, fresh] = wrapped_.try_emplace(v.internalToPointer());
    if (!fresh) return it->second;
    auto list = v.toList();
    std::vector<Sym> items;
    for (size_t i = 0; i < list.size(); ++i)
      items.push_back(wrap_constant(list.get(i), name + "." + std::to_string(i)));
    Sym s = make_list(std::move(items), list.elementType());
    s.list->serial = 0;
    return wrapped_[v.internalToPointer()] = s;
  }
  if (v.isGenericDict()) {
    auto [it, fresh] = wrapped_.try_emplace(v.internalToPointer());
    if (!fresh) return it->second;
    auto dict = v.toGenericDict();
    std::vector<std::pair<Sym, Sym>> items;
    for (const auto& e : dict) {
      Sym key = wrap_constant(e.key(), "");
      std::string key_name = e.key().isString() ? e.key().toStringRef()
                             : e.key().isInt()  ? std::to_string(e.key().toInt())
                                                : "key";
      items.emplace_back(key, wrap_constant(e.value(), name + "." + key_name));
    }
    Sym s = make_dict(std::move(items), dict.keyType(), dict.valueType());
    s.dict->serial = 0;
    return wrapped_[v.internalToPointer()] = s;
  }
  if (v.isObject()) {
    auto object = v.toObject();
    auto [it, fresh] = wrapped_.try_emplace(object.get());
    if (!fresh) return it->second;
    auto cell = heap_.make<ObjectCell>();
    cell->type = object->type();
    cell->path = name;
    cell->object = object;
    cell->serial = 0;
    model_objects_.push_back(cell);
    Sym s;
    s.kind = Sym::Kind::Object;
    s.object = cell;
    return wrapped_[object.get()] = s;
  }
  return Sym::opaque(v);
}

// --- functions and blocks

Sym Executor::run_method(const Sym& self, const std::string& method, std::vector<Sym> args) {
  args.insert(args.begin(), self);
  try {
    return run_function(self.object->type->getMethod(method), std::move(args), self.object->path);
  } catch (const Unreachable& u) {
    refuse("OE4061", "no example runs the model beyond this line: " + u.message,
           "give an example, or sizes of dynamic axes, with which all of it runs");
  } catch (Failure& f) {
    if (!f.origin) f.origin = here();
    throw;
  } catch (const c10::Error& e) {
    // LibTorch refused to tell something about a value, outside of the operators it ran.
    if (torch_io::is_out_of_memory(e.what())) throw;
    refuse("OE4062", "LibTorch cannot say what this line needs: " + torch_io::message_of(e));
  }
}

Sym Executor::run_function(torch::jit::Function& f, std::vector<Sym> args,
                           const std::string& path) {
  Frame frame;
  frame.path = path;
  return run_code(code_of(f), std::move(args), frame);
}

Executor::JitBlock* Executor::code_of(torch::jit::Function& f) {
  auto* graph_function = torch::jit::tryToGraphFunction(f);
  if (!graph_function)
    refuse("OE4004", "function " + f.qualname().qualifiedName() + " has no TorchScript code");
  graph_function->ensure_defined();
  return graph_function->graph()->block();
}

Sym Executor::run_code(JitBlock* block, std::vector<Sym> args, Frame& frame) {
  if (site_.depth() > 2000) refuse("OE4005", "calls nest too deeply");
  analyse_lifetimes(block);
  // The frame alone holds the arguments: what it drops may be written.
  for (size_t i = 0; i < args.size(); ++i) frame.values[block->inputs()[i]] = std::move(args[i]);
  args.clear();
  return run_block(block, {}, frame).at(0);
}

std::vector<Sym> Executor::run_block(JitBlock* b, const std::vector<Sym>& params, Frame& f) {
  for (size_t i = 0; i < params.size(); ++i) f.values[b->inputs()[i]] = params[i];
  return run_nodes(b, *b->nodes().begin(), f);
}

// The nodes of `b` from `first` on; its results.
std::vector<Sym> Executor::run_nodes(JitBlock* b, JitNode* first, Frame& f) {
  for (Node* n = first; n != b->return_node(); n = n->next()) {
    site_.enter(n, f.path);
    if (n->kind() == prim::If) {
      const Sym cond = get(n->input(), f);
      size_t taken = 0;
      if (!must_keep(cond, taken)) {
        if (auto it = dropped_.find({n, taken}); worlds_.alone() && it != dropped_.end())
          note_missed(n, taken, it->second);
        set(n, f, run_block(n->blocks()[taken], {}, f));
      } else if (auto out = kept_if(n, f, cond, false)) {
        set(n, f, std::move(*out));
      } else {
        // The branches leave values that nothing can stand for both of (None and a tensor, lists
        // of two lengths, two element types): what follows goes into both branches.
        out = kept_if(n, f, cond, true);
        site_.leave();
        return *out;
      }
    } else {
      run_node(n, f);
    }
    site_.leave();
    for (const JitValue* v : dead_after(n)) f.values.erase(v);
  }
  std::vector<Sym> out;
  for (const JitValue* v : b->outputs()) out.push_back(get(v, f));
  return out;
}

const std::vector<const Executor::JitValue*>& Executor::dead_after(const JitNode* n) {
  static const std::vector<const JitValue*> none;
  auto it = dead_after_.find(n);
  return it == dead_after_.end() ? none : it->second;
}

// A value dies after the last node of its own block that uses it, nested blocks included.
void Executor::analyse_lifetimes(JitBlock* b) {
  if (!analysed_.insert(b).second) return;
  for (Node* n : b->nodes())
    for (JitBlock* inner : n->blocks()) analyse_lifetimes(inner);
  auto at_this_level = [&](Node* user) {
    while (user->owningBlock() != b) user = user->owningBlock()->owningNode();
    return user;
  };
  auto last_use = [&](const JitValue* v, Node* fallback) {
    Node* last = fallback;
    for (const auto& use : v->uses()) {
      if (use.user == b->return_node()) return static_cast<Node*>(nullptr);
      Node* user = at_this_level(use.user);
      if (!last || last->isBefore(user)) last = user;
    }
    return last;
  };
  for (Node* n : b->nodes())
    for (const JitValue* v : n->outputs())
      if (Node* last = last_use(v, n)) dead_after_[last].push_back(v);
  for (const JitValue* v : b->inputs())
    if (!v->uses().empty())
      if (Node* last = last_use(v, nullptr)) dead_after_[last].push_back(v);
}

const Sym& Executor::get(const JitValue* v, Frame& f) const {
  auto it = f.values.find(v);
  if (it == f.values.end())
    throw Failure(ExitCode::Internal, "OE1002", "value %" + v->debugName() + " is not computed");
  return it->second;
}

std::vector<Sym> Executor::inputs_of(JitNode* n, Frame& f) const {
  std::vector<Sym> in;
  in.reserve(n->inputs().size());
  for (const JitValue* v : n->inputs()) in.push_back(get(v, f));
  return in;
}

void Executor::set(JitNode* n, Frame& f, std::vector<Sym> outputs) {
  if (outputs.size() != n->outputs().size())
    throw Failure(ExitCode::Internal, "OE1003",
                  std::string(n->kind().toQualString()) + " gave a wrong number of results", "",
                  here());
  for (size_t i = 0; i < outputs.size(); ++i) f.values[n->outputs()[i]] = std::move(outputs[i]);
}

// --- instructions

Sym Executor::constant_node(JitNode* n, Frame& f) {
  auto it = constants_.find(n);
  if (it != constants_.end()) return it->second;
  Sym s;
  if (n->output()->type()->kind() == c10::TypeKind::FunctionType) {
    s.kind = Sym::Kind::Opaque;  // callers look at the node, not at the value
  } else {
    auto v = torch::jit::toIValue(n->output());
    if (!v) throw Failure(ExitCode::Internal, "OE1004", "a constant has no value", "", here());
    kept_alive_.push_back(*v);
    s = wrap_constant(*v, f.path.empty() ? "constant" : f.path + ".constant");
  }
  return constants_[n] = s;
}

void Executor::call_method(JitNode* n, Frame& f) {
  std::vector<Sym> args = inputs_of(n, f);
  const std::string& name = n->s(c10::attr::name);
  if (!args[0].is(Sym::Kind::Object))
    refuse("OE4006", "method '" + name + "' is called on a value that is no object",
           "interfaces and custom classes have no TorchScript code to convert");
  torch::jit::Function& method = args[0].object->type->getMethod(name);
  const std::string path = args[0].object->type->is_module() ? args[0].object->path : f.path;
  run_callee(n, f, method, std::move(args), path);
}

void Executor::call_function(JitNode* n, Frame& f) {
  auto type = n->input(0)->type()->expect<c10::FunctionType>();
  std::vector<Sym> args = inputs_of(n, f);
  args.erase(args.begin());
  run_callee(n, f, *type->function(), std::move(args), f.path);
}

// modules[i] or modules["name"], where the class has an interface type.
Sym Executor::submodule_at(const std::vector<Sym>& args) {
  const ObjectCell& container = *args[0].object;
  std::vector<std::string> names;
  for (const auto& a : container.type->getAttributes())
    if (auto c = a.getType()->cast<c10::ClassType>(); c && c->is_module())
      names.push_back(a.getName());
  if (args[1].is(Sym::Kind::String) && args[1].taint == Taint::Constant)
    return get_attribute(args[0], args[1].c.at(0).toStringRef());
  int64_t i = known_int(args[1], "index");
  if (i < 0) i += static_cast<int64_t>(names.size());
  return get_attribute(args[0], names.at(static_cast<size_t>(i)));
}

bool Executor::has_type(const Sym& v, const c10::TypePtr& t) {
  using K = Sym::Kind;
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
    case c10::TypeKind::UnionType: {
      for (const auto& option : t->castRaw<c10::UnionType>()->containedTypes())
        if (has_type(v, option)) return true;
      return false;
    }
    case c10::TypeKind::ListType:
      return v.is(K::List) &&
             v.list->element->isSubtypeOf(*t->castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::DictType:
      return v.is(K::Dict) &&
             v.dict->key->isSubtypeOf(*t->castRaw<c10::DictType>()->getKeyType()) &&
             v.dict->value->isSubtypeOf(*t->castRaw<c10::DictType>()->getValueType());
    case c10::TypeKind::TupleType: {
      if (!v.is(K::Tuple)) return false;
      auto elements = t->containedTypes();
      if (elements.size() != v.tuple->size()) return false;
      for (size_t i = 0; i < elements.size(); ++i)
        if (!has_type((*v.tuple)[i], elements[i])) return false;
      return true;
    }
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return v.is(K::Object) && v.object->type->isSubtypeOf(*t);
    default:
      return v.is(K::Opaque) && v.c.at(0).type()->isSubtypeOf(*t);
  }
}

Sym Executor::is_instance(JitNode* n, const Sym& v) {
  for (const auto& t : n->tys(c10::attr::types))
    if (has_type(v, t)) return Sym::of(true);
  return Sym::of(false);
}

void Executor::run_node(JitNode* n, Frame& f) {
  switch (n->kind()) {
    case prim::Constant:
      return set(n, f, {constant_node(n, f)});
    case prim::GetAttr:
      return set(n, f, {get_attribute(get(n->input(), f), n->s(c10::attr::name))});
    case prim::SetAttr: {
      Sym object = get(n->input(0), f);
      if (!object.is(Sym::Kind::Object))
        refuse("OE4007", "an attribute of a foreign object is set");
      load_attributes(*object.object);
      heap_.change(*object.object);
      const std::string& name = n->s(c10::attr::name);
      object.object->attributes[name] = get(n->input(1), f);
      return;
    }
    case prim::Loop:
      return run_loop(n, f);
    case prim::CallMethod:
      return call_method(n, f);
    case prim::CallFunction:
      return call_function(n, f);
    case prim::TupleConstruct:
      return set(n, f, {Sym::of_tuple(inputs_of(n, f), n->output()->type())});
    case prim::TupleUnpack: {
      const Sym& t = get(n->input(), f);
      return set(n, f, *t.tuple);
    }
    case prim::ListConstruct:
      return set(n, f,
                 {make_list(inputs_of(n, f),
                            n->output()->type()->expect<c10::ListType>()->getElementType())});
    case prim::ListUnpack: {
      const Sym l = get(n->input(), f);
      if (l.list->is_open()) {
        std::vector<Sym> out;
        for (size_t i = 0; i < n->outputs().size(); ++i)
          out.push_back(
              open_element(l.list->open, Sym::of(static_cast<int64_t>(i)), l.list->element));
        assume("a list has " + std::to_string(out.size()) + " elements");
        return set(n, f, std::move(out));
      }
      if (l.list->items.size() != n->outputs().size())
        world_failed(worlds_.first(), "Expected " + std::to_string(n->outputs().size()) +
                                          " elements in a list but found " +
                                          std::to_string(l.list->items.size()));
      return set(n, f, l.list->items);
    }
    case prim::DictConstruct: {
      std::vector<Sym> in = inputs_of(n, f);
      auto type = n->output()->type()->expect<c10::DictType>();
      Sym d = make_dict({}, type->getKeyType(), type->getValueType());
      for (size_t i = 0; i + 1 < in.size(); i += 2) {
        auto same = std::find_if(d.dict->items.begin(), d.dict->items.end(),
                                 [&](const auto& e) { return equal_constants(e.first, in[i]); });
        if (same != d.dict->items.end())
          same->second = in[i + 1];
        else
          d.dict->items.emplace_back(in[i], in[i + 1]);
      }
      return set(n, f, {d});
    }
    case prim::CreateObject: {
      Sym s;
      s.kind = Sym::Kind::Object;
      s.object = heap_.make<ObjectCell>();
      s.object->type = n->output()->type()->expect<c10::ClassType>();
      s.object->path = f.path;
      return set(n, f, {s});
    }
    case prim::Uninitialized:
      return set(n, f, {Sym{}});
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: {
      const Sym& v = get(n->input(), f);
      const bool wanted =
          v.is(Sym::Kind::Maybe) && n->output()->type()->kind() != c10::TypeKind::OptionalType;
      return set(n, f, {wanted ? v.tuple->at(1) : v});
    }
    case prim::isinstance:
      return set(n, f, {is_instance(n, get(n->input(), f))});
    case prim::RaiseException: {
      const Sym& m = get(n->input(0), f);
      throw Raised{m.is(Sym::Kind::String) && m.taint == Taint::Constant ? m.c.at(0).toStringRef()
                                                                         : "an exception"};
    }
    case prim::Print:
      return;
    case prim::Enter:
    case prim::Exit: {
      const bool enter = n->kind() == prim::Enter;
      const Sym manager = get(n->input(0), f);
      const std::string cls = n->input(0)->type()->repr_str();
      if (cls.find("autocast") != std::string::npos)
        refuse("OE4060", "an autocast region chooses element types while it runs",
               "export the model without autocast, converted to the type it should compute in");
      if (manager.is(Sym::Kind::Object) && !manager.object->type->is_module()) {
        std::vector<Sym> args = {manager};
        if (!enter) args.insert(args.end(), 3, Sym::none());
        Sym out = run_function(manager.object->type->getMethod(enter ? "__enter__" : "__exit__"),
                               std::move(args), f.path);
        if (n->outputs().size() == 1) set(n, f, {out});
        return;
      }
      // Context managers that leave numbers alone (no_grad, profiler); their value is not used.
      if (!n->outputs().empty()) {
        for (size_t i = 0; i < n->outputs().size(); ++i) f.values[n->outputs()[i]] = Sym::none();
      }
      return;
    }
    case prim::fork: {
      // Run at once; the future is the value.
      auto graph = n->g(c10::attr::Subgraph);
      Frame inner;
      inner.path = f.path;
      analyse_lifetimes(graph->block());
      return set(n, f, run_block(graph->block(), inputs_of(n, f), inner));
    }
    default:
      break;
  }
  const std::string kind = n->kind().toQualString();
  if (kind == "aten::wait") return set(n, f, {get(n->input(), f)});
  if (kind == "aten::warn") return;
  if (kind == "prim::ModuleContainerIndex") return set(n, f, {submodule_at(inputs_of(n, f))});
  const torch::jit::Operator* op = n->maybeOperator();
  if (!op) refuse("OE4008", "no operator " + kind + " is registered");
  std::vector<Sym> in = inputs_of(n, f);
  const OpInfo& info = with_number_operand(operators_.of(*op), n, f, in);
  std::optional<std::vector<Sym>> out = container_call(info, in, n);
  if (!out) out = call_operator(info, in, n);
  if (out->size() > n->outputs().size()) out->resize(n->outputs().size());
  set(n, f, std::move(*out));
}

}  // namespace oe::capture
