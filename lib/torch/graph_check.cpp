// Operators of a model are checked on its compiled graphs, before anything of the model runs.
#include "lib/torch/graph_check.h"

#include <torch/csrc/jit/api/function_impl.h>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/torch/allowed_operators.h"
#include "lib/torch/value_types.h"

namespace oe::torch_io {
namespace {

constexpr size_t kPlaces = 3;      // named of one operator
constexpr size_t kOperators = 20;  // named of one model
constexpr size_t kLine = 100;      // characters of a source line

std::string place_text(const Origin& o) {
  std::string text = o.file + ":" + std::to_string(o.line);
  if (!o.text.empty())
    text += ": " + (o.text.size() > kLine ? o.text.substr(0, kLine) + "..." : o.text);
  return text;
}

}  // namespace

void GraphCheck::refuse(const torch::jit::Node& node, const std::string& what,
                        std::string_view why) {
  Use& use = refused_[what];
  use.why = why;
  ++use.count;
  if (use.places.size() < kPlaces) use.places.push_back(place_text(*origins_.of(&node, "")));
}

void GraphCheck::look_at(const torch::jit::Node& node) {
  const auto [known, fresh] = verdicts_.try_emplace(node.kind());
  if (fresh) known->second = refusal_of(node.kind().toQualString());
  if (!known->second.empty()) refuse(node, node.kind().toQualString(), known->second);
  // Objects of torch.classes: their constructors and methods are native code.
  for (const auto values : {node.inputs(), node.outputs()})
    for (const torch::jit::Value* v : values)
      if (const std::string_view why = refusal_of(*v->type()); !why.empty())
        refuse(node, "class " + v->type()->annotation_str(), why);
  for (const torch::jit::Block* block : node.blocks()) look_at(*block);
  for (const c10::Symbol name : node.attributeNames()) {
    if (node.kindOf(name) == torch::jit::AttributeKind::g) look_at(*node.g(name));
    if (node.kindOf(name) == torch::jit::AttributeKind::gs)
      for (const auto& graph : node.gs(name)) look_at(*graph);
  }
}

void GraphCheck::look_at(const torch::jit::Block& block) {
  for (const torch::jit::Node* n : block.nodes()) look_at(*n);
}

void GraphCheck::look_at(const torch::jit::Graph& graph) { look_at(*graph.block()); }

void GraphCheck::look_at(torch::jit::Function& f) {
  if (!seen_.insert(&f).second) return;
  auto* g = torch::jit::tryToGraphFunction(f);
  if (!g) return;
  look_at(*g->graph());
  check_casts(*g->graph());
}

void GraphCheck::throw_refused() const {
  if (refused_.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [what, use] : refused_) {
    if (parts.size() == kOperators) break;
    std::string part = what + ", which " + std::string(use.why) + " (" + join(use.places, "; ");
    if (use.count > use.places.size())
      part += "; and " + std::to_string(use.count - use.places.size()) + " more";
    parts.push_back(part + ")");
  }
  if (refused_.size() > parts.size())
    parts.push_back("and " + std::to_string(refused_.size() - parts.size()) + " more");
  throw Failure(ExitCode::Refused, "OE0141",
                file_ + ": the model calls " + plural(refused_.size(), "operator") +
                    " that may not run: " + join(parts, ", "),
                "save the model without them, or load the library of your own operators with "
                "--custom-op-lib");
}

void GraphCheck::check(const torch::jit::CompilationUnit& unit) {
  // The importer adds functions at the end; a file may have thousands of types.
  const std::vector<torch::jit::Function*> all = unit.get_functions();
  for (; looked_at_ < all.size(); ++looked_at_) look_at(*all[looked_at_]);
  throw_refused();
}

void GraphCheck::check(const torch::jit::CompilationUnit& unit, const c10::TypePtr& type) {
  if (const std::string_view why = refusal_of(*type); !why.empty())
    throw Failure(ExitCode::Refused, "OE0141",
                  file_ + ": the model contains an object of the class " + type->annotation_str() +
                      ", which " + std::string(why),
                  "save the model without it");
  if (const auto cls = type->cast<c10::ClassType>()) {
    for (torch::jit::Function* f : cls->methods()) look_at(*f);
    for (torch::jit::Function* f : cls->getForwardHooks()) look_at(*f);
    for (torch::jit::Function* f : cls->getForwardPreHooks()) look_at(*f);
  }
  check(unit);
}

}  // namespace oe::torch_io
