// A program run by LibTorch, node by node.
#include "lib/capture/replay.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <unordered_map>

#include "lib/capture/operators.h"
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

class Replay {
 public:
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
    if (stack.size() == 1 && stack[0].isTensorList() && n.outputs.size() != 1) {
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
    for (const auto& n : b.nodes) run(*n);
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
};

}  // namespace

std::vector<Replayed> replay(const program::Program& p, const std::vector<TensorPtr>& inputs) {
  const c10::AutoGradMode no_grad(false);
  std::vector<Replayed> out;
  Replay r;
  try {
    for (size_t i = 0; i < p.inputs.size(); ++i) r.set(p.inputs[i].value.value(), inputs.at(i));
    for (const auto& n : p.body.nodes) {
      r.run(*n);
      for (const Value* v : n->outputs) {
        const c10::IValue& now = r.at(v);
        const bool number = now.isInt() || now.isDouble() || now.isBool();
        if (number || (now.isTensor() && now.toTensor().defined()))
          out.push_back(
              {n.get(), v,
               torch_io::to_host(number ? torch_io::number_tensor(now) : now.toTensor())});
      }
    }
  } catch (const Failure&) {
  } catch (const std::exception&) {
  }
  return out;
}

}  // namespace oe::capture
