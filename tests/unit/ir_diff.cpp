// What differs between two models.
#include <catch2/catch.hpp>

#include "lib/ir/diff.h"
#include "lib/onnx/onnx.h"

using namespace oe;

namespace {

ir::Model model(const std::string& body, int opset = 18) {
  return onnx::parse_text("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                          "]>\n" + body);
}

std::vector<std::string> differences(ir::Model a, ir::Model b) {
  std::vector<std::string> texts;
  for (const ir::Difference& d : ir::diff(a, b))
    texts.push_back(d.kind + " " + d.name + ": " + d.left + " | " + d.right);
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("names of values between nodes do not matter", "[ir]") {
  CHECK(differences(model("g (float[n] x) => (float[n] y) { a = Relu(x)\n y = Neg(a) }"),
                    model("g (float[n] x) => (float[n] y) { b = Relu(x)\n y = Neg(b) }"))
            .empty());
}

TEST_CASE("attributes, inputs and types that differ are named", "[ir]") {
  CHECK(differences(model("g (float[n] x) => (float[n] y) { y = Elu <alpha = 1.0> (x) }"),
                    model("g (float[n] x) => (float[n] y) { y = Elu <alpha = 2.0> (x) }")) ==
        Texts{"node Elu (Elu): alpha=1.0 | alpha=2.0"});
  CHECK(differences(model("g (float[n] x, float[n] z) => (float[n] y) { y = Sub(x, z) }"),
                    model("g (float[n] x, float[n] z) => (float[n] y) { y = Sub(z, x) }")) ==
        Texts{"node Sub (Sub): input 0=x, input 1=z | input 0=z, input 1=x"});
  CHECK(differences(model("g (float[n] x) => (float[n] y) { y = Relu(x) }"),
                    model("g (float[2] x) => (float[n] y) { y = Relu(x) }", 17)) ==
        Texts{"opset ai.onnx: 18 | 17", "input 0: x float[n] | x float[2]"});
}

TEST_CASE("nodes of nested graphs are compared", "[ir]") {
  const auto with = [](const char* op) {
    return model(std::string("g (bool c, float[n] x) => (float[n] y) { y = If (c) <then_branch = t "
                             "() => (float[n] a) { a = ") +
                 op + "(x) }, else_branch = e () => (float[n] b) { b = Abs(x) }> }");
  };
  CHECK(differences(with("Relu"), with("Relu")).empty());
  CHECK(differences(with("Relu"), with("Neg")) == Texts{"operators Neg:  | 1",
                                                        "operators Relu: 1 | ",
                                                        "node Relu: Relu | ", "node Neg:  | Neg"});
}

TEST_CASE("weights: the largest difference, types and shapes", "[ir]") {
  const auto with = [](const std::string& weight) {
    return model("g (float[2] x) => (float[2] y) <" + weight + "> { y = Add(x, w) }");
  };
  ir::Model a = with("float[2] w = {1.0, 2.0}"), b = with("float[2] w = {1.5, 1.75}");
  const auto found = ir::diff(a, b);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "weight");
  CHECK(found[0].largest == 0.5);
  CHECK(differences(with("float[2] w = {1.0, 2.0}"), with("float[1] w = {1.0}")) ==
        Texts{"weight w: float[2] | float[1]"});
}
