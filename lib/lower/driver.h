// The walk over a program: calls through the tables, control flow, poisoning, names and types.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "lib/lower/lower.h"
#include "lib/lower/lowering.h"
#include "lib/support/diagnostics.h"

namespace oe::lower {

struct Linear;
struct Multilinear;

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
  void optional(const program::Node& n);
  void of_rank(const program::Node& n);
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

  Values run(const program::Node& n, const Lowering& row);

  // complex/calls.cpp
  enum class Part { Real, Imaginary };
  bool splits(const program::Node& n) const;  // whether it is a call of complex numbers
  void complex_call(const program::Node& n);
  void linear_call(const program::Node& n, const Linear& l);
  void multilinear_call(const program::Node& n, const Multilinear& m);
  void complex_input(const program::Value* v, const std::string& name);
  void note_pairs(const char* kind, const std::string& name);
  // Complex values of a block's boundary are two values each.
  std::vector<program::Value*> split(const std::vector<program::Value*>& values);
  program::Args split(const program::Args& args, const std::vector<program::Value*>& as);
  program::Arg part_of(const program::Arg& a, Part part, bool value);
  std::vector<program::Value*> parts_of(const std::vector<program::Value*>& values, Part part);
  void squares_call(const program::Node& n, bool root);
  Values run_on(const program::Node& n, const std::function<T(const C&)>& real);
  const Lowering& real_row(const program::Node& n) const;

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
  bool returns(const program::Node& n, const program::Args& returned,
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
