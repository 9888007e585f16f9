// LibTorch's own results, for verification: the method run on inputs of any size and seed.
#include "lib/torch/reference.h"

#include <ATen/Context.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "lib/support/text.h"
#include "lib/support/trial.h"
#include "lib/torch/convert.h"
#include "lib/torch/copies.h"
#include "lib/torch/runtime.h"
#include "lib/torch/state.h"

namespace oe::torch_io {
namespace {

bool is_number(const c10::IValue& v) { return v.isInt() || v.isDouble() || v.isBool(); }

std::shared_ptr<torch::jit::Graph> inlined(const torch::jit::Function& method) {
  std::shared_ptr<torch::jit::Graph> graph = torch::jit::toGraphFunction(method).graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

}  // namespace

bool differentiates(const torch::jit::Function& method) {
  std::shared_ptr<torch::jit::Graph> graph = inlined(method);
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (const torch::jit::Node* n = nodes.next()) {
    const std::string kind = n->kind().toQualString();
    if (kind == "aten::grad" || kind == "aten::backward") return true;
  }
  return false;
}

struct Reference::Snapshot {
  struct Slot {
    c10::intrusive_ptr<c10::ivalue::Object> object;
    size_t index;
    c10::IValue value;  // the very value; containers as a copy
  };
  struct Buffer {
    at::Tensor tensor, content;
    int64_t version;
    static Buffer of(const at::Tensor& t) { return {t, t.clone(), t._version()}; }
    void restore() {
      if (tensor._version() == version) return;
      tensor.copy_(content);
      version = tensor._version();
    }
  };
  std::vector<Slot> slots;
  std::vector<Buffer> buffers, constants;

  void take(const c10::intrusive_ptr<c10::ivalue::Object>& object,
            std::unordered_set<const void*>& seen) {
    if (!seen.insert(object.get()).second) return;
    const auto type = object->type();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue v = object->getSlot(i);
      if (v.isObject()) {
        take(v.toObject(), seen);
        continue;
      }
      const bool container = v.isList() || v.isGenericDict() || v.isTuple();
      slots.push_back({object, i, container ? v.deepcopy() : v});
      // Parameters are not written by inference, and may be most of the memory.
      const bool parameter = type->is_module() && type->is_parameter(i);
      if (v.isTensor() && v.toTensor().defined() && !parameter)
        buffers.push_back(Buffer::of(v.toTensor()));
    }
  }

  // Constants of the code that it may write: LibTorch keeps what a call leaves in them.
  void take_constants(torch::jit::Function& method) {
    std::shared_ptr<torch::jit::Graph> graph = inlined(method);
    const torch::jit::AliasDb aliases(graph);
    torch::jit::DepthFirstGraphNodeIterator nodes(graph);
    while (const torch::jit::Node* n = nodes.next()) {
      if (n->kind() != c10::prim::Constant || !aliases.hasWriters(n->output())) continue;
      const auto v = torch::jit::toIValue(n->output());
      if (v && v->isTensor() && v->toTensor().defined())
        constants.push_back(Buffer::of(v->toTensor()));
    }
  }

  void restore() {
    const c10::AutoGradMode no_grad(false);
    for (Slot& s : slots) {
      const bool container = s.value.isList() || s.value.isGenericDict() || s.value.isTuple();
      s.object->setSlot(s.index, container ? s.value.deepcopy() : s.value);
    }
    for (Buffer& b : buffers) b.restore();
    restore_constants();
  }
  void restore_constants() {
    const c10::AutoGradMode no_grad(false);
    for (Buffer& b : constants) b.restore();
  }
};

Reference::Reference(const Loaded& m, std::vector<LeftOut> left_out)
    : module_(m), left_out_(std::move(left_out)), snapshot_(std::make_unique<Snapshot>()) {
  std::unordered_set<const void*> seen;
  snapshot_->take(m.module._ivalue(), seen);
  torch::jit::Function& method = m.module.get_method(m.method).function();
  snapshot_->take_constants(method);
  optimized_ = !differentiates(method);
}
Reference::~Reference() = default;

void Reference::restore_constants() { snapshot_->restore_constants(); }

std::vector<HostValue> Reference::call(const ExampleInputs& e,
                                       const std::vector<c10::IValue>& arguments,
                                       const Form& form) {
  // Autograd refuses to write into a parameter: such a model runs under no_grad only.
  for (const bool gradients : {true, false}) {
    snapshot_->restore();
    try {
      set_state(module_.module, e, arguments);
      std::vector<HostValue> outputs = call_as_is(e, arguments, form, gradients);
      snapshot_->restore();
      return outputs;
    } catch (const std::exception& error) {
      snapshot_->restore();
      if (!gradients) throw std::runtime_error(message_of(error));
    } catch (...) {
      snapshot_->restore();
      throw;
    }
  }
  return {};
}

std::vector<HostValue> Reference::call_as_is(const ExampleInputs& e,
                                             const std::vector<c10::IValue>& arguments,
                                             const Form& form, bool gradients) {
  const c10::AutoGradMode mode(gradients);
  const torch::jit::GraphOptimizerEnabledGuard optimizer(optimized_);
  std::vector<c10::IValue> own;
  for (const c10::IValue& a : own_arguments(e, arguments)) own.push_back(deep_copy(a));
  restore_constants();  // also where the state goes on from call to call
  const c10::IValue result = module_.module.get_method(module_.method)(std::move(own));
  // A copy: a result may be a buffer itself, which is about to be restored or written again.
  return flatten(result.deepcopy(), form.results, module_.module);
}

std::vector<TensorPtr> host_leaves(const std::vector<c10::IValue>& leaves,
                                   const Reference::Form& form) {
  std::vector<TensorPtr> inputs;
  for (size_t i = 0; i < leaves.size(); ++i) {
    at::Tensor t = leaves[i].isTensor() ? leaves[i].toTensor().clone() : number_tensor(leaves[i]);
    if (t.is_complex()) t = at::view_as_real(t.resolve_conj());  // as the file has it
    if (i < form.types.size() && form.types[i] != DType::Undefined)
      t = t.to(to_scalar_type(form.types[i]));
    inputs.push_back(to_host(t));
  }
  return inputs;
}

std::vector<TensorPtr> drawn_inputs(const ExampleInputs& e, const Draw& draw,
                                    const Reference::Form& form) {
  try {
    return host_leaves(leaf_values(e, drawn_arguments(e, draw)), form);
  } catch (const std::exception& error) {
    throw std::runtime_error(message_of(error));
  }
}

std::pair<std::vector<HostValue>, std::vector<HostValue>> Reference::first_and_third(
    const ExampleInputs& e) {
  std::vector<HostValue> calls[3];
  for (std::vector<HostValue>& outputs : calls) {
    at::Generator generator = at::globalContext().defaultGenerator(module_.device);
    generator.set_current_seed(e.options.seed);  // random numbers are the same in each
    outputs = call(e, e.arguments, {});
  }
  return {std::move(calls[0]), std::move(calls[2])};
}

namespace {

// While it lives, sizes that nobody asked for are tried, and the operators that run are noted.
class NotedTrial {
 public:
  explicit NotedTrial(const std::string& sizes) : trial_(sizes) {
    if (!sizes.empty())
      callback_ = at::addThreadLocalCallback(
          at::RecordFunctionCallback(&begin).scopes({at::RecordScope::FUNCTION}));
  }
  ~NotedTrial() {
    if (callback_) at::removeCallback(*callback_);
  }
  NotedTrial(const NotedTrial&) = delete;
  NotedTrial& operator=(const NotedTrial&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& f) {
    note_operator(f.name());
    return nullptr;
  }
  Trial trial_;
  std::optional<at::CallbackHandle> callback_;
};

}  // namespace

// What lib/support/trial.h calls the draw; empty where its sizes are the example's.
std::string Reference::trial_of(const ExampleInputs& e, const Draw& draw) const {
  std::vector<std::string> names;
  bool own = true;
  for (size_t i = 0; i < e.leaves.size() && i < draw.sizes.size(); ++i) {
    names.push_back(e.leaves[i].name);
    if (e.leaves[i].value.isTensor())
      own = own && e.leaves[i].value.toTensor().sizes() == draw.sizes[i];
  }
  return own ? std::string() : sizes_text(names, draw.sizes);
}

HostRun Reference::run(const ExampleInputs& e, const Draw& draw, const Form& form) {
  const std::string sizes = trial_of(e, draw);
  for (const LeftOut& l : left_out_)
    if (l.sizes == sizes) throw std::runtime_error(l.op + " ends the process at these sizes");
  const NotedTrial trial(sizes);
  const auto attempt = [&](const ExampleInputs& inputs) {
    std::vector<c10::IValue> arguments = drawn_arguments(inputs, draw);
    HostRun r;
    r.inputs = host_leaves(leaf_values(inputs, arguments), form);
    last_inputs_ = inputs;
    last_arguments_ = arguments;
    r.outputs = call(inputs, arguments, form);
    return r;
  };
  const bool varies = std::any_of(e.leaves.begin(), e.leaves.end(), [](const InputLeaf& l) {
    return is_number(l.value) && !l.fixed;
  });
  if (!varies || draw.seed == e.options.seed) return attempt(e);
  try {
    return attempt(e);
  } catch (const std::exception&) {
    // Perhaps another number is out of range; the example's own is not.
    ExampleInputs steady = e;
    for (InputLeaf& l : steady.leaves) l.fixed = l.fixed || is_number(l.value);
    return attempt(steady);
  }
}

HostRun Reference::step(const ExampleInputs& e, const Draw& draw, const Form& form, bool begin) {
  std::vector<c10::IValue> arguments = drawn_arguments(e, draw);
  if (begin) {
    snapshot_->restore();
    bool saved = draw.seed == e.options.seed;  // then what the module has is not touched
    for (size_t i = 0; i < e.leaves.size(); ++i)
      if (e.leaves[i].value.isTensor())
        saved = saved && e.leaves[i].value.toTensor().sizes() == draw.sizes.at(i);
    if (!saved) set_state(module_.module, e, arguments);
  } else {
    for (const AttributeArgument& a : e.state)
      arguments.at(a.argument) = deep_copy(attribute_value(module_.module, a.path));
  }
  HostRun r;
  r.inputs = host_leaves(leaf_values(e, arguments), form);
  last_inputs_ = e;
  last_arguments_ = arguments;
  try {
    r.outputs = call_as_is(e, arguments, form, true);
  } catch (const std::exception&) {
    try {
      set_state(module_.module, e, arguments);  // the call may have come half way
      r.outputs = call_as_is(e, arguments, form, false);
    } catch (const std::exception& error) {
      throw std::runtime_error(message_of(error));
    }
  }
  return r;
}

std::vector<std::string> state_names(const torch::jit::Module& m) {
  std::vector<std::string> names;
  const std::function<void(const torch::jit::Module&, const std::string&)> visit =
      [&](const torch::jit::Module& module, const std::string& prefix) {
        const auto type = module.type();
        for (const bool parameters : {true, false})
          for (size_t i = 0; i < type->numAttributes(); ++i) {
            const bool wanted = parameters ? type->is_parameter(i) : type->is_buffer(i);
            if (wanted && module._ivalue()->getSlot(i).isTensor())
              names.push_back(prefix + type->getAttributeName(i));
          }
        for (const auto& child : module.named_children())
          visit(child.value, prefix + child.name + ".");
      };
  visit(m, "");
  return names;
}

}  // namespace oe::torch_io
