// Where a dim comes from: dims that are equal because of how tensors are computed.
//
// Axes of inputs with one name have one size: the user says so. Other symbols prove nothing; what
// an operator's definition says about its result does. Relu keeps every dim of its input, Transpose
// permutes them, MatMul takes rows from one side.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "lib/optimize/rewriter.h"

namespace oe::optimize {

struct DimSource {
  ir::Value* value = nullptr;  // the earliest tensor known to have this dim
  int64_t axis = 0;
  bool operator==(const DimSource&) const = default;
};

class DimSources {
 public:
  explicit DimSources(const Rewriter& r) : rewriter_(r) {}

  // Learns which dims of the model's inputs are equal.
  void inputs(const ir::Graph& main);

  // Learns the dims of a node's outputs; nodes are shown definitions before uses.
  void visit(const ir::Node& n);

  // States that dim `axis` of `v` is the dim `s` of an earlier tensor.
  void equate(ir::Value* v, int64_t axis, const DimSource& s);

  // Source of dim `axis` of `v`, itself when nothing more is known. The rank of `v` is known.
  DimSource of(ir::Value* v, int64_t axis) const;
  // The number, where the type of `v` or of its source gives one.
  std::optional<int64_t> number(ir::Value* v, int64_t axis) const;

 private:
  using List = std::vector<DimSource>;

  void set(ir::Value* out, List list);
  List own(ir::Value* v) const;
  DimSource broadcast(const std::vector<ir::Value*>& inputs, size_t from_right,
                      DimSource fallback) const;

  void keep(const ir::Node& n, size_t first, size_t count);
  void elementwise(const ir::Node& n);
  void matmul(const ir::Node& n);
  void gemm(const ir::Node& n);
  void transpose(const ir::Node& n);
  void squeeze(const ir::Node& n);
  void along_axis(const ir::Node& n);
  void gather(const ir::Node& n);
  void slice(const ir::Node& n);
  void reshape(const ir::Node& n);
  void reduce(const ir::Node& n);

  const Rewriter& rewriter_;
  std::unordered_map<const ir::Value*, List> known_;
};

}  // namespace oe::optimize
