// The classes of modules, as Python says them.
#include "lib/torch/module_classes.h"

#include <set>

namespace oe::torch_io {

std::string python_class(const c10::ClassType& type) {
  std::vector<std::string> atoms;
  if (const auto& name = type.name())
    for (const std::string& atom : name->atoms())
      if (atom != "__torch__" && !atom.starts_with("___torch_mangle_")) atoms.push_back(atom);
  if (atoms.size() < 2) atoms.insert(atoms.begin(), "__main__");
  return c10::QualifiedName(std::move(atoms)).qualifiedName();
}

std::vector<std::string> module_classes(const torch::jit::Module& m) {
  std::set<std::string> classes;
  for (const auto& inner : m.named_modules())
    if (!inner.name.empty()) classes.insert(python_class(*inner.value.type()));
  return {classes.begin(), classes.end()};
}

}  // namespace oe::torch_io
