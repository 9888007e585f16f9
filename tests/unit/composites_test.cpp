// Every composite against the operator it stands for.
#include "lib/capture/composites.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <catch2/catch.hpp>

namespace oe {

TEST_CASE("a composite takes what its operator takes", "[capture]") {
  REQUIRE_FALSE(capture::composites().empty());
  for (torch::jit::Function* f : capture::composites()) {
    std::string name = f->name(), overload;
    if (const size_t split = name.find("__"); split != std::string::npos) {
      overload = name.substr(split + 2);
      name.resize(split);
    }
    INFO(f->name());
    const auto op = torch::jit::findOperatorFor({"aten::" + name, overload});
    REQUIRE(op);
    CHECK(capture::composite("aten::" + name + (overload.empty() ? "" : "." + overload)) == f);
    const auto &own = f->getSchema().arguments(), &theirs = op->schema().arguments();
    REQUIRE(own.size() == theirs.size());
    for (size_t i = 0; i < own.size(); ++i) {
      INFO(theirs[i].name());
      CHECK(own[i].name() == theirs[i].name());
      CHECK(theirs[i].type()->isSubtypeOf(*own[i].type()));
    }
  }
}

}  // namespace oe
