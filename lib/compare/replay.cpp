// A program run by LibTorch, node by node.
#include "lib/compare/replay.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <functional>
#include <set>
#include <unordered_map>

#include "lib/capture/operators/operators.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/convert.h"

namespace oe::capture {
namespace {

using program::Arg;
using program::Args;
using program::Block;
using program::Node;
using program::Value;

// A 0-d tensor that stands for a number of the program.
c10::IValue as_number(const at::Tensor& t, program::Type::Kind kind) {
  if (kind == program::Type::Kind::Int) return t.item<int64_t>();
  if (kind == program::Type::Kind::Bool) return t.item<bool>();
  return t.item<double>();
}

bool is_number(const c10::IValue& v) { return v.isInt() || v.isDouble() || v.isBool(); }

// Null where it is neither a tensor nor a number.
TensorPtr host(const c10::IValue& v) {
  if (is_number(v)) return torch_io::to_host(torch_io::number_tensor(v));
  return v.isTensor() && v.toTensor().defined() ? torch_io::to_host(v.toTensor()) : nullptr;
}

c10::TypePtr libtorch_type(const program::Type& t) {
  using Kind = program::Type::Kind;
  switch (t.kind) {
    case Kind::Tensor:
      return c10::TensorType::get();
    case Kind::Int:
      return c10::IntType::get();
    case Kind::Float:
      return c10::FloatType::get();
    case Kind::Bool:
      return c10::BoolType::get();
    case Kind::String:
      return c10::StringType::get();
    case Kind::List:
      return c10::ListType::create(libtorch_type(*t.element));
    case Kind::Optional:
      return c10::OptionalType::create(libtorch_type(*t.element));
    case Kind::None:
      return c10::NoneType::get();
  }
  return c10::AnyType::get();
}

class Replay {
 public:
  Replay(const Block& wanted, size_t most)
      : wanted_(wanted), outside_(outside_values(wanted)), most_(most) {}

  std::vector<BlockRun> runs;

  // The program's body, or a branch or an iteration.
  void run(const Block& b) {
    BlockRun* const mine = &b == &wanted_ && runs.size() < most_ ? &runs.emplace_back() : nullptr;
    const size_t at = runs.size() - 1;  // the block may run itself again below
    if (mine)
      for (const Value* v : outside_)
        if (const auto it = values_.find(v); it != values_.end())
          if (TensorPtr t = host(it->second)) mine->outside[v] = std::move(t);
    for (const auto& n : b.nodes) {
      run(*n);
      if (!mine) continue;
      for (const Value* v : n->outputs)
        if (TensorPtr t = host(values_.at(v))) runs[at].steps.push_back({n.get(), v, std::move(t)});
    }
  }
  void set(const Value* v, const TensorPtr& t) {
    const at::Tensor tensor = torch_io::from_host(*t);
    values_[v] = v->type.is_number() ? as_number(tensor, v->type.kind) : c10::IValue(tensor);
  }
  const c10::IValue& at(const Value* v) {
    if (auto it = values_.find(v); it != values_.end()) return it->second;
    if (!v->constant) throw std::runtime_error("a value was not computed");
    return values_[v] = torch_io::from_host(*v->constant);
  }

  void run(const Node& n) {
    if (n.op == "prim::If") return branch(n);
    if (n.op == "prim::Loop") return loop(n);
    if (n.op == "prim::ListConstruct") {
      const c10::TypePtr element = libtorch_type(*n.outputs[0]->type.element);
      c10::impl::GenericList list(element);
      for (const Arg& a : n.args) list.push_back(value(a, element));
      values_[n.outputs[0]] = list;
      return;
    }
    if (n.op == "prim::of_rank" || n.op == "prim::Optional") {
      values_[n.outputs[0]] =
          n.args.empty() ? c10::IValue() : value(n.args[0], c10::AnyType::get());
      return;
    }
    const OpInfo& op = operators_.named(n.op);
    torch::jit::Stack stack;
    const auto& parameters = op.schema->arguments();
    for (size_t i = 0; i < parameters.size(); ++i)
      stack.push_back(i < n.args.size() ? value(n.args[i], parameters[i].real_type())
                                        : parameters[i].default_value().value_or(c10::IValue()));
    op.op->getOperation()(stack);
    // A list of known length is as many values.
    const bool one_list =
        n.outputs.size() == 1 && n.outputs[0]->type.kind == program::Type::Kind::List;
    if (stack.size() == 1 && stack[0].isTensorList() && !one_list) {
      const auto list = stack[0].toTensorVector();
      stack.assign(list.begin(), list.end());
    }
    if (stack.size() < n.outputs.size()) throw std::runtime_error("too few results");
    for (size_t i = 0; i < n.outputs.size(); ++i) values_[n.outputs[i]] = std::move(stack[i]);
  }

 private:
  Operators operators_;

  // The argument in the form that a parameter of type `t` takes.
  c10::IValue value(const Arg& a, const c10::TypePtr& t) {
    if (const auto optional = t->cast<c10::OptionalType>())
      return a.is_none() ? c10::IValue() : value(a, optional->getElementType());
    if (auto* v = a.value()) return at(v);
    if (auto* i = std::get_if<int64_t>(&a.v))
      return t->kind() == c10::TypeKind::FloatType  ? c10::IValue(static_cast<double>(*i))
             : t->kind() == c10::TypeKind::BoolType ? c10::IValue(*i != 0)
                                                    : c10::IValue(*i);
    if (auto* d = std::get_if<double>(&a.v)) return *d;
    if (auto* b = std::get_if<bool>(&a.v)) return *b;
    if (auto* s = std::get_if<std::string>(&a.v))
      return t->kind() == c10::TypeKind::DeviceObjType ? c10::IValue(c10::Device(*s))
                                                       : c10::IValue(*s);
    const auto* items = std::get_if<Args>(&a.v);
    if (!items) return {};
    const auto type = t->cast<c10::ListType>();
    const c10::TypePtr element = type ? type->getElementType() : c10::AnyType::get();
    c10::impl::GenericList list(element);
    for (const Arg& item : *items) list.push_back(value(item, element));
    return list;
  }

  std::vector<c10::IValue> block(const Block& b, std::vector<c10::IValue> params) {
    for (size_t i = 0; i < params.size(); ++i) values_[b.params[i]] = std::move(params[i]);
    run(b);
    std::vector<c10::IValue> out;
    for (const Arg& a : b.returns) out.push_back(value(a, c10::AnyType::get()));
    return out;
  }
  void branch(const Node& n) {
    const bool taken = value(n.args[0], c10::BoolType::get()).toBool();
    auto out = block(*n.blocks[taken ? 0 : 1], {});
    for (size_t i = 0; i < n.outputs.size(); ++i) values_[n.outputs[i]] = std::move(out[i]);
  }
  void loop(const Node& n) {
    const int64_t trips = value(n.args[0], c10::IntType::get()).toInt();
    bool go = value(n.args[1], c10::BoolType::get()).toBool();
    std::vector<c10::IValue> carried;
    for (size_t i = 2; i < n.args.size(); ++i)
      carried.push_back(value(n.args[i], c10::AnyType::get()));
    for (int64_t i = 0; i < trips && go; ++i) {
      std::vector<c10::IValue> params = {i};
      params.insert(params.end(), carried.begin(), carried.end());
      auto out = block(*n.blocks[0], std::move(params));
      go = out[0].toBool();
      carried.assign(out.begin() + 1, out.end());
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) values_[n.outputs[i]] = carried.at(i);
  }

  std::unordered_map<const Value*, c10::IValue> values_;
  const Block& wanted_;
  std::vector<Value*> outside_;
  size_t most_;
};

void add_uses(const Block& b, const std::function<void(Value*)>& use);
void add_uses(const Args& args, const std::function<void(Value*)>& use) {
  for (const Arg& a : args) {
    if (a.value()) use(a.value());
    if (const auto* items = std::get_if<Args>(&a.v)) add_uses(*items, use);
  }
}
void add_uses(const Block& b, const std::function<void(Value*)>& use) {
  for (const auto& n : b.nodes) {
    add_uses(n->args, use);
    for (const auto& inner : n->blocks) add_uses(*inner, use);
  }
  add_uses(b.returns, use);
}
void add_made(const Block& b, std::set<const Value*>& made) {
  made.insert(b.params.begin(), b.params.end());
  for (const auto& n : b.nodes) {
    made.insert(n->outputs.begin(), n->outputs.end());
    for (const auto& inner : n->blocks) add_made(*inner, made);
  }
}

}  // namespace

std::vector<Value*> outside_values(const Block& b) {
  std::vector<Value*> found = b.params;
  std::set<const Value*> made;
  add_made(b, made);
  add_uses(b, [&](Value* v) {
    if (!v->constant && made.insert(v).second) found.push_back(v);
  });
  return found;
}

std::vector<BlockRun> replay(const program::Program& p, const std::vector<TensorPtr>& inputs,
                             const Block& block, size_t most) {
  const c10::AutoGradMode no_grad(false);
  Replay r(block, most);
  try {
    for (size_t i = 0; i < p.inputs.size(); ++i) r.set(p.inputs[i].value.value(), inputs.at(i));
    r.run(p.body);
  } catch (const Failure&) {
  } catch (const std::exception&) {
  }
  return std::move(r.runs);
}

}  // namespace oe::capture
