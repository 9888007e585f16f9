// Functions and blocks of TorchScript: what runs when, and how long values live.
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

}  // namespace oe::capture
