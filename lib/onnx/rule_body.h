// The body of a user's rule: nodes in ONNX's text syntax that replace one node. No onnx or protobuf
// type appears here.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::onnx {

// An error in the text; lines and columns count from 1, 0 if it has no place.
struct TextError : std::runtime_error {
  TextError(const std::string& what, int line, int column)
      : std::runtime_error(what), line(line), column(column) {}
  int line, column;
};

class RuleBody {
 public:
  // `text`: "{ y = Elu <alpha: float = @a> (x) }", after any number of lines. Parameters are
  // tensors (x) or attributes (@a) or both. Throws TextError, also for operators that `opset` does
  // not have.
  RuleBody(const std::string& text, const std::vector<std::string>& parameters,
           const std::vector<std::string>& results, int64_t opset);

  // Which parameters are tensors, and which attributes, in order.
  const std::vector<std::string>& tensors() const { return tensors_; }
  const std::vector<std::string>& attributes() const { return attributes_; }
  const std::set<std::string>& domains() const { return domains_; }  // other than ai.onnx

  // The first operator that `opset` defines differently than the body's opset; empty: none.
  std::string incompatible(int64_t opset) const;
  // Appends the nodes to `out`. Inputs of `n` are the tensors, its attributes the attributes.
  // Throws std::runtime_error for an attribute of another type than the body says.
  void put(ir::Model& m, const ir::Node& n, int64_t opset,
           std::vector<std::unique_ptr<ir::Node>>& out) const;
  // The body as a function of `m`, whose opsets it imports. Its inputs are the tensors.
  ir::Function function(ir::Model& m, const std::string& domain, const std::string& name) const;

 private:
  struct Proto;
  std::shared_ptr<const Proto> proto_;
  int64_t opset_;
  std::vector<std::string> tensors_, attributes_;
  std::set<std::string> domains_;
};

}  // namespace oe::onnx
