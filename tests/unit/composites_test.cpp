// Every composite against the operator it stands for.
#include "lib/capture/operators/composites.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace oe {

TEST_CASE("a composite takes what its operator takes", "[capture]") {
  REQUIRE_FALSE(capture::composites().empty());
  for (const auto& [name, f] : capture::composites()) {
    const size_t split = std::min(name.find('.'), name.size());
    INFO(name);
    const auto op = torch::jit::findOperatorFor(
        {name.substr(0, split), split < name.size() ? name.substr(split + 1) : ""});
    REQUIRE(op);
    CHECK(std::ranges::any_of(capture::kCompositeOf, [&](capture::CompositeOf of) {
      return capture::composite_of(of, name) == f;
    }));
    const auto &own = f->getSchema().arguments(), &theirs = op->schema().arguments();
    REQUIRE(own.size() == theirs.size());
    for (size_t i = 0; i < own.size(); ++i) {
      INFO(theirs[i].name());
      // A keyword is no name in the files.
      const std::string& theirs_is = theirs[i].name();
      CHECK(own[i].name() == (theirs_is == "from" ? "from_" : theirs_is));
      CHECK(theirs[i].type()->isSubtypeOf(*own[i].type()));
    }
  }
}

}  // namespace oe
