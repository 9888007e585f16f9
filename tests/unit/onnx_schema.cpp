// The schema cache: what the ONNX library's registry says, as plain data.
#include <algorithm>
#include <catch2/catch.hpp>

#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"

using namespace oe;

TEST_CASE("versions and limits", "[onnx]") {
  CHECK(onnx::newest_opset() == kNewestOpset);
  CHECK(onnx::newest_ir_version() == 14);
  CHECK(onnx::ir_version_for_opset(7) == 3);
  CHECK(onnx::ir_version_for_opset(8) == 3);
  CHECK(onnx::ir_version_for_opset(9) == 4);
  CHECK(onnx::ir_version_for_opset(11) == 6);
  CHECK(onnx::ir_version_for_opset(13) == 7);
  CHECK(onnx::ir_version_for_opset(15) == 8);
  CHECK(onnx::ir_version_for_opset(19) == 9);
  CHECK(onnx::ir_version_for_opset(21) == 10);
  CHECK(onnx::ir_version_for_opset(23) == 11);
  CHECK(onnx::ir_version_for_opset(26) == 13);
  CHECK(onnx::ir_version_for_opset(28) == 14);
}

TEST_CASE("a schema's facts", "[onnx]") {
  const onnx::Schema* split = onnx::find_schema("", "Split", 17);
  REQUIRE(split);
  CHECK(split->since_version == 13);
  CHECK(split->attribute("num_outputs") == nullptr);
  CHECK(split->inputs.at(1).optional);
  CHECK(split->outputs.at(0).variadic);
  REQUIRE(split->attribute("axis"));
  CHECK(split->attribute("axis")->has_default);
  CHECK(std::get<int64_t>(split->attribute("axis")->default_value) == 0);

  const onnx::Schema* newer = onnx::find_schema("", "Split", 18);
  CHECK(newer != split);
  CHECK(newer->attribute("num_outputs"));
  CHECK(onnx::find_schema("", "Split", 14) == split);
  CHECK(onnx::versions("", "Split") == std::vector<int64_t>{1, 2, 11, 13, 18});

  const onnx::Schema* conv = onnx::find_schema("", "Conv", 11);
  CHECK(conv->min_inputs == 2);
  CHECK(conv->max_inputs == 3);
  CHECK(conv->constraints.at("T") ==
        std::vector<std::string>{"tensor(float16)", "tensor(float)", "tensor(double)"});

  CHECK(onnx::find_schema("", "GridSample", 15) == nullptr);
  CHECK(onnx::find_schema("", "GridSample", 16) != nullptr);
  CHECK(onnx::find_schema("", "NoSuchOperator", 28) == nullptr);
  CHECK(onnx::find_schema("", "Upsample", 11)->deprecated);
  CHECK(onnx::find_schema("", "LayerNormalization", 17)->has_function_body);
  CHECK(onnx::find_schema("ai.onnx", "Relu", 14) == onnx::find_schema("", "Relu", 14));
}

TEST_CASE("operators of an opset", "[onnx]") {
  const auto at7 = onnx::operators(7), at28 = onnx::operators(28);
  const auto has = [](const auto& list, const char* op) {
    return std::binary_search(list.begin(), list.end(), op);
  };
  CHECK(has(at7, "Upsample"));
  CHECK_FALSE(has(at28, "Upsample"));
  CHECK_FALSE(has(at7, "LayerNormalization"));
  CHECK(has(at28, "LayerNormalization"));
  CHECK(at28.size() > at7.size());
}

namespace {

// The element type of the first node's output number `index`.
DType dtype(const char* text, size_t index = 0) {
  const ir::Model m = onnx::parse_text(text);
  const ir::Node& n = *m.graph.nodes.back();
  return onnx::output_dtype(*onnx::find_schema(n.domain, n.op, m.opset()), n, index);
}

}  // namespace

TEST_CASE("output element types", "[onnx]") {
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float16[2] x) => (float16[2] y) { y = Relu(x) })") == DType::Float16);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (int64[1] y) { y = Shape(x) })") == DType::Int64);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (double[2] y) { y = Cast<to = 11>(x) })") == DType::Double);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x, float[2] z) => (bool[2] y) { y = Less(x, z) })") == DType::Bool);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[1] y, int64[1] i) { y, i = TopK<axis = 0>(x, x) })",
              1) == DType::Int64);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (int64[2] x) => (float[?] y) { y = ConstantOfShape(x) })") == DType::Float);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (int64[2] x) => (int32[1] y) { y = ConstantOfShape<value = int32[1] {7}>(x) })") ==
        DType::Int32);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (double[2] x) => (double[2] y) { y = RandomNormalLike(x) })") == DType::Double);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g () => (float[2] y) { y = RandomNormal<shape = [2]>() })") == DType::Float);
  CHECK(dtype(R"(<ir_version: 8, opset_import: ["": 17]>
    g (bool c, int32[2] a) => (int32[2] y) {
      y = If (c) <then_branch = t () => (int32[2] r) { r = Identity(a) },
                  else_branch = e () => (int32[2] q) { q = Neg(a) }> })") == DType::Int32);
  CHECK(dtype(R"(<ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, float s) => (uint8[2] y) { y = QuantizeLinear(x, s) })") == DType::UInt8);
  CHECK(dtype(R"(<ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, float s, int8 z) => (int8[2] y) { y = QuantizeLinear(x, s, z) })") ==
        DType::Int8);
}
