#include "lib/capture/attempts/missing.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>
#include <utility>

#include "lib/capture/values/recorder.h"
#include "lib/torch/stand_ins.h"

namespace oe::capture {

namespace {

using torch::jit::Node;

// The path of the module that a value is: "encoder.0" of self.encoder.0.
std::string path_of(const torch::jit::Value* v, const std::string& self) {
  const Node* n = v->node();
  if (n->kind() != c10::prim::GetAttr) return self;
  const std::string outer = path_of(n->input(0), self), name = n->s(c10::attr::name);
  return outer.empty() ? name : outer + "." + name;
}

std::string hint(const std::string& op) {
  for (const auto& [name_space, backend] :
       {std::pair{"vulkan_prepack::", "Vulkan"}, std::pair{"metal_prepack::", "Metal"}})
    if (op.starts_with(name_space))
      return std::string("the file was optimised for ") + backend +
             "; convert the one that optimize_for_mobile was given";
  return "load the library that registers it with --custom-op-lib LIB.so, or save the model "
         "without it";
}

class Walk {
 public:
  explicit Walk(Diagnostics& d) : diagnostics_(d) {}

  void function(torch::jit::Function& f, const std::string& path) {
    auto* g = torch::jit::tryToGraphFunction(f);
    if (g && seen_.emplace(g, path).second) block(*g->graph()->block(), path);
  }

 private:
  void block(const torch::jit::Block& b, const std::string& path) {
    for (const Node* n : b.nodes()) {
      node(n, path);
      for (const torch::jit::Block* inner : n->blocks()) block(*inner, path);
      if (n->hasAttribute(c10::attr::Subgraph)) block(*n->g(c10::attr::Subgraph)->block(), path);
    }
  }

  void node(const Node* n, const std::string& path) {
    if (n->kind() == c10::prim::CallMethod) {
      const auto type = n->input(0)->type()->cast<c10::ClassType>();
      torch::jit::Function* f = type ? type->findMethod(n->s(c10::attr::name)) : nullptr;
      if (f) function(*f, path_of(n->input(0), path));
    } else if (n->kind() == c10::prim::CallFunction) {
      if (const auto type = n->input(0)->type()->cast<c10::FunctionType>())
        function(*type->function(), path);
    } else if (torch_io::is_stand_in(n->kind().toQualString())) {
      diagnostics_.report({"OE0122", Severity::Error, n->kind().toQualString(),
                           "LibTorch does not have it", hint(n->kind().toQualString()),
                           recorder_.origin(n, path), 0});
    }
  }

  Diagnostics& diagnostics_;
  program::Program lines_only_;
  Recorder recorder_{lines_only_};
  std::set<std::pair<const void*, std::string>> seen_;
};

}  // namespace

void report_missing(const torch::jit::Module& m, const std::string& method, Diagnostics& d) {
  Walk(d).function(m.get_method(method).function(), "");
}

}  // namespace oe::capture
