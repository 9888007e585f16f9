// An output of If names an axis only where both branches give a value with that name: a variable
// that is unset on a path has any size there.
#include <torch/csrc/jit/api/module.h>

#include <catch2/catch.hpp>

#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "tests/unit/scripted.h"

namespace oe::capture {
namespace {

struct Counts {
  int named = 0;   // axes of outputs of If that have a name
  int untrue = 0;  // ... which a branch's own value does not have
};

void count(const program::Block& block, Counts& counts) {
  for (const auto& n : block.nodes) {
    for (const auto& inner : n->blocks) count(*inner, counts);
    if (n->op != "prim::If") continue;
    for (size_t i = 0; i < n->outputs.size(); ++i) {
      const Shape& out = n->outputs[i]->type.shape;
      for (size_t axis = 0; out && axis < out->size(); ++axis) {
        if (!out->at(axis).is_symbol()) continue;
        ++counts.named;
        for (const auto& branch : n->blocks) {
          const Shape& from = branch->returns[i].value()->type.shape;
          if (!from || from->at(axis) != out->at(axis)) ++counts.untrue;
        }
      }
    }
  }
}

Counts names_of_branches(const std::string& body) {
  const torch_io::Loaded m = scripted("x, w", body);
  torch_io::ExampleInputs example = torch_io::make_inputs(input_options({"x:n=4x3", "w:3"}), m);
  Diagnostics d;
  const Captured c = capture(m, example, {}, lower::has_row, d);
  REQUIRE_FALSE(d.has_errors());
  Counts counts;
  count(c.program.body, counts);
  return counts;
}

}  // namespace

TEST_CASE("a written tensor that is unset on a path has no named axis", "[capture]") {
  const Counts counts = names_of_branches(
      "  m = x\n"
      "  i = 0\n"
      "  while i < m.size(0):\n"
      "    i += 1\n"
      "    m[-1:] += 0.25\n"
      "    if bool(m.sum() > 3):\n"
      "      m = x * 2 - 0.5\n"
      "    elif bool(m[0, 0] > 1):\n"
      "      continue\n"
      "    m[0] = i\n"
      "    if bool(w.sum() > i):\n"
      "      break\n"
      "  m += 1\n"
      "  return m, x\n");
  CHECK(counts.named > 0);
  CHECK(counts.untrue == 0);
}

TEST_CASE("both branches name the axis", "[capture]") {
  const Counts counts = names_of_branches(
      "  y = x + 1\n"
      "  if bool(w.sum() > 1):\n"
      "    y = x * 2\n"
      "  return y\n");
  CHECK(counts.named == 1);
  CHECK(counts.untrue == 0);
}

}  // namespace oe::capture
