// Attributes, names, printing and verification of ONNX graphs.
#include <catch2/catch.hpp>
#include <limits>

#include "lib/ir/ir.h"
#include "lib/onnx/onnx.h"

using namespace oe;
using namespace oe::ir;

namespace {

Type float_type(std::vector<Dim> dims) { return Type::tensor(DType::Float, std::move(dims)); }

// y = Relu (x)
Model small() {
  Model m;
  m.opsets[""] = 21;
  m.graph.name = "g";
  Value* x = m.new_value("x", float_type({Dim::named("batch"), Dim::of(3)}));
  Value* y = m.new_value("y", float_type({Dim::named("batch"), Dim::of(3)}));
  m.graph.inputs = {x};
  m.graph.outputs = {y};
  m.graph.nodes.push_back(make_node(m, "Relu", "Relu", {x}, {y}));
  return m;
}

bool reports(const Model& m, const std::string& text) {
  for (const std::string& p : verify(m))
    if (p.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("attributes are ordered by name and typed", "[ir]") {
  Attributes a = {{"perm", Ints{1, 0}}, {"axis", int64_t{2}}, {"mode", std::string("linear")}};
  std::string order;
  for (const auto& [key, value] : a) order += key + " ";
  CHECK(order == "axis mode perm ");
  CHECK(a.get_or<int64_t>("axis", 0) == 2);
  CHECK(a.get_or<int64_t>("group", 7) == 7);
  CHECK(a.get<float>("axis") == nullptr);
  a.set("axis", int64_t{3});
  CHECK(a.size() == 3);
  CHECK(*a.get<int64_t>("axis") == 3);
  CHECK(a.erase("mode"));
  CHECK_FALSE(a.erase("mode"));
  CHECK(a.find("mode") == nullptr);
}

TEST_CASE("names are unique over values and nodes", "[ir]") {
  NameAuthority n;
  CHECK(n.unique("x") == "x");
  CHECK(n.unique("x") == "x_1");
  CHECK(n.unique("x_2") == "x_2");
  CHECK(n.unique("x") == "x_3");
  CHECK(n.unique("") == "v");
  CHECK(n.taken("x_1"));
  CHECK_FALSE(n.taken("z"));
}

TEST_CASE("printed text is what the ONNX parser reads", "[ir]") {
  Model m = small();
  Value* c = m.new_initializer("flag", Tensor::of<uint8_t>(DType::Bool, {}, {1}));
  const float inf = std::numeric_limits<float>::infinity();
  m.new_initializer("layer.weight", Tensor::of<float>(DType::Float, {3}, {-inf, 1e-7f, -0.0f}));
  m.new_initializer("half", Tensor::of<uint16_t>(DType::Float16, {1}, {0x3c00}));
  m.new_initializer("low",
                    Tensor::of<int64_t>(DType::Int64, {1}, {std::numeric_limits<int64_t>::min()}));
  m.new_initializer("text", std::make_shared<const Tensor>(std::vector<int64_t>{1},
                                                           Strings{"a \"quoted\" \\ word"}));
  auto branch = [&](std::string_view op, std::string name) {
    auto g = std::make_shared<Graph>();
    g->name = std::move(name);
    Value* out = m.new_value("branch");
    g->outputs = {out};
    g->nodes.push_back(make_node(m, op, op, {m.graph.inputs[0]}, {out}));
    return g;
  };
  Value* z = m.new_value("z", float_type({Dim::unknown(), Dim::of(3)}));
  m.graph.outputs.push_back(z);
  m.graph.nodes.push_back(make_node(
      m, "If", "If", {c}, {z},
      {{"then_branch", branch("Exp", "then/branch")}, {"else_branch", branch("Neg", "float")}}));
  Value* w = m.new_value("w");
  m.graph.nodes.push_back(
      make_node(m, "Resize", "Resize", {z, nullptr, m.graph.initializers[1]}, {w},
                {{"axes", Ints{}}, {"cubic_coeff_a", -1.0f}, {"mode", std::string("nearest")}}));
  const std::string text = print(m);
  INFO(text);
  CHECK(verify(m).empty());
  Model back = onnx::parse_text(text);
  CHECK(verify(back).empty());
  // Types of intermediate values are comments, and empty lists keep their type.
  for (Value& v : back.values)
    if (!v.data) v.type = {};
  for (Value& v : m.values)
    if (!v.data) v.type = {};
  CHECK(print(back) == print(m));
  const auto* axes = back.graph.nodes[2]->attributes.get<Ints>("axes");
  REQUIRE(axes);
  CHECK(axes->empty());
  CHECK(back.graph.nodes[2]->inputs[1] == nullptr);
}

TEST_CASE("large initializers are abbreviated", "[ir]") {
  Model m = small();
  m.new_initializer("w", Tensor::of<float>(DType::Float, {10, 10}, std::vector<float>(100)));
  CHECK(print(m).find("float[10,10] w = <100 elements>") != std::string::npos);
}

TEST_CASE("a well formed model has no problems", "[ir]") { CHECK(verify(small()).empty()); }

TEST_CASE("problems of a model are named", "[ir]") {
  Model m = small();
  Node& relu = *m.graph.nodes[0];
  SECTION("use before definition") {
    Value* late = m.new_value("late");
    Value* z = m.new_value("z");
    m.graph.nodes.insert(m.graph.nodes.begin(), make_node(m, "Neg", "Neg", {late}, {z}));
    m.graph.nodes.push_back(make_node(m, "Exp", "Exp", {z}, {late}));
    CHECK(reports(m, "uses 'late' before it is defined"));
  }
  SECTION("two definitions") {
    m.graph.nodes.push_back(make_node(m, "Neg", "Neg", {m.graph.inputs[0]}, {relu.outputs[0]}));
    CHECK(reports(m, "'y' is defined more than once"));
  }
  SECTION("a name twice") {
    Value* z = m.new_value("z");
    z->name = "x";
    m.graph.nodes.push_back(make_node(m, "Neg", "Neg", {relu.outputs[0]}, {z}));
    CHECK(reports(m, "name 'x' is used more than once"));
  }
  SECTION("wrong producer") {
    relu.outputs[0]->producer = nullptr;
    CHECK(reports(m, "names no node as its producer"));
  }
  SECTION("an output that nothing defines") {
    m.graph.outputs.push_back(m.new_value("z"));
    CHECK(reports(m, "output 'z' of graph 'g' is not defined"));
  }
  SECTION("an output twice") {
    m.graph.outputs.push_back(m.graph.outputs[0]);
    CHECK(reports(m, "is listed twice"));
  }
  SECTION("a domain that is not imported") {
    relu.domain = "com.example";
    CHECK(reports(m, "domain 'com.example' is not imported"));
  }
  SECTION("an initializer whose type is not its data's") {
    Value* w = m.new_initializer("w", Tensor::of<float>(DType::Float, {2}, {1, 2}));
    w->type.shape = std::vector<Dim>{Dim::of(3)};
    CHECK(reports(m, "initializer 'w' does not match"));
  }
  SECTION("a nested graph whose output is an outer value") {
    auto g = std::make_shared<Graph>();
    g->name = "t";
    g->outputs = {m.graph.inputs[0]};
    Value* z = m.new_value("z");
    m.graph.nodes.push_back(make_node(m, "If", "If", {m.graph.inputs[0]}, {z},
                                      {{"then_branch", g}, {"else_branch", g}}));
    CHECK(reports(m, "needs an Identity"));
  }
  SECTION("a nested value used outside") {
    auto g = std::make_shared<Graph>();
    g->name = "t";
    Value* inner = m.new_value("inner");
    g->outputs = {inner};
    g->nodes.push_back(make_node(m, "Exp", "Exp", {m.graph.inputs[0]}, {inner}));
    Value* z = m.new_value("z");
    m.graph.nodes.push_back(
        make_node(m, "If", "If", {m.graph.inputs[0]}, {z}, {{"then_branch", g}}));
    Value* w = m.new_value("w");
    m.graph.nodes.push_back(make_node(m, "Neg", "Neg", {inner}, {w}));
    CHECK(reports(m, "uses 'inner' before it is defined"));
  }
}

TEST_CASE("a copy shares no node, value or nested graph", "[ir]") {
  Model m = small();
  Value* condition = m.new_initializer("c", Tensor::of<uint8_t>(DType::Bool, {}, {1}));
  Value *inner = m.new_value("inner"), *result = m.new_value("result");
  auto branch = std::make_shared<Graph>();
  branch->outputs = {inner};
  branch->nodes.push_back(make_node(m, "Neg", "Neg", {m.graph.inputs[0]}, {inner}));
  m.graph.nodes.push_back(make_node(m, "If", "If", {condition}, {result},
                                    {{"then_branch", branch}, {"else_branch", branch}}));
  m.graph.outputs.push_back(result);
  const std::string before = print(m);

  Model c = copy(m);
  CHECK(print(c) == before);
  CHECK(c.graph.nodes[0]->outputs[0]->producer == c.graph.nodes[0].get());
  CHECK(c.graph.initializers[0]->data == condition->data);
  for_each_graph(c.graph, [](Graph& g) {
    for (auto& n : g.nodes) {
      n->op = "Abs";
      for (Value* v : n->inputs)
        if (v) v->name += "_own";
    }
  });
  c.names.unique("later");
  CHECK(print(m) == before);
  CHECK_FALSE(m.names.taken("later"));
  CHECK(print(c) != before);
}
