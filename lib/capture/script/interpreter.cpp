// Functions and blocks of TorchScript: what runs when, and how long values live.
#include "lib/capture/executor.h"
#include "lib/torch/runtime.h"

namespace oe::capture {

namespace prim = c10::prim;

AbstractValue Interpreter::run_method(const AbstractValue& self, const std::string& method,
                                      std::vector<AbstractValue> args) {
  args.insert(args.begin(), self);
  try {
    Frame frame;
    frame.path = self.object()->path;
    const c10::ClassType& type = *self.object()->type;
    ex_.gradient.begin(type.getMethod(method));
    return run_code(with_casts(type.getMethod(method), type), std::move(args), frame);
  } catch (const Unreachable& u) {
    ex_.site.refuse("OE4061", "no example runs the model beyond this line: " + u.message,
                    "use an example, or sizes of dynamic axes, with which the whole model runs",
                    Need::MadeUpValues);
  } catch (Failure& f) {
    if (!f.origin) f.origin = ex_.site.here();
    throw;
  } catch (const c10::Error& e) {
    // LibTorch refused to tell something about a value, outside of the operators it ran.
    if (torch_io::is_out_of_memory(e.what())) throw;
    ex_.site.refuse("OE4062",
                    "LibTorch cannot provide what this line needs: " + torch_io::message_of(e));
  }
}

// A method of packed weights, which has no code but that in C++: they never change, so what it
// tells of them is a constant.
std::optional<AbstractValue> Interpreter::run_built_in(torch::jit::Function& f,
                                                       const std::vector<AbstractValue>& args) {
  const std::string& name = f.qualname().qualifiedName();
  constexpr std::string_view kClasses = "__torch__.torch.classes.";
  if (!name.starts_with(kClasses) || torch::jit::tryToGraphFunction(f)) return std::nullopt;
  const std::string_view space = std::string_view(name).substr(kClasses.size());
  if (!space.starts_with("quantized.") && !space.starts_with("rnn.") &&
      !space.starts_with("xnnpack."))
    return std::nullopt;
  torch::jit::Stack stack;
  for (const AbstractValue& a : args) {
    if (ex_.apply.taint_of(a) != Taint::Constant) return std::nullopt;
    stack.push_back(ex_.apply.value(a, ex_.worlds.first()));
  }
  f.run(stack);
  return stack.empty() ? AbstractValue::none() : ex_.values.kept_constant(stack.back(), "");
}

AbstractValue Interpreter::run_function(torch::jit::Function& f, std::vector<AbstractValue> args,
                                        const std::string& path, const ModuleCallPtr& call) {
  Frame frame;
  frame.path = path;
  frame.call = call;
  return run_code(code_of(f), std::move(args), frame);
}

JitBlock* Interpreter::code_of(torch::jit::Function& f) {
  auto* graph_function = torch::jit::tryToGraphFunction(f);
  if (!graph_function)
    ex_.site.refuse("OE4004",
                    "function " + f.qualname().qualifiedName() + " has no TorchScript code");
  graph_function->ensure_defined();
  return graph_function->graph()->block();
}

AbstractValue Interpreter::run_code(JitBlock* block, std::vector<AbstractValue> args,
                                    Frame& frame) {
  if (ex_.site.depth() > 2000) ex_.site.refuse("OE4005", "calls nest too deeply");
  analyse_reads(block);
  analyse_lifetimes(block);
  // The frame alone holds the arguments: what it drops may be written.
  for (size_t i = 0; i < args.size(); ++i) frame.values[block->inputs()[i]] = std::move(args[i]);
  args.clear();
  return run_block(block, {}, frame).at(0);
}

std::vector<AbstractValue> Interpreter::run_block(JitBlock* b, std::vector<AbstractValue> params,
                                                  Frame& f) {
  for (size_t i = 0; i < params.size(); ++i) f.values[b->inputs()[i]] = std::move(params[i]);
  params.clear();
  return run_nodes(b, *b->nodes().begin(), f);
}

std::vector<AbstractValue> Interpreter::run_nodes(JitBlock* b, JitNode* first, Frame& f) {
  for (JitNode* n = first; n != b->return_node(); n = n->next()) {
    ex_.site.enter(n, f.path, f.call);
    std::optional<std::vector<AbstractValue>> rest;
    if (n->kind() == prim::If)
      rest = run_if(n, f);
    else
      run_node(n, f);
    ex_.site.leave();
    if (rest) return *rest;
    for (const JitValue* v : dead_after(n)) f.values.erase(v);
  }
  std::vector<AbstractValue> out;
  for (size_t i = 0; i < b->outputs().size(); ++i)
    out.push_back(is_left(b, i) ? f.get(b->outputs()[i]) : AbstractValue::none());
  // What the block gives, or did not look at, ends with it: what is alive may not be written.
  for (const JitValue* v : b->outputs())
    if (v->node()->owningBlock() == b) f.values.erase(v);
  for (const JitValue* v : b->inputs()) f.values.erase(v);
  return out;
}

std::optional<std::vector<AbstractValue>> Interpreter::run_if(JitNode* n, Frame& f) {
  const AbstractValue cond = f.get(n->input());
  size_t taken = 0;
  if (!ex_.control.must_keep(cond, taken)) {
    ex_.control.note_if_missed(n, taken);
    f.set(n, run_block(n->blocks()[taken], {}, f));
  } else if (auto out = ex_.control.kept_if(n, f, cond, false)) {
    f.set(n, std::move(*out));
  } else {
    // The branches leave values that nothing can stand for both of (None and a tensor, lists of two
    // lengths, two element types): what follows goes into both branches.
    return ex_.control.kept_if(n, f, cond, true);
  }
  return std::nullopt;
}

const AbstractValue& Frame::get(const JitValue* v) const {
  auto it = values.find(v);
  if (it == values.end())
    throw Failure(ExitCode::Internal, "OE1002", "value %" + v->debugName() + " is not computed");
  return it->second;
}

std::vector<AbstractValue> Frame::inputs_of(const JitNode* n) const {
  std::vector<AbstractValue> in;
  in.reserve(n->inputs().size());
  for (const JitValue* v : n->inputs()) in.push_back(get(v));
  return in;
}

void Frame::set(const JitNode* n, std::vector<AbstractValue> outputs) {
  if (outputs.size() != n->outputs().size())
    throw Failure(ExitCode::Internal, "OE1003",
                  std::string(n->kind().toQualString()) + " returned a wrong number of results");
  for (size_t i = 0; i < outputs.size(); ++i) values[n->outputs()[i]] = std::move(outputs[i]);
}

}  // namespace oe::capture
