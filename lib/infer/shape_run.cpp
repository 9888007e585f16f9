// A TorchScript method run on tensors without data: which sizes and types it comes through, and
// where it stops.
#include "lib/infer/shape_run.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <map>

#include "lib/infer/choosing.h"
#include "lib/infer/shadow.h"
#include "lib/infer/usual.h"
#include "lib/support/trial.h"
#include "lib/torch/origins.h"
#include "lib/torch/runtime.h"
#include "lib/torch/stand_ins.h"

namespace oe::infer {
namespace {

namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

struct Stopped {
  Stop stop;
};
struct Seen {};  // the watched site was reached

c10::Symbol symbol(const char* name) { return c10::Symbol::fromQualString(name); }

class Interpreter {
 public:
  Interpreter(const Limits& limits, const Site& watch, Run& run)
      : limits_(limits), watch_(watch), run_(run) {}

  c10::IValue call(const torch_io::Loaded& m, const Arguments& arguments) {
    Frame frame;
    std::vector<Cell> all = {{m.module._ivalue(), 0}};
    all.insert(all.end(), arguments.values.begin(), arguments.values.end());
    for (const auto& [tensor, mask] : arguments.tensors) {
      mark(tensor, mask, mask);
      inputs_.insert(tensor.unsafeGetTensorImpl());
    }
    return function(m.module.get_method(m.method).function(), all, frame).value;
  }

  // Tensors know what they were made of wherever they went.
  void mark(const c10::IValue& v, Mask mask, Mask numbers) {
    for_each_tensor(v, [&](const at::Tensor& t) {
      if (!t.defined()) return;
      run_.largest = std::max(run_.largest, t.numel());
      const auto [it, fresh] = made_of_.try_emplace(t.unsafeGetTensorImpl());
      if (fresh) alive_.push_back(t);
      it->second.all |= mask;
      it->second.numbers |= numbers;
    });
  }

 private:
  struct Frame {
    std::unordered_map<const Value*, Cell> values;
    std::string path;
  };

  Mask mask_of(const Cell& c) const {
    Mask m = c.mask;
    for_each_tensor(c.value, [&](const at::Tensor& t) {
      const auto it = made_of_.find(t.unsafeGetTensorImpl());
      if (it != made_of_.end()) m |= it->second.all;
    });
    return m;
  }
  // Inputs whose numbers, and not only sizes, are in it.
  Mask numbers_of(const c10::IValue& v) const {
    Mask m = 0;
    for_each_tensor(v, [&](const at::Tensor& t) {
      const auto it = made_of_.find(t.unsafeGetTensorImpl());
      if (it != made_of_.end()) m |= it->second.numbers;
    });
    return m;
  }

  static const Cell& get(const Frame& f, const Value* v) { return f.values.at(v); }
  static void set(Frame& f, const Node* n, size_t i, c10::IValue v, Mask mask) {
    f.values[n->output(i)] = {std::move(v), mask};
  }

  std::vector<Cell> operands(const Node* n, const Frame& f) const {
    std::vector<Cell> in;
    in.reserve(n->inputs().size());
    for (const Value* v : n->inputs()) {
      Cell c = get(f, v);
      c.mask = mask_of(c);
      in.push_back(std::move(c));
    }
    return in;
  }

  [[noreturn]] void stop(const Node* n, const Frame& f, std::string message, bool limit = false) {
    Stop s;
    s.site = {n, counts_[n]};
    for (const Value* v : n->inputs()) {
      const auto it = f.values.find(v);
      s.operands.push_back(it == f.values.end() ? Cell{} : it->second);
      s.operands.back().mask = mask_of(s.operands.back());
    }
    s.message = std::move(message);
    s.origin = here(n);
    s.values = f.values;
    s.counts = counts_;
    s.limit = limit;
    s.usual_rank = usual_rank_;
    throw Stopped{std::move(s)};
  }

  // The author's line: calls inside PyTorch's own modules are named by the line that makes them.
  Origin here(const Node* n) {
    const std::string path = calls_.empty() ? "" : calls_.back().second;
    Origin o = *origins_.of(n, path);
    for (auto it = calls_.rbegin(); it != calls_.rend(); ++it) {
      if (o.line && o.file.find("torch/nn/") == std::string::npos) break;
      if (OriginPtr outer = origins_.of(it->first, path); outer->line) {
        const std::string op = o.op;
        o = *outer;
        o.op = op;
      }
    }
    return o;
  }

  // A method of a class of LibTorch's own, such as packed weights.
  static Cell native(torch::jit::Function& callee, const std::vector<Cell>& arguments) {
    torch::jit::Stack stack;
    Mask mask = 0;
    for (const Cell& c : arguments) {
      stack.push_back(c.value);
      mask |= c.mask;
    }
    callee.run(stack);
    return {stack.empty() ? c10::IValue() : stack.back(), mask};
  }

  Cell function(torch::jit::Function& callee, const std::vector<Cell>& arguments, Frame& frame) {
    auto* code = torch::jit::tryToGraphFunction(callee);
    if (!code) return native(callee, arguments);
    code->ensure_defined();
    const Block* block = code->graph()->block();
    for (size_t i = 0; i < block->inputs().size(); ++i)
      frame.values[block->inputs()[i]] =
          i < arguments.size() ? arguments[i]
                               : Cell{callee.getSchema().arguments()[i].default_value().value(), 0};
    run_block(block, frame);
    return get(frame, block->outputs().at(0));
  }

  void run_block(const Block* b, Frame& f) {
    for (const Node* n : b->nodes()) {
      const int64_t nth = ++counts_[n];
      if (++run_.steps > limits_.steps) stop(n, f, "it does not end", true);
      if (watch_.node == n && watch_.nth == nth) {
        run_.seen = operands(n, f);
        throw Seen{};
      }
      run_node(n, f);
    }
  }

  void run_node(const Node* n, Frame& f) {
    const c10::Symbol kind = n->kind();
    if (kind == prim::Constant) return constant(n, f);
    if (kind == prim::GetAttr) return attribute(n, f);
    if (kind == prim::SetAttr) {
      const Cell object = get(f, n->input(0)), value = get(f, n->input(1));
      slots_[{object.value.toObject().get(), n->s(c10::attr::name)}] = {value.value,
                                                                        mask_of(value)};
      return;
    }
    if (kind == prim::CreateObject) {
      const auto type = n->output()->type()->expect<c10::ClassType>();
      return set(f, n, 0,
                 c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type),
                                             type->numAttributes()),
                 0);
    }
    if (kind == prim::If) return branch(n, f);
    if (kind == prim::Loop) return loop(n, f);
    if (kind == prim::CallMethod || kind == prim::CallFunction) return call(n, f);
    if (kind == prim::RaiseException) {
      const c10::IValue& message = get(f, n->input(0)).value;
      stop(n, f, message.isString() ? message.toStringRef() : "an exception");
    }
    if (kind == prim::TupleConstruct || kind == prim::ListConstruct || kind == prim::DictConstruct)
      return construct(n, f);
    if (kind == prim::TupleUnpack || kind == prim::ListUnpack) return unpack(n, f);
    if (kind == prim::unchecked_cast || kind == prim::unchecked_unwrap_optional ||
        kind == symbol("aten::wait"))
      return pass(n, f);
    if (kind == prim::isinstance) {
      const Cell& c = get(f, n->input());
      bool is = false;
      for (const c10::TypePtr& t : n->tys(c10::attr::types))
        is = is || c.value.type()->isSubtypeOf(*t);
      return set(f, n, 0, is, c.mask);
    }
    if (kind == prim::Uninitialized || kind == prim::Print || kind == prim::Enter ||
        kind == prim::Exit || kind == symbol("aten::warn")) {
      for (size_t i = 0; i < n->outputs().size(); ++i) set(f, n, i, {}, 0);
      return;
    }
    if (kind == prim::fork) {
      const auto graph = n->g(c10::attr::Subgraph);
      Frame inner;
      inner.path = f.path;
      for (size_t i = 0; i < n->inputs().size(); ++i)
        inner.values[graph->inputs()[i]] = get(f, n->input(i));
      run_block(graph->block(), inner);
      f.values[n->output()] = get(inner, graph->outputs().at(0));
      return;
    }
    if (kind == symbol("prim::device")) return set(f, n, 0, c10::Device(c10::kCPU), 0);
    if (kind == symbol("aten::cpu")) return pass(n, f);
    run_operation(n, f);
  }

  static void pass(const Node* n, Frame& f) {
    Cell c = get(f, n->input(0));
    f.values[n->output()] = std::move(c);
  }

  void constant(const Node* n, Frame& f) {
    if (n->output()->type()->kind() == c10::TypeKind::FunctionType) return set(f, n, 0, {}, 0);
    set(f, n, 0, copy(torch::jit::toIValue(n->output()).value_or(c10::IValue())), 0);
  }

  // A value of the model: what the run writes into it must not stay.
  c10::IValue copy(const c10::IValue& v) {
    if (v.isGenericDict()) {
      const auto d = v.toGenericDict();
      c10::impl::GenericDict out(d.keyType(), d.valueType());
      for (const auto& e : d) out.insert(e.key(), copy(e.value()));
      return out;
    }
    if (v.isList()) {
      c10::impl::GenericList out(v.toList().elementType());
      for (const c10::IValue& e : v.toListRef()) out.push_back(copy(e));
      return out;
    }
    return map_tensors(v, [&](const at::Tensor& t) { return own(t); });
  }

  at::Tensor own(const at::Tensor& t) {
    if (!t.defined() || t.layout() != c10::kStrided) return t;
    at::Tensor& known = tensors_[t.unsafeGetTensorImpl()];
    if (!known.defined()) {
      if (!limits_.computed && t.numel() > kComputed) {
        known = shadow(t);
      } else {
        known = t.detach().clone().to(at::kCPU);
        if (t.requires_grad()) known.set_requires_grad(true);
      }
    }
    return known;
  }

  void attribute(const Node* n, Frame& f) {
    const c10::IValue object = get(f, n->input()).value;
    const std::string& name = n->s(c10::attr::name);
    auto* o = object.toObject().get();
    Cell& slot = slots_[{o, name}];
    if (slot.value.isNone()) {
      const c10::IValue v = o->getAttr(name);
      slot.value = copy(v);
      if (v.isObject()) {
        const std::string& outer = paths_[o];
        paths_[v.toObject().get()] = outer.empty() ? name : outer + "." + name;
      }
    }
    f.values[n->output()] = slot;
  }

  void branch(const Node* n, Frame& f) {
    const Cell c = get(f, n->input());
    const Block* taken = n->blocks()[c.value.toBool() ? 0 : 1];
    run_block(taken, f);
    for (size_t i = 0; i < n->outputs().size(); ++i) {
      Cell out = get(f, taken->outputs()[i]);
      out.mask |= out.value.isTensor() ? 0 : c.mask;
      f.values[n->output(i)] = std::move(out);
    }
  }

  void loop(const Node* n, Frame& f) {
    const Block* body = n->blocks()[0];
    const int64_t trips = get(f, n->input(0)).value.toInt();
    bool going = get(f, n->input(1)).value.toBool();
    std::vector<Cell> carried;
    for (size_t i = 2; i < n->inputs().size(); ++i) carried.push_back(get(f, n->input(i)));
    const Mask counter = get(f, n->input(0)).mask;
    for (int64_t i = 0; i < trips && going; ++i) {
      f.values[body->inputs()[0]] = {i, counter};
      for (size_t k = 0; k < carried.size(); ++k) f.values[body->inputs()[k + 1]] = carried[k];
      run_block(body, f);
      if (++run_.steps > limits_.steps) stop(n, f, "the loop does not end", true);
      going = get(f, body->outputs()[0]).value.toBool();
      for (size_t k = 0; k < carried.size(); ++k) carried[k] = get(f, body->outputs()[k + 1]);
    }
    for (size_t k = 0; k < carried.size(); ++k) f.values[n->output(k)] = carried[k];
  }

  void call(const Node* n, Frame& f) {
    if (calls_.size() > 500) stop(n, f, "calls nest too deeply", true);
    std::vector<Cell> arguments;
    for (const Value* v : n->inputs()) arguments.push_back(get(f, v));
    torch::jit::Function* callee = nullptr;
    Frame frame;
    frame.path = f.path;
    if (n->kind() == prim::CallFunction) {
      callee = n->input(0)->type()->expect<c10::FunctionType>()->function();
      arguments.erase(arguments.begin());
    } else {
      const auto object = arguments[0].value.toObject();
      callee = &object->type()->getMethod(n->s(c10::attr::name));
      if (const auto it = paths_.find(object.get()); it != paths_.end()) frame.path = it->second;
    }
    calls_.emplace_back(n, frame.path);
    Cell result = function(*callee, arguments, frame);
    calls_.pop_back();
    f.values[n->output()] = std::move(result);
  }

  void construct(const Node* n, Frame& f) {
    const std::vector<Cell> in = operands(n, f);
    Mask mask = 0;
    std::vector<c10::IValue> values;
    for (const Cell& c : in) {
      values.push_back(c.value);
      mask |= c.mask;
    }
    const c10::TypePtr type = n->output()->type();
    if (n->kind() == prim::TupleConstruct)
      return set(f, n, 0,
                 c10::ivalue::Tuple::createNamed(std::move(values), type->expect<c10::TupleType>()),
                 mask);
    if (n->kind() == prim::ListConstruct) {
      c10::impl::GenericList list(type->expectRef<c10::ListType>().getElementType());
      for (c10::IValue& v : values) list.push_back(std::move(v));
      return set(f, n, 0, std::move(list), mask);
    }
    const auto& t = type->expectRef<c10::DictType>();
    c10::impl::GenericDict dict(t.getKeyType(), t.getValueType());
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      dict.insert_or_assign(values[i], values[i + 1]);
    set(f, n, 0, std::move(dict), mask);
  }

  void unpack(const Node* n, Frame& f) {
    const Cell in = get(f, n->input());
    const std::vector<c10::IValue> elements =
        in.value.isTuple() ? in.value.toTupleRef().elements().vec() : in.value.toListRef().vec();
    if (elements.size() != n->outputs().size())
      stop(n, f,
           "Expected " + std::to_string(n->outputs().size()) + " elements in a list but found " +
               std::to_string(elements.size()));
    for (size_t i = 0; i < elements.size(); ++i) set(f, n, i, elements[i], in.mask);
  }

  void run_operation(const Node* n, Frame& f) {
    const torch::jit::Operator* op = n->maybeOperator();
    if (!op) stop(n, f, std::string("no operator ") + n->kind().toQualString());
    Mask mask = 0, numbers = 0;
    torch::jit::Stack stack;
    for (const Value* v : n->inputs()) {
      const Cell& c = get(f, v);
      mask |= mask_of(c);
      numbers |= numbers_of(c.value);
      stack.push_back(c.value);
    }
    if (op->schema().is_vararg()) stack.emplace_back(static_cast<int64_t>(n->inputs().size()));
    const std::string name = n->kind().toQualString();
    note_choices(name, n, f, stack);
    note_bytes(name, stack);
    note_recurrent(name, n, f, stack);
    prefer_batches(name, n, f, stack);
    note_operator(name);
    try {
      if (limits_.computed)
        op->getOperation()(stack);
      else
        run_operator(*op, stack);
    } catch (const std::exception& e) {
      stop(n, f, torch_io::message_of(e));
    }
    for (const c10::IValue& v : stack) mark(v, mask, numbers);
    // What was put into a list, or into an attribute of an object, stays there.
    if (!n->inputs().empty() && !get(f, n->input(0)).value.isTensor() &&
        (get(f, n->input(0)).value.isList() || get(f, n->input(0)).value.isGenericDict()))
      f.values[n->input(0)].mask |= mask;
    for (size_t i = 0; i < n->outputs().size() && i < stack.size(); ++i)
      set(f, n, i, std::move(stack[i]), mask);
  }

  void note_choices(const std::string& name, const Node* n, const Frame& f,
                    const torch::jit::Stack& stack) {
    const std::optional<Choosing> c = choosing(name, stack);
    if (!c) return;
    if (const Mask mask = numbers_of(get(f, n->input(c->index)).value))
      run_.choices.push_back({mask, c->count, here(n)});
  }

  // x.float() / 255
  void note_bytes(const std::string& name, const torch::jit::Stack& stack) {
    if (stack.empty() || !stack[0].isTensor() || !stack[0].toTensor().defined()) return;
    if (name == "aten::to" || name == "aten::float" || name == "aten::type_as") {
      if (inputs_.contains(stack[0].toTensor().unsafeGetTensorImpl()))
        converted_ |= numbers_of(stack[0]);
    } else if ((name == "aten::div" || name == "aten::div_") && stack.size() > 1) {
      if (number_in(stack[1]) == 255) run_.bytes |= numbers_of(stack[0]) & converted_;
    }
  }

  void note_recurrent(const std::string& name, const Node* n, const Frame& f,
                      const torch::jit::Stack& stack) {
    if (usual_rank(name) != 3 || name.find("1d") != std::string::npos) return;
    run_.recurrent |= mask_of(get(f, n->input(0)));
    if (!stack.empty() && stack.back().isBool()) run_.batch_first = stack.back().toBool();
  }

  void prefer_batches(const std::string& name, const Node* n, const Frame& f,
                      const torch::jit::Stack& stack) {
    const int64_t usual = usual_rank(name);
    if (!usual || stack.empty() || !stack[0].isTensor() || !stack[0].toTensor().defined() ||
        stack[0].toTensor().dim() != usual - 1 || !mask_of(get(f, n->input(0))) ||
        limits_.unbatched.contains(n))
      return;
    usual_rank_ = usual;
    stop(n, f, "takes a batch");
  }

  const Limits& limits_;
  const Site watch_;
  Run& run_;
  struct MadeOf {
    Mask all = 0, numbers = 0;
  };
  std::unordered_map<const c10::TensorImpl*, MadeOf> made_of_;
  std::vector<at::Tensor> alive_;  // an address stands for one tensor
  std::map<std::pair<const c10::ivalue::Object*, std::string>, Cell> slots_;
  std::unordered_map<const c10::ivalue::Object*, std::string> paths_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> tensors_;
  std::vector<std::pair<const Node*, std::string>> calls_;
  torch_io::Origins origins_;
  std::unordered_map<const Node*, int64_t> counts_;
  std::set<const c10::TensorImpl*> inputs_;  // as they are
  Mask converted_ = 0;                       // inputs that are converted first of all
  int64_t usual_rank_ = 0;
};

}  // namespace

std::string place_in(const Origin& o) {
  return o.line ? ", " + o.file + ":" + std::to_string(o.line) : "";
}

std::string who(const Stop& s) {
  const std::string op = s.site.node->kind().toUnqualString();
  const std::string& path = s.origin.module_path;
  return path.empty() ? op : path + " (" + op + ")";
}

std::string describe(const Stop& s) { return who(s) + place_in(s.origin); }

Run run_shapes(const torch_io::Loaded& m, const Arguments& arguments, const Limits& limits,
               const Site& watch) {
  register_meta_kernels();
  Run run;
  Interpreter interpreter(limits, watch, run);
  const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset);
  try {
    run.result = interpreter.call(m, arguments);
  } catch (Stopped& s) {
    run.stop = std::move(s.stop);
  } catch (const Seen&) {
  }
  return run;
}

}  // namespace oe::infer
