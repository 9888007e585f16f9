// What a log of calls did, as TorchScript that can run again.
#include "lib/capture/gradients/gradient_code.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "lib/capture/gradients/gradient_walk.h"
#include "lib/torch/devices.h"

namespace oe::capture {

using JitGraph = torch::jit::Graph;

namespace {

struct BodyName : torch::jit::NativeResolver {
  torch::jit::Function* body = nullptr;
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& f,
      const torch::jit::SourceRange& at) override {
    if (name == "_body") return std::make_shared<torch::jit::FunctionValue>(body);
    return NativeResolver::resolveValue(name, f, at);
  }
};

}  // namespace

torch::jit::Function& function_of(const std::shared_ptr<JitGraph>& body, const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<torch::jit::CompilationUnit>> made;
  const std::scoped_lock lock(mutex);
  auto& unit = made[body->toString(false) + text];
  if (!unit) {
    unit = std::make_shared<torch::jit::CompilationUnit>();
    const auto names = std::make_shared<BodyName>();
    names->body = unit->create_function(c10::QualifiedName("_body"), body);
    if (!text.empty()) unit->define(std::nullopt, text, names, nullptr);
    torch_io::allocate_on_current(*unit);
  }
  return unit->get_function(c10::QualifiedName(text.empty() ? "_body" : "loop"));
}

c10::TypePtr type_in_code(const AbstractValue& s) {
  switch (s.kind) {
    case K::Tensor:
      return c10::TensorType::get();
    case K::Int:
      return c10::IntType::get();
    case K::Float:
      return c10::FloatType::get();
    case K::Bool:
      return c10::BoolType::get();
    default:
      return nullptr;
  }
}

GradientCode::GradientCode(Executor& ex, std::function<bool(const GradientEntry&)> flows,
                           int first_value, int last_value)
    : ex_(ex),
      flows_(std::move(flows)),
      first_value_(first_value),
      last_value_(last_value),
      graph_(std::make_shared<JitGraph>()) {}

void GradientCode::refuse(const std::string& what) const {
  ex_.site.refuse(kNoGradient, "aten::grad: the gradient would go through a loop that has " + what,
                  "compute the part that is differentiated without it");
}

// What tells a value of the log from others; null: a constant number.
const void* GradientCode::key(const AbstractValue& s) const {
  if (!s.is(K::Tensor)) return s.taint == Taint::Constant ? nullptr : s.recorded;
  const TensorValuePtr t = ex_.views.read(s.tensor());
  if (t->recorded && t->taint != Taint::Constant) return t->recorded;
  return t->c.empty() ? nullptr : example(*t).unsafeGetTensorImpl();
}

void GradientCode::stands_for(const AbstractValue& s, JitValue* v) {
  if (const void* k = key(s)) made_[k] = v;
}

JitValue* GradientCode::add_parameter(const AbstractValue& s) {
  const c10::TypePtr type = type_in_code(s);
  if (!type) refuse("a value that is not a tensor or number");
  JitValue* v = graph_->addInput();
  v->setType(type);
  return v;
}

void GradientCode::parameter(const AbstractValue& s) { stands_for(s, add_parameter(s)); }

JitValue* GradientCode::list(const AbstractValue& s) {
  if (s.list()->is_open()) refuse("a list of unknown length");
  std::vector<JitValue*> items;
  for (const AbstractValue& e : s.list()->items) items.push_back(value(e));
  return graph_->insertNode(graph_->createList(s.list()->element, items))->output();
}

JitValue* GradientCode::value(const AbstractValue& s) {
  if (s.is(K::List)) return list(s);
  const void* k = key(s);
  for (const auto* known : {&made_, &taken_})
    if (const auto it = known->find(k); k && it != known->end()) return it->second;
  const bool fixed = !s.is(K::Tensor) && s.taint == Taint::Constant;
  if (fixed) {
    const auto v =
        torch::jit::tryInsertConstant(*graph_, s.is(K::None) ? c10::IValue() : s.c.at(0));
    if (!v) refuse("a constant that TorchScript cannot write");
    return *v;
  }
  const program::Value* recorded =
      s.is(K::Tensor) ? ex_.views.read(s.tensor())->recorded : s.recorded;
  if (recorded && !recorded->constant && recorded->id >= first_value_ && recorded->id < last_value_)
    refuse("random numbers or a list of unknown length");
  JitValue* v = add_parameter(s);
  outside_.push_back(s);
  if (k) taken_[k] = v;
  return v;
}

void GradientCode::call(const GradientEntry& e) {
  if (ex_.apply.is_random(*e.op, e.args)) return;  // other numbers would come: value() refuses
  std::vector<JitValue*> args;
  for (const AbstractValue& a : e.args) args.push_back(value(a));
  const auto& returns = e.op->schema->returns();
  torch::jit::Node* n = graph_->insertNode(
      graph_->create(c10::Symbol::fromQualString(e.op->base), args, returns.size()));
  for (size_t i = 0; i < returns.size(); ++i) n->output(i)->setType(returns[i].type());
  const torch::jit::Operator* found = n->maybeOperator();
  if (!found || found->schema().overload_name() != e.op->schema->overload_name())
    refuse(e.op->base);
  const bool cut = !flows_(e);
  const auto given = [&](const AbstractValue& s, JitValue* v) {
    const bool floats =
        s.is(K::Tensor) && c10::isFloatingType(example(*ex_.views.read(s.tensor())).scalar_type());
    stands_for(s, cut && floats ? graph_->insert(c10::aten::detach, {v}) : v);
  };
  if (e.out.size() == 1 && e.out[0].is(K::List)) {
    const std::vector<AbstractValue>& items = e.out[0].list()->items;
    torch::jit::Node* all = graph_->insertNode(graph_->createListUnpack(n->output(), items.size()));
    for (size_t i = 0; i < items.size(); ++i) given(items[i], all->output(i));
    return;
  }
  for (size_t i = 0; i < e.out.size(); ++i) given(e.out[i], n->output(i));
}

void GradientCode::branches(const GradientEntry& e) {
  const KeptIf& kept = *e.kept;
  torch::jit::Node* n = graph_->insertNode(graph_->create(c10::prim::If, {value(kept.cond)}, 0));
  for (size_t k = 0; k < 2; ++k) {
    const auto outer = made_;
    torch::jit::Block* block = n->addBlock();
    const torch::jit::WithInsertPoint inside(block);
    std::vector<AbstractValue> results;
    for (const KeptIf::Output& o : kept.outputs) results.push_back(o.in[k]);
    write(kept.logs[k], results);
    for (const AbstractValue& r : results) block->registerOutput(value(r));
    made_ = outer;
  }
  for (size_t i = 0; i < kept.outputs.size(); ++i) {
    JitValue* v = n->addOutput();
    v->setType(n->blocks()[0]->outputs()[i]->type());
    stands_for(kept.outputs[i].out, v);
  }
}

void GradientCode::loop(const GradientEntry& e) {
  const KeptLoop& kept = *e.loop;
  std::vector<JitValue*> args = {value(kept.trip), value(kept.cond)};
  for (const LoopPiece& p : kept.pieces) args.push_back(value(p.before));
  torch::jit::Node* n = graph_->insertNode(graph_->create(c10::prim::Loop, args, 0));
  torch::jit::Block* block = n->addBlock();
  const auto outer = made_;
  const auto input = [&](const AbstractValue& s) {
    JitValue* v = block->addInput();
    v->setType(type_in_code(s));
    stands_for(s, v);
  };
  input(kept.index);
  for (const LoopPiece& p : kept.pieces) input(p.param);
  {
    const torch::jit::WithInsertPoint inside(block);
    std::vector<AbstractValue> results = {kept.next};
    for (const LoopPiece& p : kept.pieces) results.push_back(p.end);
    write(kept.log, results);
    for (const AbstractValue& r : results) block->registerOutput(value(r));
  }
  made_ = outer;
  for (const LoopPiece& p : kept.pieces) {
    JitValue* v = n->addOutput();
    v->setType(type_in_code(p.after));
    stands_for(p.after, v);
  }
}

// The keys of what a call, and what is inside of it, takes.
void GradientCode::add_taken(const GradientEntry& e, Keys& keys) const {
  for (const AbstractValue& a : e.args) add_key(a, keys);
  if (e.kept) {
    for (const GradientLog& log : e.kept->logs)
      for (const GradientEntry& inner : log) add_taken(inner, keys);
    for (const KeptIf::Output& o : e.kept->outputs)
      for (const AbstractValue& in : o.in) add_key(in, keys);
  }
  if (e.loop) {
    for (const GradientEntry& inner : e.loop->log) add_taken(inner, keys);
    add_key(e.loop->next, keys);
    for (const LoopPiece& p : e.loop->pieces)
      for (const AbstractValue* s : {&p.before, &p.end}) add_key(*s, keys);
  }
}

void GradientCode::add_key(const AbstractValue& s, Keys& keys) const {
  if (s.is(K::List) && !s.list()->is_open()) {
    for (const AbstractValue& e : s.list()->items) add_key(e, keys);
  } else if (const void* k = key(s)) {
    keys.insert(k);
  }
}

void GradientCode::write(const GradientLog& log, const std::vector<AbstractValue>& results) {
  Keys wanted;
  for (const AbstractValue& r : results) add_key(r, wanted);
  std::vector<const GradientEntry*> needed;
  for (size_t i = log.size(); i-- > 0;) {
    Keys given;
    for (const AbstractValue& o : log[i].out) add_key(o, given);
    if (std::ranges::none_of(given, [&](const void* k) { return wanted.contains(k); })) continue;
    needed.push_back(&log[i]);
    add_taken(log[i], wanted);
  }
  for (size_t i = needed.size(); i-- > 0;) {
    const GradientEntry& e = *needed[i];
    e.kept ? branches(e) : e.loop ? loop(e) : call(e);
  }
}

std::shared_ptr<JitGraph> GradientCode::finish(const std::vector<AbstractValue>& results) {
  std::vector<JitValue*> values;
  values.reserve(results.size());
  for (const AbstractValue& r : results) values.push_back(value(r));
  graph_->registerOutput(graph_->insertNode(graph_->createTuple(values))->output());
  return graph_;
}

}  // namespace oe::capture
