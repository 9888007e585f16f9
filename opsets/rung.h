// One rung of the ladder as a table: for every operator that opset N changed, how to say it in N-1.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "opsets/rewriter.h"

namespace oe::opsets {

struct Row {
  enum class Kind {
    Same,      // only element types were added: the type pass deals with those
    Defaults,  // new attributes and inputs must be absent or at their default, and are dropped
    Needs,     // cannot be said below this opset
    Body,      // replaced by the function body in the ONNX schema
    Rewrite,   // replaced by `rewrite`
  };
  std::string_view op;
  Kind kind;
  // Sees the node written for opset N and leaves nodes written for N-1. Throws Unsupported.
  void (*rewrite)(Rewriter&, ir::Node&) = nullptr;
};

constexpr Row same(std::string_view op) { return {op, Row::Kind::Same}; }
constexpr Row defaults(std::string_view op) { return {op, Row::Kind::Defaults}; }
constexpr Row needs(std::string_view op) { return {op, Row::Kind::Needs}; }
constexpr Row body(std::string_view op) { return {op, Row::Kind::Body}; }
constexpr Row rewrite(std::string_view op, void (*fn)(Rewriter&, ir::Node&)) {
  return {op, Row::Kind::Rewrite, fn};
}

using Rung = std::span<const Row>;
Rung opset_08();
Rung opset_09();
Rung opset_10();
Rung opset_11();
Rung opset_12();
Rung opset_13();
Rung opset_14();
Rung opset_15();
Rung opset_16();
Rung opset_17();
Rung opset_18();
Rung opset_19();
Rung opset_20();
Rung opset_21();
Rung opset_22();
Rung opset_23();
Rung opset_24();
Rung opset_25();
Rung opset_26();
Rung opset_27();
Rung opset_28();

// The table of what opset `n` changed, 8..28.
Rung rung(int n);

}  // namespace oe::opsets
