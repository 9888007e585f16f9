// The walk over a program: calls through the tables, control flow, poisoning, names and types.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "lib/lower/lower.h"
#include "lib/lower/lowering.h"
#include "lib/support/diagnostics.h"

namespace oe::lower {

ir::Type to_onnx_type(const program::Type& t);
// Of an argument that is a number.
DType number_type(const program::Arg& a);

class Driver {
 public:
  Driver(const program::Program& p, const LowerOptions& o, Diagnostics& d);
  ir::Model run();

 private:
  // lower.cpp
  void nodes(const program::Block& b);
  void node(const program::Node& n);
  void call(const program::Node& n);
  void list_construct(const program::Node& n);
  void finish(const program::Node& n, const Values& results);
  void outputs();
  void output(const program::Arg& a, ir::Value*& port, std::unordered_set<const ir::Value*>& used);
  size_t kept_list(size_t first) const;
  void construct_list(size_t first, size_t count, ir::Value* port);
  bool poisoned(const program::Arg& a) const;
  void poison(const program::Node& n);
  void report(const program::Node& n, std::string code, std::string message);
  void refuse(const program::Node& n, std::string code, std::string message);
  T argument(const program::Arg& a, DType t);
  T typed(T v, const program::Type& t);
  const std::string& prefix(const program::Node& n);

  // kept.cpp
  void keep(const program::Node& n, bool as_aten);
  Values kept_input(const program::Arg& a, Ints& sizes);
  void import_domain(const std::string& domain);

  // ruled.cpp
  void ruled(const program::Node& n, const UserRules::Entry& rule);

  // control_flow.cpp
  void conditional(const program::Node& n);
  void loop(const program::Node& n);
  std::shared_ptr<ir::Graph> branch(const program::Node& n, size_t index);
  bool returns(const program::Node& n, const program::Block& b, size_t first,
               const std::vector<const program::Type*>& types, ir::Graph& g);
  void control_outputs(const program::Node& n, ir::Node* made);

  const program::Program& program_;
  const LowerOptions& options_;
  Diagnostics& diagnostics_;
  ir::Model model_;
  Constants constants_;
  Call call_;
  std::unordered_map<std::string, std::string> prefixes_;  // module path -> node name prefix
  std::unordered_map<const program::Value*, std::string> unavailable_;  // results a row leaves out
};

}  // namespace oe::lower
