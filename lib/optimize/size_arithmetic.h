// Dims and elements that equal a dim of an earlier tensor, by arithmetic on sizes.
#pragma once

#include <memory>

#include "lib/optimize/elements.h"

namespace oe::optimize {

class SizeArithmetic;

// Adds to what DimSources and KnownElements know by the definition of each operator: batch is what
// (12 * batch) / 12 computes, and the first dim of a Reshape of [batch,12,5] to [-1,60].
class SizeLearner {
 public:
  // All three outlive this.
  SizeLearner(const Rewriter& r, DimSources& dims, KnownElements& elements);
  ~SizeLearner();
  // Nodes are shown definitions before uses, after DimSources and KnownElements have seen them.
  void visit(const ir::Node& n);

 private:
  std::unique_ptr<SizeArithmetic> arithmetic_;
  DimSources& dims_;
  KnownElements& elements_;
};

}  // namespace oe::optimize
