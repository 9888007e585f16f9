// What is known of each element of a small int64 tensor of rank 0 or 1: sizes, shapes, axes.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "lib/optimize/dim_sources.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

struct Element {
  enum class Kind { Number, Dim, Item };
  Kind kind = Kind::Number;
  int64_t number = 0;
  ir::Value* source = nullptr;  // Dim: the tensor. Item: an int64 tensor of rank 0 or 1
  int64_t index = 0;            // Dim: the axis. Item: the position

  bool operator==(const Element&) const = default;
  bool is_number() const { return kind == Kind::Number; }
  // Whether `next` follows in the same tensor.
  bool precedes(const Element& next) const {
    return kind == next.kind && kind != Kind::Number && source == next.source &&
           index + 1 == next.index;
  }
};
using Elements = std::vector<Element>;

// Nodes are shown definitions before uses.
class KnownElements {
 public:
  KnownElements(const Rewriter& r, const DimSources& d) : rewriter_(r), dims_(d) {}

  // Of a value; nothing when it is no such tensor or its length is not known.
  std::optional<Elements> of(ir::Value* v) const;
  // Of the only output of a node that takes sizes or moves elements. Fills in the output's shape
  // where it is missing: constants of outer graphs are out of sight for ONNX shape inference.
  std::optional<Elements> result_of(const ir::Node& n) const;
  void set(const ir::Value* v, Elements e) { known_[v] = std::move(e); }

 private:
  std::optional<Elements> transfer(const ir::Node& n) const;
  std::optional<Elements> of_shape(const ir::Node& n) const;
  std::optional<Elements> of_gather(const ir::Node& n) const;
  std::optional<Elements> of_slice(const ir::Node& n) const;
  std::optional<Elements> of_concat(const ir::Node& n) const;
  std::optional<Elements> of_where(const ir::Node& n) const;
  std::optional<int64_t> rank_of_result(const ir::Node& n) const;

  const Rewriter& rewriter_;
  const DimSources& dims_;
  std::unordered_map<const ir::Value*, Elements> known_;
};

}  // namespace oe::optimize
