// The functions of a model while calls are taken out of its graph.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::functions {

// Visits all values that a node reads, those of the graphs inside it too.
template <class F>
void for_each_read(const ir::Node& n, const F& f) {
  for (ir::Value* v : n.inputs)
    if (v) f(v);
  for (const auto& [key, a] : n.attributes)
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
      for (const auto& inner : (*g)->nodes) for_each_read(*inner, f);
      for (ir::Value* v : (*g)->outputs) f(v);
    }
}

// Visits all values that a node defines, those of the graphs inside it too.
template <class F>
void for_each_definition(const ir::Node& n, const F& f) {
  for (ir::Value* v : n.outputs)
    if (v) f(v);
  for (const auto& [key, a] : n.attributes)
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
      for (ir::Value* v : (*g)->inputs) f(v);
      for (const auto& inner : (*g)->nodes) for_each_definition(*inner, f);
    }
}

// Until finish() every int, float, string, ints and floats in a body is a parameter, for which each
// call has its own value; finish() puts those back that all calls agree on.
class FunctionTable {
 public:
  explicit FunctionTable(ir::Model& m);

  // `call` stands for `body` from now on, whose values are its own: its inputs and outputs are
  // those of `call`, in order. Sets the operator of `call`. `module_class`:
  // "torch.nn.modules.conv.Conv2d"; `path`: the module's, which names in the body lose.
  void add(ir::Node& call, ir::Graph body, const std::string& module_class,
           const std::string& path);
  // Writes the functions and their imports into the model. Once, at the end.
  void finish();

 private:
  // An attribute that is a parameter: of a node, or a parameter of the function that a node calls.
  struct Slot {
    ir::Node* node;
    std::string attribute;
    size_t parameter;  // where `attribute` is empty
  };
  struct Entry {
    ir::Function function;
    std::vector<Slot> slots;
    std::vector<ir::Node*> sites;
  };
  struct Call {
    size_t function;
    std::vector<ir::Attribute> values;  // of the slots
  };
  class Canonical;

  std::string free_name(const std::string& domain, const std::string& name);
  void find_sites(const ir::Graph& g);
  ir::Attribute& value_of(const Slot& s);
  const Slot& innermost(const Slot& s) const;
  void settle(Entry& e);

  ir::Model& model_;
  std::vector<Entry> entries_;                     // a function stands behind those that it calls
  std::unordered_map<std::string, size_t> known_;  // by class and body
  std::unordered_map<const ir::Node*, Call> calls_;
  std::set<std::string> taken_;  // "domain.name"
};

}  // namespace oe::functions
