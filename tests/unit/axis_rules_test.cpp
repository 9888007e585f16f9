// Every operator that can be lowered says how the axes of its results come about.
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>
#include <set>

#include "lib/capture/operators/axes/axes.h"
#include "lib/lower/lowering.h"

namespace oe {
namespace {

// "aten::add" of "aten::add.Tensor(Tensor self, ...) -> Tensor".
std::string base_of(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

bool gives_tensors(std::string_view signature) {
  return signature.substr(signature.rfind("->")).find("Tensor") != std::string_view::npos;
}

// Pointwise by LibTorch's own tag: the result is the broadcast of the arguments.
bool pointwise(std::string_view name) {
  return capture::Operators().named(std::string(name)).pointwise;
}

}  // namespace

TEST_CASE("every operator with a lowering row has an axis rule", "[capture]") {
  for (const lower::Table& table : lower::tables())
    for (const lower::Lowering& row : table)
      for (std::string_view name : row.names) {
        // Those of libraries outside LibTorch are registered only where a model needs them.
        if (!name.starts_with("aten::") || !gives_tensors(row.signature)) continue;
        INFO(name << ": add a row to its family in lib/capture/axes");
        CHECK((capture::axis_row(base_of(name)) || pointwise(name)));
      }
}

TEST_CASE("an operator has one axis rule, and LibTorch knows the operator", "[capture]") {
  std::set<std::string_view> seen;
  for (const auto& table : capture::axis_tables())
    for (const capture::AxisRow& row : table) {
      INFO(row.name);
      CHECK(seen.insert(row.name).second);
      if (row.name.starts_with("aten::"))
        CHECK_FALSE(
            torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(std::string(row.name)))
                .empty());
    }
}

}  // namespace oe
