// What a rewrite sees: the node, and a builder of nodes in the form the lower opset has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "lib/build/builder.h"

namespace oe::opsets {

using namespace build;  // rewrites are formulas of its values

// What all rewrites of one legalize() share.
struct Context {
  explicit Context(ir::Model& m) : model(m) {}
  // Takes the operators of a node and of its nested graphs into `present`.
  void note(const ir::Node& n);
  ir::Model& model;
  std::unordered_set<std::string> present;  // operators that may occur in the model
  bool untyped = false;                     // nodes were added whose types inference has to find
  Constants constants;
  int64_t copied_sequences = 0;
};

ir::Type ranked(DType t, int64_t rank);
ir::Type like(const ir::Value* v, DType t);
int64_t wrapped(int64_t axis, int64_t rank);  // into [0, rank)

class Rewriter : public Builder {
 public:
  // Nodes are appended to `out`, written for opset `below`, named and placed after `node`.
  Rewriter(Context& c, int below, std::unique_ptr<ir::Node>& node, Nodes& out);

  int below() const { return static_cast<int>(opset()); }
  Context& context() { return context_; }
  // The node's input i; null where it is left out.
  T in(size_t i) { return at(node_.input(i)); }

  // `v` becomes the value `out` that the rest of the model already uses.
  void bind(ir::Value* out, T v);
  // The node's output i and a fresh value in its place.
  T detach(size_t i);
  // Adds a node made elsewhere.
  void add(std::unique_ptr<ir::Node> n);
  // Adds the node itself, as it has been changed.
  void keep();
  // Marks everything added since the start as written for the rung's own opset: it passes through
  // the rung again.
  void again() { again_ = true; }
  bool wants_again() const { return again_; }

 private:
  Context& context_;
  std::unique_ptr<ir::Node>& owned_;
  ir::Node& node_;
  size_t start_;
  bool again_ = false;
};

// Takes back what a rewrite added from `start` on and nobody reads: sizes are asked for early, and
// often turn out not to be needed. `results` are the outputs that the node had.
void drop_unread(Nodes& out, size_t start, const std::vector<ir::Value*>& results);

}  // namespace oe::opsets
