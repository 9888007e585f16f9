// Printing and verification of programs.
#include <catch2/catch.hpp>

#include "lib/program/program.h"

using namespace oe;
using namespace oe::program;

namespace {

Node& append(Block& b, std::string op, Args args, std::vector<Value*> outputs) {
  b.nodes.push_back(std::make_unique<Node>());
  Node& n = *b.nodes.back();
  n.op = std::move(op);
  n.args = std::move(args);
  n.outputs = std::move(outputs);
  for (Value* v : n.outputs) v->producer = &n;
  return n;
}

Type float_type() {
  return Type::tensor(DType::Float, std::vector<Dim>{Dim::named("batch"), Dim::of(3)});
}

bool reports(const Program& p, const std::string& text) {
  for (const std::string& problem : verify(p))
    if (problem.find(text) != std::string::npos) return true;
  return false;
}

// A loop of n steps that adds a parameter to x.
Program small() {
  Program p;
  Value* x = p.new_value(float_type(), "x");
  Value* n = p.new_value(Type::integer());
  Value* w = p.new_value(Type::tensor(DType::Float, std::vector<Dim>{Dim::of(3)}), "fc.bias");
  w->constant = Tensor::of<float>(DType::Float, {3}, {1, 2.5f, -3});
  p.inputs = {{"x", {x}}, {"n", {n}}};
  Value* out = p.new_value(float_type());
  Node& loop = append(p.body, "prim::Loop", {{n}, {true}, {x}}, {out});
  loop.blocks.push_back(std::make_unique<Block>());
  Block& body = *loop.blocks[0];
  Value *i = p.new_value(Type::integer()), *state = p.new_value(float_type());
  body.params = {i, state};
  Value* sum = p.new_value(float_type());
  Node& add = append(body, "aten::add.Tensor", {{state}, {w}, {int64_t{1}}}, {sum});
  add.origin = std::make_shared<Origin>(Origin{"aten::add", "fc", "net.py", 12, "x = x + b"});
  body.returns = {{true}, {sum}};
  p.outputs = {{"y", {out}}};
  return p;
}

}  // namespace

TEST_CASE("types in words", "[program]") {
  CHECK(to_string(float_type()) == "float32[batch,3]");
  CHECK(to_string(Type::tensor(DType::Double, std::nullopt)) == "float64*");
  CHECK(to_string(Type::tensor(DType::BFloat16, std::vector<Dim>{})) == "bfloat16[]");
  CHECK(to_string(Type::integer()) == "int");
  CHECK(to_string(Type::list(Type::tensor(DType::Float, std::vector<Dim>{Dim::unknown()}))) ==
        "list(float32[?])");
}

TEST_CASE("a program in words", "[program]") {
  CHECK(print(small()) == R"(program (
    x = %x.0: float32[batch,3]
    n = %1: int
):
  %fc.bias.2: float32[3] = constant {1.0, 2.5, -3.0}
  %3: float32[batch,3] = prim::Loop(%1, True, %x.0)
    block0(%4: int, %5: float32[batch,3]):
      %6: float32[batch,3] = aten::add.Tensor(%5, %fc.bias.2, 1)  # fc net.py:12
      -> (True, %6)
  return (
    y = %3: float32[batch,3]
  )
)");
}

TEST_CASE("problems of a program are named", "[program]") {
  Program p = small();
  Node& loop = *p.body.nodes[0];
  CHECK(verify(p).empty());
  SECTION("use before definition") {
    Value* late = p.new_value(float_type());
    loop.args[2] = {late};
    CHECK(reports(p, "prim::Loop uses %7 before it is defined"));
  }
  SECTION("a value of a block used outside") {
    p.outputs[0].value = {loop.blocks[0]->params[1]};
    CHECK(reports(p, "output 'y' uses %5 before it is defined"));
  }
  SECTION("no element type") {
    loop.outputs[0]->type = {Type::Kind::List, DType::Undefined, {}, nullptr};
    CHECK(reports(p, "without an element type"));
  }
  SECTION("arity of a loop") {
    loop.blocks[0]->returns.pop_back();
    CHECK(reports(p, "prim::Loop has 1 block returns and needs 2"));
  }
  SECTION("trip count") {
    loop.args[0] = {1.5};
    CHECK(reports(p, "trip count"));
  }
  SECTION("producer") {
    loop.outputs[0]->producer = nullptr;
    CHECK(reports(p, "wrong producer"));
  }
  SECTION("a constant of another type") {
    p.values[2].type.dtype = DType::Double;
    CHECK(reports(p, "does not match its data"));
  }
}
