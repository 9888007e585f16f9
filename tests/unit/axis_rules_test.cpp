// Every operator that can be lowered says how the axes of its results come about.
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>
#include <set>

#include "lib/capture/axes/axes.h"
#include "lib/lower/lowering.h"
#include "lib/lower/state.h"

namespace oe {
namespace {

// "aten::add" of "aten::add.Tensor(Tensor self, ...) -> Tensor".
std::string base_of(std::string_view schema) {
  return std::string(schema.substr(0, schema.find_first_of(".(")));
}

bool gives_tensors(std::string_view schema) {
  return schema.substr(schema.rfind("->")).find("Tensor") != std::string_view::npos;
}

// Pointwise by LibTorch's own tag: the result is the broadcast of the arguments.
bool pointwise(std::string_view schema) {
  const std::string name(schema.substr(0, schema.find('(')));
  return capture::Operators().named(name).pointwise;
}

}  // namespace

TEST_CASE("every operator with a lowering row has an axis rule", "[capture]") {
  for (const lower::Table& table : lower::tables())
    for (const lower::Lowering& row : table) {
      // Those of libraries outside LibTorch are registered only where a model needs them.
      if (!row.schema.starts_with("aten::") || !gives_tensors(row.schema)) continue;
      INFO(row.schema << ": add a row to its family in lib/capture/axes");
      CHECK((capture::axis_row(base_of(row.schema)) || pointwise(row.schema)));
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
