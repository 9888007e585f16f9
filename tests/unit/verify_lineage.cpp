// Which outputs random numbers determine, and how those are compared.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "lib/onnx/onnx.h"
#include "lib/verify/lineage.h"
#include "lib/verify/moments.h"

using namespace oe;
using Catch::Matchers::Contains;

namespace {

std::vector<bool> drawn(const char* text) {
  const ir::Model m = onnx::parse_text(text);
  std::vector<bool> out;
  for (const verify::Lineage& l : verify::lineage(m)) out.push_back(l.drawn);
  return out;
}

// Sixteen runs of n elements of this mean and spread; `shared`: one number for all of them.
std::string difference(double mean, double other, double spread, size_t n, bool shared = false) {
  std::mt19937 bits(7);
  std::normal_distribution<double> normal;
  verify::Moments m;
  const auto run = [&](double at) {
    std::vector<double> x(n);
    const double one = normal(bits);
    for (double& v : x) v = at + spread * (shared ? one : normal(bits));
    return Tensor::of<double>(DType::Double, {static_cast<int64_t>(n)}, x);
  };
  for (size_t i = 0; i < verify::Moments::kRuns; ++i) m.add(*run(mean), *run(other));
  return m.difference();
}

}  // namespace

TEST_CASE("outputs that random numbers determine", "[verify]") {
  SECTION("by themselves") {
    CHECK(drawn(R"(<ir_version: 8, opset_import: ["": 18]>
      g (float[n] x) => (float[n] a, float[n] b, float[n] c) {
        r = RandomNormalLike(x)
        a = Add(x, r)
        b = Neg(x)
        c = Mul(a, b)
      })") == std::vector<bool>{true, false, true});
  }
  SECTION("through branches: a value, or the condition") {
    CHECK(drawn(R"(<ir_version: 8, opset_import: ["": 18]>
      g (float[n] x, bool c) => (float[n] a, float[n] b, float[n] d) {
        r = RandomUniformLike(x)
        a, b = If (c) <
          then_branch = t () => (float[n] p, float[n] q) { p = Add(x, r) q = Neg(x) },
          else_branch = e () => (float[n] s, float[n] u) { s = Neg(x) u = Abs(x) }>
        k = ReduceMax<keepdims = 0>(r)
        zero = Constant<value = float {0}>()
        w = Greater(k, zero)
        d = If (w) <
          then_branch = t2 () => (float[n] p2) { p2 = Neg(x) },
          else_branch = e2 () => (float[n] q2) { q2 = Abs(x) }>
      })") == std::vector<bool>{true, false, true});
  }
  SECTION("through what a loop carries, one iteration later") {
    CHECK(drawn(R"(<ir_version: 8, opset_import: ["": 18]>
      g (float[n] x, int64 trips, bool go) => (float[n] a, float[n] b, float[n] c, float[m,n] d) {
        a, b, c, d = Loop (trips, go, x, x, x) <
          body = l (int64 i, bool k, float[n] p, float[n] q, float[n] s)
              => (bool k2, float[n] p2, float[n] q2, float[n] s2, float[n] t2) {
            k2 = Identity(k)
            p2 = Identity(q)
            q2 = RandomNormalLike(q)
            s2 = Neg(s)
            t2 = Neg(p)
          }>
      })") == std::vector<bool>{true, true, false, true});
  }
  SECTION("dropout draws in training only") {
    const char* text = R"(<ir_version: 8, opset_import: ["": 18]>
      g (float[n] x, bool t) => (float[n] a, float[n] b) {
        a = Dropout(x)
        b = Dropout(x, , t)
      })";
    CHECK(drawn(text) == std::vector<bool>{false, true});
  }
}

TEST_CASE("the least exact type on the way to an output", "[verify]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 18]>
      g (double[n] x) => (double[n] a, double[n] b) {
        f = Cast<to = 1>(x)
        g = Exp(f)
        a = Cast<to = 11>(g)
        b = Neg(x)
      })");
  // The types of what is between come from inference, which a written model has been through.
  for (ir::Value& v : m.values)
    if (v.name == "f" || v.name == "g") v.type = ir::Type::tensor(DType::Float);
  const std::vector<verify::Lineage> l = verify::lineage(m);
  CHECK(l[0].coarsest == DType::Float);
  CHECK(l[1].coarsest == DType::Double);
}

TEST_CASE("what rounded numbers decide", "[verify]") {
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 18]>
      g (float16[n] h, float[n] x, int64[k] i) => (bool[n] a, float16[n] b, bool[n] c, int64[1] d,
                                                   float16[n] e, float[k] f) {
        a = Greater(h, h)
        b = Where(a, h, h)
        c = Greater(x, x)
        d = Shape(h)
        e = Relu(h)
        f = Gather(x, i)
      })");
  std::vector<bool> decided;
  for (const verify::Lineage& l : verify::lineage(m)) decided.push_back(l.decided);
  CHECK(decided == std::vector<bool>{true, true, true, false, false, false});
}

TEST_CASE("moments of random results", "[verify]") {
  CHECK(difference(1, 1, 1, 1000).empty());
  CHECK(difference(1, 1, 1, 1).empty());
  CHECK(difference(1, 1, 1, 1000, true).empty());
  CHECK(difference(0, 0, 1e6, 100).empty());
  CHECK_THAT(difference(1, 1.2, 1, 1000), Contains("its mean over 16 runs"));
  CHECK_THAT(difference(0, 5, 1, 1), Contains("its mean over 16 runs"));
  CHECK_THAT(difference(1, 1.1, 0, 10), Contains("its mean over 16 runs"));
  verify::Moments few;
  few.add(*Tensor::of<double>(DType::Double, {1}, {0.0}),
          *Tensor::of<double>(DType::Double, {1}, {9.0}));
  CHECK(few.difference().empty());
}

TEST_CASE("the steps of outputs that were rounded to integers", "[verify]") {
  const ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["": 18]>
      g (float[n] x, float t) => (uint8[n] q, float[n] a, float[1,n] b, float[n] c, float[n] d,
                                  float[n] e, float[n] f)
      <float s = {0.5}, float r = {0.25}, uint8 z = {3}, int8[4] w = {1, 2, 3, 4}> {
        q = QuantizeLinear(x, s, z)
        a = DequantizeLinear(q, s, z)
        one = Constant<value = int64[1] {0}>()
        b = Unsqueeze(a, one)
        c = Exp(a)
        p = QuantizeLinear(c, r, z)
        d = DequantizeLinear(p, r, z)
        h = QuantizeLinear(x, t, z)
        e = DequantizeLinear(h, t, z)
        k = DequantizeLinear(w, s)
        f = Add(x, k)
      })");
  const auto found = verify::lineage(m);
  std::vector<bool> quantized;
  std::vector<double> steps;
  for (const verify::Lineage& l : found) {
    quantized.push_back(l.quantized);
    steps.push_back(l.step);
  }
  CHECK(quantized == std::vector<bool>{true, true, true, true, true, true, false});
  CHECK(steps == std::vector<double>{1, 0.5, 0.5, 0, 0.25, 0, 0});
}
