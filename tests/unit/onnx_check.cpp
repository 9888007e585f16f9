// The checker, shape inference and function bodies on ONNX text.
#include <catch2/catch.hpp>
#include <chrono>

#include "lib/onnx/onnx.h"

using namespace oe;
using Catch::Matchers::Contains;

namespace {

ir::Value* value(ir::Model& m, const std::string& name) {
  for (ir::Value& v : m.values)
    if (v.name == name) return &v;
  FAIL("no value " << name);
  return nullptr;
}

TensorPtr zeros(std::vector<int64_t> dims) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  return Tensor::of<float>(DType::Float, std::move(dims), std::vector<float>(n));
}

// x -> Relu -> Neg -> Relu ... -> y, with a bias added every tenth step.
ir::Model chain(int length) {
  ir::Model m;
  m.opsets[""] = 18;
  const ir::Type type = ir::Type::tensor(DType::Float, std::vector{Dim::named("n"), Dim::of(8)});
  ir::Value* v = m.new_value("x", type);
  m.graph.inputs.push_back(v);
  ir::Value* bias = m.new_initializer("bias", zeros({8}));
  for (int i = 0; i < length; ++i) {
    ir::Value* next = m.new_value("v", type);
    std::vector<ir::Value*> inputs{v};
    if (i % 10 == 9) inputs.push_back(bias);
    m.graph.nodes.push_back(ir::make_node(m, "node",
                                          inputs.size() == 2 ? "Add"
                                          : i % 2            ? "Neg"
                                                             : "Relu",
                                          inputs, {next}));
    v = next;
  }
  m.graph.outputs.push_back(v);
  return m;
}

}  // namespace

TEST_CASE("the checker accepts and rejects", "[onnx]") {
  const auto check = [](const char* text) { return onnx::check(onnx::parse_text(text)); };
  CHECK(check(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) })") == "");
  // A type the operator does not take: only the full check sees it.
  const char* wrong_type = R"(<ir_version: 8, opset_import: ["": 17]>
    g (string[3] x) => (string[3] y) { y = Relu(x) })";
  CHECK_THAT(check(wrong_type), Contains("Relu"));
  CHECK(onnx::check(onnx::parse_text(wrong_type), /*full=*/false) == "");
  CHECK_THAT(check(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 3] x, float[4, 5] z) => (float[2, 5] y) { y = MatMul(x, z) })"),
             Contains("MatMul"));
  CHECK_THAT(check(R"(<ir_version: 8, opset_import: ["": 15]>
    g (float[1,1,4,4] x, float[1,2,2,2] z) => (float[1,1,2,2] y) { y = GridSample(x, z) })"),
             Contains("GridSample"));
  CHECK_THAT(check(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] y) { y = Relu<alpha = 1.0>(x) })"),
             Contains("alpha"));
}

TEST_CASE("below IR version 4 initializers are inputs too", "[onnx]") {
  ir::Model m = chain(12);
  m.opsets[""] = 8;
  CHECK(onnx::check(m) == "");
  const std::string bytes = onnx::write_bytes(m);
  const ir::Model back = onnx::read_bytes(bytes);
  CHECK(back.ir_version == 3);
  CHECK(back.graph.inputs.size() == 1);
  CHECK(back.graph.initializers.size() == 1);
}

TEST_CASE("large weights are checked without their bytes, small ones with them", "[onnx]") {
  ir::Model m;
  m.opsets[""] = 18;
  ir::Value* x =
      m.new_value("x", ir::Type::tensor(DType::Float, std::vector{Dim::of(2), Dim::of(4096)}));
  ir::Value* w = m.new_initializer("w", zeros({4096, 6}));
  ir::Value* shape = m.new_initializer("shape", Tensor::of<int64_t>(DType::Int64, {2}, {3, 4}));
  ir::Value* product = m.new_value("product");
  ir::Value* y = m.new_value("y");
  m.graph.inputs = {x};
  m.graph.outputs = {y};
  m.graph.nodes.push_back(ir::make_node(m, "a", "MatMul", {x, w}, {product}));
  m.graph.nodes.push_back(ir::make_node(m, "b", "Reshape", {product, shape}, {y}));
  onnx::infer(m);
  CHECK(to_string(product->type.shape) == "[2,6]");
  CHECK(to_string(y->type.shape) == "[3,4]");
  CHECK(y->type.dtype == DType::Float);
  CHECK(onnx::check(m) == "");
  w->data = zeros({4095, 6});  // does not fit x
  CHECK_THAT(onnx::check(m), Contains("MatMul"));
}

TEST_CASE("inference fills gaps and keeps what is known", "[onnx]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[batch, 3] x) => (y, s) {
      r = Relu(x)
      t = Transpose<perm = [1, 0]>(r)
      nz = NonZero(t)
      y = Add(t, t)
      s = Shape(nz)
    })");
  value(m, "r")->type =
      ir::Type::tensor(DType::Float, std::vector{Dim::named("mine"), Dim::unknown()});
  onnx::infer(m);
  CHECK(to_string(value(m, "r")->type.shape) == "[mine,3]");
  CHECK(value(m, "nz")->type.dtype == DType::Int64);
  // The library invents a symbol for the number of hits; to us it is unknown.
  CHECK(to_string(value(m, "nz")->type.shape) == "[2,?]");
  CHECK(value(m, "y")->type.dtype == DType::Float);
}

TEST_CASE("inference reaches nested graphs", "[onnx]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 17]>
    g (bool c, float[2, n] a) => (y) {
      y = If (c) <then_branch = t () => (p) { h = Neg(a)  p = Relu(h) },
                  else_branch = e () => (q) { q = Identity(a) }>
    })");
  onnx::infer(m);
  CHECK(to_string(value(m, "h")->type.shape) == "[2,n]");
  CHECK(to_string(value(m, "y")->type.shape) == "[2,n]");
}

TEST_CASE("what inference follows has bounds", "[onnx]") {
  // Sixty doublings of two numbers, and an axis more in each step.
  ir::Model m;
  m.opsets[""] = 18;
  ir::Value* numbers = m.new_initializer("c", Tensor::of<int64_t>(DType::Int64, {2}, {1, 2}));
  ir::Value* x = m.new_value("x", ir::Type::tensor(DType::Float, std::vector{Dim::of(4)}));
  ir::Value* axis = m.new_initializer("axis", Tensor::of<int64_t>(DType::Int64, {1}, {0}));
  m.graph.inputs = {x};
  const auto step = [&](const std::string& op, std::vector<ir::Value*> inputs, ir::Attributes a) {
    ir::Value* v = m.new_value(op);
    m.graph.nodes.push_back(ir::make_node(m, op, op, std::move(inputs), {v}, std::move(a)));
    return v;
  };
  for (int i = 0; i < 60; ++i) numbers = step("Concat", {numbers, numbers}, {{"axis", int64_t{0}}});
  std::vector<ir::Value*> ranks = {x};
  for (int i = 0; i < 1000; ++i) ranks.push_back(step("Unsqueeze", {ranks.back(), axis}, {}));
  m.graph.outputs = {numbers, ranks.back()};
  onnx::infer(m);
  CHECK(numbers->type.shape);
  CHECK(ranks[100]->type.shape->size() == 101);
  CHECK_FALSE(ranks[500]->type.shape);
}

TEST_CASE("function bodies", "[onnx]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 3] x, float[3] s) => (float[2, 3] y) { y = LayerNormalization<epsilon = 0.5>(x, s) })");
  const auto node = std::move(m.graph.nodes[0]);
  std::vector<std::unique_ptr<ir::Node>> out;
  REQUIRE(onnx::expand_function(m, *node, 17, out));
  CHECK(out.size() > 5);
  m.graph.nodes = std::move(out);
  REQUIRE(m.graph.outputs[0]->producer);
  CHECK(m.graph.outputs[0]->producer->name.starts_with(node->name + "/"));
  CHECK(onnx::check(m) == "");
  CHECK(ir::verify(m) == std::vector<std::string>{});
  for (const auto& n : m.graph.nodes)
    for (const ir::Value* v : n->outputs)
      if (v) CHECK(v->type.dtype != DType::Undefined);

  const ir::Model plain = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] y) { y = Sin(x) })");
  ir::Model copy;
  CHECK_FALSE(onnx::expand_function(copy, *plain.graph.nodes[0], 17, out));
}

TEST_CASE("an attribute-only function body keeps its defaults", "[onnx]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 18]>
    g (float[2] x) => (float[2] y) { y = ThresholdedRelu(x) })");
  std::vector<std::unique_ptr<ir::Node>> out;
  const auto node = std::move(m.graph.nodes[0]);
  REQUIRE(onnx::expand_function(m, *node, 18, out));
  m.graph.nodes = std::move(out);
  CHECK(onnx::check(m) == "");
}

TEST_CASE("text errors say where", "[onnx]") {
  CHECK_THROWS_WITH(onnx::parse_text("<ir_version: 8> g (float x) => { }"), Contains("line"));
}

TEST_CASE("time of the boundary on long chains", "[.][bench]") {
  for (int n : {1000, 10000, 100000}) {
    ir::Model m = chain(n);
    const auto time = [&](const char* what, auto&& f) {
      const auto start = std::chrono::steady_clock::now();
      f();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      WARN(n << " nodes, " << what << ": " << took.count() << " ms");
    };
    time("check", [&] { CHECK(onnx::check(m) == ""); });
    time("infer", [&] { onnx::infer(m); });
    time("write", [&] { CHECK(onnx::write_bytes(m).size() > 0); });
    const std::string bytes = onnx::write_bytes(m);
    time("read", [&] { CHECK(onnx::read_bytes(bytes).graph.nodes.size() == size_t(n)); });
  }
}
