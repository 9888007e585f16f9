// The last run of a reference once more, by a copy of the module: in another type of float, with
// other kernels, or line by line.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/torch/convert.h"
#include "lib/torch/copies.h"
#include "lib/torch/reference.h"
#include "lib/torch/runtime.h"
#include "lib/torch/state.h"

namespace oe::torch_io {
namespace {

using Change = std::function<at::Tensor(const at::Tensor&)>;  // of a tensor of floats

c10::IValue changed(const c10::IValue& v, const Change& change) {
  if (v.isTensor()) return v.toTensor().is_floating_point() ? change(v.toTensor()) : v.toTensor();
  if (v.isTuple()) {
    std::vector<c10::IValue> items;
    for (const c10::IValue& e : v.toTupleRef().elements()) items.push_back(changed(e, change));
    const auto tuple = v.type()->expect<c10::TupleType>();
    return tuple->schema() ? c10::ivalue::Tuple::createNamed(std::move(items), tuple)
                           : c10::ivalue::Tuple::create(std::move(items));
  }
  if (v.isList()) {
    c10::impl::GenericList list(v.toList().elementType());
    for (const c10::IValue& e : v.toListRef()) list.push_back(changed(e, change));
    return list;
  }
  if (v.isGenericDict()) {
    const auto dict = v.toGenericDict();
    c10::impl::GenericDict out(dict.keyType(), dict.valueType());
    for (const auto& e : dict) out.insert(e.key(), changed(e.value(), change));
    return out;
  }
  return v;
}

std::vector<c10::IValue> changed(const std::vector<c10::IValue>& values, const Change& change) {
  std::vector<c10::IValue> out;
  for (const c10::IValue& v : values) out.push_back(changed(v, change));
  return out;
}

// Module::to() converts the integers too, which are indices then.
void change_floats(const torch::jit::Module& m, const Change& change) {
  for (const c10::IValue& v : m.attributes())
    if (v.isTensor() && v.toTensor().defined() && v.toTensor().is_floating_point())
      v.toTensor().set_data(change(v.toTensor()));
}

Change to_type(DType type) {
  return [to = to_scalar_type(type)](const at::Tensor& t) { return t.to(to); };
}

// The next number up or down. Whole numbers stay: they are counts, or places, and what rounds them
// would see a whole step.
Change nudge(uint64_t seed) {
  return [draw = at::detail::createCPUGenerator(seed)](const at::Tensor& t) {
    if (t.scalar_type() != at::kFloat && t.scalar_type() != at::kDouble) return t;
    const at::Tensor values = t.detach();
    const at::Tensor end = at::where(at::rand(t.sizes(), draw).lt(0.5), -INFINITY, INFINITY);
    return at::where(values.eq(at::round(values)), values,
                     at::nextafter(values, end.to(values.options())));
  };
}

// Eight units up, or down: as far off as an operator's own sums may be. Whole numbers stay here
// too.
Change shift(bool up) {
  return [up](const at::Tensor& t) {
    if (t.scalar_type() != at::kFloat && t.scalar_type() != at::kDouble) return t;
    const double units = t.scalar_type() == at::kFloat ? 0x1p-20 : 0x1p-49;
    const at::Tensor values = t.detach();
    return at::where(values.eq(at::round(values)), values, values.mul(up ? 1 + units : 1 - units));
  };
}

// Runs the code itself: the passes that LibTorch's executor begins with are left out.
c10::IValue interpreted(torch::jit::Module& m, const std::string& method,
                        const std::vector<c10::IValue>& arguments,
                        const std::function<void(torch::jit::Graph&)>& change) {
  torch::jit::Function& function = m.get_method(method).function();
  const auto graph = torch::jit::toGraphFunction(function).graph()->copy();
  torch::jit::Inline(*graph);  // else what it calls is optimised
  change(*graph);
  torch::jit::Stack stack{m._ivalue()};
  for (const c10::IValue& a : arguments) stack.push_back(deep_copy(a));
  function.getSchema().checkAndNormalizeInputs(stack);
  const torch::jit::Code code(graph, method);
  torch::jit::InterpreterState(code).run(stack);
  return stack.back();
}

// The change that onnx_export::nudged makes, while one is made.
Change change_of_results;
struct Changing {
  explicit Changing(Change change) { change_of_results = std::move(change); }
  ~Changing() { change_of_results = {}; }
};

// What operators give, as far as it is memory of their own, goes through onnx_export::nudged.
void change_results(torch::jit::Block* block) {
  static const c10::Symbol nudged = c10::Symbol::fromQualString("onnx_export::nudged");
  static const torch::jit::Operation run = [](torch::jit::Stack& stack) {
    stack.back() = changed(stack.back(), change_of_results);
  };
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      "onnx_export::nudged(Tensor x) -> Tensor", run, c10::AliasAnalysisKind::PURE_FUNCTION)});
  for (torch::jit::Node* n : block->nodes()) {
    for (torch::jit::Block* inner : n->blocks()) change_results(inner);
    const c10::FunctionSchema* schema = n->maybeSchema();
    if (!schema || schema->is_mutable() || n->kind() == nudged) continue;
    if (schema->returns().size() != n->outputs().size()) continue;
    for (size_t i = 0; i < n->outputs().size(); ++i) {
      torch::jit::Value* v = n->output(i);
      if (schema->returns()[i].alias_info() || v->type()->kind() != c10::TypeKind::TensorType)
        continue;
      torch::jit::Node* after = block->owningGraph()->create(nudged, {v});
      after->insertAfter(n);
      v->replaceAllUsesAfterNodeWith(after, after->output());
    }
  }
}

// As module(x) is called.
auto by_executor(const std::string& method) {
  return [&method](torch::jit::Module& m, std::vector<c10::IValue> arguments) {
    return m.get_method(method)(std::move(arguments));
  };
}

// float64 where the code says float32: `x.float()`, `torch.zeros(n, dtype=torch.float32)`, and the
// tensors that it holds.
void widen_constants(torch::jit::Block* block) {
  for (torch::jit::Node* n : block->nodes()) {
    for (torch::jit::Block* inner : n->blocks()) widen_constants(inner);
    if (n->kind() == c10::prim::Constant && n->hasAttribute(c10::attr::value) &&
        n->kindOf(c10::attr::value) == torch::jit::AttributeKind::t &&
        n->t(c10::attr::value).scalar_type() == at::kFloat)
      n->t_(c10::attr::value, n->t(c10::attr::value).to(at::kDouble));
    const c10::FunctionSchema* schema = n->maybeSchema();
    for (size_t i = 0; schema && i < schema->arguments().size() && i < n->inputs().size(); ++i) {
      const auto given = torch::jit::toIValue(n->input(i));
      if (schema->arguments()[i].name() != "dtype" || !given || !given->isInt() ||
          given->toInt() != static_cast<int64_t>(at::kFloat))
        continue;
      const torch::jit::WithInsertPoint before(n);
      n->replaceInput(i, block->owningGraph()->insertConstant(static_cast<int64_t>(at::kDouble)));
    }
  }
}

}  // namespace

std::vector<HostValue> Reference::again(
    const Form& form, const std::vector<c10::IValue>& arguments,
    const std::function<c10::IValue(torch::jit::Module&, std::vector<c10::IValue>)>& call,
    const std::function<at::Tensor(const at::Tensor&)>& change) {
  try {
    restore_constants();
    torch::jit::Module copy = module_.module.deepcopy();  // packs quantized weights anew
    if (change) change_floats(copy, change);
    set_state(copy, last_inputs_, arguments);
    return flatten(call(copy, own_arguments(last_inputs_, arguments)), form.results, copy);
  } catch (const std::exception& e) {
    throw std::runtime_error(message_of(e));
  }
}

std::vector<HostValue> Reference::last_in(DType type, const Form& form) {
  const std::vector<c10::IValue> arguments = changed(last_arguments_, to_type(type));
  const auto widened = [&](torch::jit::Module& m, const std::vector<c10::IValue>& own) {
    return interpreted(m, module_.method, own,
                       [](torch::jit::Graph& g) { widen_constants(g.block()); });
  };
  if (type == DType::Double) try {
      struct Default {  // of what the code makes without a type
        caffe2::TypeMeta before = c10::get_default_dtype();
        Default() { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
        ~Default() { c10::set_default_dtype(before); }
      } in_double;
      return again(form, arguments, widened, to_type(type));
    } catch (const std::runtime_error&) {  // it may want the type that it names
    }
  return again(form, arguments, by_executor(module_.method), to_type(type));
}

std::vector<HostValue> Reference::last_by_qnnpack(const Form& form) {
  at::Context& context = at::globalContext();
  const auto& engines = at::Context::supportedQEngines();
  if (std::ranges::find(engines, at::QEngine::QNNPACK) == engines.end())
    throw std::runtime_error("LibTorch was built without QNNPACK");
  struct Engine {
    at::Context& context;
    at::QEngine before;
    ~Engine() { context.setQEngine(before); }
  } engine{context, context.qEngine()};
  context.setQEngine(at::QEngine::QNNPACK);
  return again(form, last_arguments_, by_executor(module_.method));
}

std::vector<HostValue> Reference::last_rounded_otherwise(const Form& form, uint64_t nudged) {
  struct Kernels {
    at::Context& context = at::globalContext();
    bool before = context.userEnabledMkldnn();
    ~Kernels() { context.setUserEnabledMkldnn(before); }
  } kernels;
  kernels.context.setUserEnabledMkldnn(false);
  if (nudged == 0) return again(form, last_arguments_, by_executor(module_.method));
  if (nudged < kResultsUp) {
    const Change change = nudge(nudged);
    return again(form, changed(last_arguments_, change), by_executor(module_.method), change);
  }
  const auto everywhere = [&](torch::jit::Module& m, const std::vector<c10::IValue>& own) {
    const Changing now(shift(nudged == kResultsUp));
    return interpreted(m, module_.method, own,
                       [](torch::jit::Graph& g) { change_results(g.block()); });
  };
  return again(form, last_arguments_, everywhere);
}

std::vector<HostValue> Reference::last_as_written(const Form& form) {
  return again(form, last_arguments_,
               [&](torch::jit::Module& m, const std::vector<c10::IValue>& own) {
                 return interpreted(m, module_.method, own, [](torch::jit::Graph&) {});
               });
}

}  // namespace oe::torch_io
