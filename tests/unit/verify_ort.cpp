// ONNX Runtime sessions: every element type, sequences, errors. Skipped visibly where it is absent.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "lib/onnx/onnx.h"
#include "lib/verify/ort.h"
#include "tests/unit/ort_or_skip.h"

using namespace oe;
using Catch::Matchers::Contains;

namespace {

std::vector<HostValue> run(verify::Ort& o, const char* text, std::vector<TensorPtr> inputs) {
  std::vector<HostValue> values;
  for (auto& t : inputs) {
    values.emplace_back();
    values.back().tensor = std::move(t);
  }
  return o.open_bytes(onnx::write_bytes(onnx::parse_text(text)), 1)->run(values);
}

}  // namespace

TEST_CASE("a model runs", "[verify][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  CHECK_THAT(o->version(), Contains("."));
  CHECK(o->newest_opset() >= 21);
  const auto out = run(*o, R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[n] x, int64[1] i) => (float[n] y, int64[1] s) { y = Neg(x)  s = Add(i, i) })",
                       {Tensor::of<float>(DType::Float, {2}, {1, -2}),
                        Tensor::of<int64_t>(DType::Int64, {1}, {21})});
  REQUIRE(out.size() == 2);
  CHECK(out[0].tensor->as_double() == std::vector<double>{-1, 2});
  CHECK(out[1].tensor->as_int64() == std::vector<int64_t>{42});
}

TEST_CASE("element types pass through", "[verify][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  const auto check = [&](const char* type, TensorPtr t) {
    const std::string text = std::string(R"(<ir_version: 8, opset_import: ["": 17]> g ()") + type +
                             "[2] x) => (" + type + "[2] y) { y = Identity(x) }";
    const auto out = run(*o, text.c_str(), {t});
    CHECK(out[0].tensor->dtype() == t->dtype());
    CHECK(out[0].tensor->strings() == t->strings());
    CHECK((t->nbytes() == 0 || std::memcmp(out[0].tensor->data(), t->data(), t->nbytes()) == 0));
  };
  check("float16", Tensor::of<uint16_t>(DType::Float16, {2}, {0x3c00, 0x4000}));
  check("bfloat16", Tensor::of<uint16_t>(DType::BFloat16, {2}, {0x3f80, 0x4000}));
  check("bool", Tensor::of<uint8_t>(DType::Bool, {2}, {1, 0}));
  check("int8", Tensor::of<int8_t>(DType::Int8, {2}, {-1, 2}));
  check("uint8", Tensor::of<uint8_t>(DType::UInt8, {2}, {255, 2}));
  check("int16", Tensor::of<int16_t>(DType::Int16, {2}, {-1, 2}));
  check("int32", Tensor::of<int32_t>(DType::Int32, {2}, {-1, 2}));
  check("double", Tensor::of<double>(DType::Double, {2}, {-1, 2}));
  check("uint64", Tensor::of<uint64_t>(DType::UInt64, {2}, {1, 2}));
  check("string", std::make_shared<Tensor>(std::vector<int64_t>{2},
                                           std::vector<std::string>{"", "some text"}));
}

TEST_CASE("sequences and optionals", "[verify][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  auto m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 17]>
    g (seq(float[n]) s, float[n] x) => (seq(float[n]) t) { t = SequenceInsert(s, x) })");
  HostValue s, x;
  s.kind = HostValue::Kind::Sequence;
  s.sequence = {Tensor::of<float>(DType::Float, {1}, {1}),
                Tensor::of<float>(DType::Float, {2}, {2, 3})};
  x.tensor = Tensor::of<float>(DType::Float, {1}, {4});
  const auto out = o->open_bytes(onnx::write_bytes(m), 1)->run({s, x});
  REQUIRE(out[0].kind == HostValue::Kind::Sequence);
  REQUIRE(out[0].sequence.size() == 3);
  CHECK(out[0].sequence[1]->as_double() == std::vector<double>{2, 3});
  CHECK(out[0].sequence[2]->as_double() == std::vector<double>{4});
}

TEST_CASE("what the writer makes loads: external data, nested constants, IR version 3",
          "[verify][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "onnx-export-test-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  const auto ones = [](float v) {
    return Tensor::of<float>(DType::Float, {400}, std::vector<float>(400, v));
  };
  for (int64_t opset : {8, 9, 17}) {
    ir::Model m;
    m.opsets[""] = opset;
    const ir::Type type = ir::Type::tensor(DType::Float, std::vector{Dim::of(400)});
    ir::Value* c = m.new_value("c", ir::Type::tensor(DType::Bool, std::vector<Dim>{}));
    ir::Value* w = m.new_initializer("w", ones(3));
    ir::Value* y = m.new_value("y", type);
    const auto branch = [&](float v) {
      auto g = std::make_shared<ir::Graph>();
      ir::Value* k = m.new_value("k", type);
      ir::Value* r = m.new_value("r", type);
      g->nodes.push_back(ir::make_node(m, "k", "Constant", {}, {k}, {{"value", ones(v)}}));
      g->nodes.push_back(ir::make_node(m, "add", "Add", {w, k}, {r}));
      g->outputs = {r};
      return g;
    };
    m.graph.inputs = {c};
    m.graph.outputs = {y};
    m.graph.nodes.push_back(ir::make_node(
        m, "if", "If", {c}, {y}, {{"then_branch", branch(1)}, {"else_branch", branch(2)}}));
    CHECK(onnx::check(m) == "");
    for (auto external :
         {onnx::WriteOptions::External::Never, onnx::WriteOptions::External::Always}) {
      onnx::WriteOptions options;
      options.external = external;
      options.external_file = "m.data";
      onnx::write(m, options, nullptr, fs::path(folder) / "m.onnx", fs::path(folder) / "m.data");
      auto session = o->open_file(fs::path(folder) / "m.onnx", 1);
      CHECK(session->input_names() == std::vector<std::string>{"c"});
      for (uint8_t condition : {0, 1}) {
        HostValue input;
        input.tensor = Tensor::of<uint8_t>(DType::Bool, {}, {condition});
        const auto out = session->run({input});
        CHECK(out[0].tensor->as_double() == std::vector<double>(400, condition ? 4 : 5));
      }
    }
  }
  fs::remove_all(folder);
}

TEST_CASE("errors carry ONNX Runtime's message", "[verify][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  CHECK_THROWS_WITH(o->open_bytes("nonsense", 1), Contains("protobuf"));
  CHECK_THROWS_WITH(o->open_file(std::filesystem::path("/nonexistent.onnx"), 1),
                    Contains("nonexistent"));
  CHECK_THROWS(run(*o, R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] y) { y = Neg(x) })",
                   {Tensor::of<int64_t>(DType::Int64, {2}, {1, 2})}));
  std::string why;
  CHECK(verify::Ort::load("/nonexistent/libonnxruntime.so", why) == nullptr);
  CHECK_THAT(why, Contains("nonexistent"));
}
