// The optimizer on long chains: linear, and the same after a second run.
#include <catch2/catch.hpp>
#include <ctime>

#include "lib/optimize/optimize.h"

using namespace oe;
using namespace oe::ir;

namespace {

// Blocks of x.view(x.size(0), -1), two transposes that undo each other, and a Relu.
Model chain(int blocks) {
  Model m;
  m.opsets[""] = 28;
  m.graph.name = "chain";
  const Dim batch = Dim::named("batch"), wide = Dim::of(64);
  const Type type = Type::tensor(DType::Float, std::vector<Dim>{batch, wide});
  Value* x = m.new_value("x", type);
  m.graph.inputs = {x};
  auto add = [&](std::string_view op, std::vector<Value*> in, Type t, Attributes a = {}) {
    Value* out = m.new_value(std::string(op) + "_output_0", std::move(t));
    m.graph.nodes.push_back(make_node(m, op, op, std::move(in), {out}, std::move(a)));
    return out;
  };
  auto ints = [&](std::vector<int64_t> dims, int64_t v) {
    return m.new_initializer("const", Tensor::of<int64_t>(DType::Int64, std::move(dims), {v}));
  };
  auto sizes = [](std::vector<Dim> dims) { return Type::tensor(DType::Int64, std::move(dims)); };
  for (int i = 0; i < blocks; ++i) {
    Value* n = add("Gather", {add("Shape", {x}, sizes({Dim::of(2)})), ints({}, 0)}, sizes({}));
    Value* u = add("Unsqueeze", {n, ints({1}, 0)}, sizes({Dim::of(1)}));
    Value* shape = add("Concat", {u, ints({1}, -1)}, sizes({Dim::of(2)}), {{"axis", int64_t{0}}});
    x = add("Relu", {add("Reshape", {x, shape}, type)}, type);
    Value* t = add("Transpose", {x}, Type::tensor(DType::Float, std::vector<Dim>{wide, batch}),
                   {{"perm", Ints{1, 0}}});
    x = add("Transpose", {t}, type, {{"perm", Ints{1, 0}}});
  }
  m.graph.outputs = {x};
  return m;
}

double seconds(Model& m) {
  const std::clock_t start = std::clock();
  optimize::optimize(m, {});
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("ten times the nodes take about ten times as long", "[optimize]") {
  Model small = chain(1'250), large = chain(12'500);
  const double quick = seconds(small), slow = seconds(large);
  // Caches make large models slower still; a quadratic pass would be a hundred times slower.
  CHECK(slow < 50 * quick + 0.5);
  CHECK(large.graph.nodes.size() == 12'500);
  CHECK(verify(large).empty());
  const std::string text = print(large);
  optimize::optimize(large, {});
  CHECK(print(large) == text);
}

TEST_CASE("every pass has a name and a line of its own", "[optimize]") {
  std::string names;
  for (const optimize::PassInfo& p : optimize::kPasses) {
    CHECK_FALSE(p.name.empty());
    CHECK_FALSE(p.what.empty());
    CHECK(names.find(" " + std::string(p.name) + " ") == std::string::npos);
    names += " " + std::string(p.name) + " ";
  }
}

TEST_CASE("a state_dict's weight that is transposed leaves no second copy", "[optimize]") {
  Model m;
  m.opsets[""] = 28;
  m.graph.name = "g";
  auto owner = std::make_shared<std::vector<float>>(2000 * 300, 1.0f);
  Value* x =
      m.new_value("x", Type::tensor(DType::Float, std::vector<Dim>{Dim::of(1), Dim::of(300)}));
  Value* w = m.new_initializer(
      "fc.weight", std::make_shared<const Tensor>(DType::Float, std::vector<int64_t>{2000, 300},
                                                  owner->data(), owner));
  Value *t = m.new_value("t"), *y = m.new_value("y", Type::tensor(DType::Float));
  m.graph.inputs = {x};
  m.graph.outputs = {y};
  m.graph.nodes.push_back(make_node(m, "Transpose", "Transpose", {w}, {t}, {{"perm", Ints{1, 0}}}));
  m.graph.nodes.push_back(make_node(m, "MatMul", "MatMul", {x, t}, {y}));
  optimize::optimize(m, {});
  REQUIRE(m.graph.initializers.size() == 1);
  CHECK(m.graph.initializers[0]->name == "fc.weight_t");
  CHECK(m.graph.nodes.size() == 1);
  REQUIRE(m.graph.initializers[0]->data->base());  // no bytes of its own
  CHECK(m.graph.initializers[0]->data->base()->data() == owner->data());
}
