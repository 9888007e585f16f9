// Dims and elements that equal a dim of an earlier tensor, by arithmetic on sizes.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "lib/optimize/dim_polynomial.h"
#include "lib/optimize/elements.h"

namespace oe::optimize {

class SizeArithmetic;

// Adds to what DimSources and KnownElements know by the definition of each operator: batch is what
// (12 * batch) / 12 computes, and the first dim of a Reshape of [batch,12,5] to [-1,60]. Two
// Reshapes of it to [-1,5] have equal first dims.
class SizeLearner {
 public:
  // All three outlive this.
  SizeLearner(const Rewriter& r, DimSources& dims, KnownElements& elements);
  ~SizeLearner();
  // Nodes are shown definitions before uses, after DimSources and KnownElements have seen them.
  void visit(const ir::Node& n);

 private:
  std::optional<DimSource> source_of(const std::optional<DimPolynomial>& size) const;

  const Rewriter& rewriter_;
  std::unique_ptr<SizeArithmetic> arithmetic_;
  // The first tensor of the main graph with a dim of this size, by its text. All later nodes see
  // it.
  std::unordered_map<std::string, DimSource> first_;
  DimSources& dims_;
  KnownElements& elements_;
};

}  // namespace oe::optimize
