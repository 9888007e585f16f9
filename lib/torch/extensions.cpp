// Operators of libraries that LibTorch lacks, as TorchScript.
#include "lib/torch/extensions.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <unordered_map>

#include "lib/torch/stand_ins.h"

namespace oe::torch_io {
namespace {

using torch::jit::Function;

// What the files name: "torch", and the classes that stand in for those of libraries.
struct Names : torch::jit::NativeResolver {
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange&) override {
    return torch::getCustomClass(name);
  }
};

// Compiled once; nothing writes to it afterwards.
const std::unordered_map<std::string, Function*>& functions() {
  static const auto* all = [] {
    register_known_classes();
    auto* made = new std::unordered_map<std::string, Function*>;
    for (const ExtensionText* e = kExtensionTexts; e->text; ++e) {
      auto* unit = new torch::jit::CompilationUnit;
      unit->define(std::nullopt, e->text, std::make_shared<Names>(), nullptr);
      for (Function* f : unit->get_functions())
        if (!f->name().starts_with('_'))
          made->emplace(std::string(e->name_space) + "::" + f->name(), f);
    }
    return made;
  }();
  return *all;
}

}  // namespace

std::vector<c10::Argument> operator_results(const Function& f) {
  const std::vector<c10::Argument>& returned = f.getSchema().returns();
  const auto tuple = returned.at(0).type()->cast<c10::TupleType>();
  if (!tuple) return returned;
  std::vector<c10::Argument> results;
  for (const c10::TypePtr& type : tuple->elements()) results.emplace_back("", type);
  return results;
}

void run_as_operator(Function& f, torch::jit::Stack& stack) {
  f.run(stack);
  if (!stack.back().isTuple()) return;
  const auto results = torch::jit::pop(stack).toTuple();
  for (const c10::IValue& result : results->elements()) stack.push_back(result);
}

void register_extensions() {
  for (const auto& [name, f] : functions()) {
    if (!torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty()) continue;
    torch::jit::registerOperator(torch::jit::Operator(
        name, "", f->getSchema().arguments(), operator_results(*f),
        [f = f](torch::jit::Stack& stack) { run_as_operator(*f, stack); },
        c10::AliasAnalysisKind::CONSERVATIVE));
  }
}

Function* extension(const std::string& op) {
  const auto it = functions().find(op);
  return it == functions().end() ? nullptr : it->second;
}

}  // namespace oe::torch_io
