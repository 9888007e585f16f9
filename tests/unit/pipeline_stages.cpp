// Stages are checked where the environment asks for it.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "lib/pipeline/stages.h"
#include "lib/support/diagnostics.h"

using namespace oe;

namespace {

// An output that nothing computes.
ir::Model malformed() {
  ir::Model m;
  m.opsets[""] = 21;
  m.graph.name = "g";
  m.graph.outputs = {m.new_value("y", ir::Type::tensor(DType::Float, std::vector<Dim>{}))};
  return m;
}

void hand_on(const ir::Model& m) {
  const Options options;
  std::vector<StageTime> times;
  std::ostringstream out;
  Stages(options, times, out, {}).made("optimize", m);
}

}  // namespace

TEST_CASE("ONNX_EXPORT_VERIFY_STAGES checks what each stage hands on", "[pipeline]") {
  const ir::Model m = malformed();
  REQUIRE_FALSE(ir::verify(m).empty());
  setenv("ONNX_EXPORT_VERIFY_STAGES", "1", /*overwrite=*/1);
  CHECK_THROWS_WITH(hand_on(m), Catch::Matchers::Contains("stage optimize is malformed"));
  unsetenv("ONNX_EXPORT_VERIFY_STAGES");
#ifdef NDEBUG
  CHECK_NOTHROW(hand_on(m));
#else
  CHECK_THROWS_WITH(hand_on(m), Catch::Matchers::Contains("stage optimize is malformed"));
#endif
}
