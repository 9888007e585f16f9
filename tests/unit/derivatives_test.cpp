// Every vector-Jacobian product against the operator and argument that it is of.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>
#include <set>

#include "lib/capture/operators/composites.h"

namespace oe {

TEST_CASE(
    "a rule of derivatives names an operator, one of its arguments, and what it needs of them",
    "[capture]") {
  const std::set<std::string> given = {"grad", "grads", "given", "result", "results"};
  REQUIRE_FALSE(capture::composites(capture::CompositeOf::Derivative).empty());
  for (const auto& [name, f] : capture::composites(capture::CompositeOf::Derivative)) {
    INFO(name);
    if (name == "aten::summed_rows") continue;  // the caller's own
    const size_t dot = name.find('.');
    REQUIRE(dot != std::string::npos);
    const size_t split = name.find("__", dot);
    const bool overload = split != std::string::npos;
    const auto op = torch::jit::findOperatorFor(
        {name.substr(0, dot), overload ? name.substr(dot + 1, split - dot - 1) : ""});
    REQUIRE(op);
    const c10::FunctionSchema& schema = op->schema();
    CHECK(schema.argumentIndexWithName(name.substr(overload ? split + 2 : dot + 1)));
    for (const c10::Argument& p : f->getSchema().arguments()) {
      INFO(p.name());
      const auto own = schema.argumentIndexWithName(p.name());
      CHECK((own || given.contains(p.name())));
      if (own) CHECK(schema.arguments()[static_cast<size_t>(*own)].type()->isSubtypeOf(*p.type()));
    }
  }
}

}  // namespace oe
