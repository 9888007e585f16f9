// Function bodies of the ONNX schemas, expanded and run: same numbers as the operator itself.
#include <catch2/catch.hpp>
#include <cmath>

#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "lib/verify/compare.h"
#include "lib/verify/ort.h"
#include "tests/unit/ort_or_skip.h"

using namespace oe;

namespace {

// Values without symmetry, around zero; integers where the input is an integer.
TensorPtr input_data(const ir::Type& t) {
  std::vector<int64_t> dims;
  size_t n = 1;
  for (const Dim& d : t.shape.value()) {
    dims.push_back(d.number);
    n *= static_cast<size_t>(d.number);
  }
  if (t.dtype == DType::Int64) {
    std::vector<int64_t> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = static_cast<int64_t>(i % 3);
    return Tensor::of<int64_t>(t.dtype, dims, v);
  }
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = std::sin(1.7F * static_cast<float>(i)) * 3;
  return Tensor::of<float>(t.dtype, dims, v);
}

}  // namespace

TEST_CASE("an expanded operator computes what the operator computes", "[verify][ort]") {
  auto ort = ort_or_skip();
  if (!ort) return;
  struct Case {
    std::vector<int64_t> opsets;
    const char* graph;
  };
  const std::vector<Case> cases = {
      {{17, 18, 20},
       "g (float[2,3,4] x, float[4] s, float[4] b) => (y) { y = LayerNormalization <axis = -1> (x, s, b) }"},
      {{20, 22}, "g (float[2,5] x) => (y) { y = Gelu (x) }"},
      {{20}, "g (float[2,5] x) => (y) { y = Gelu <approximate = \"tanh\"> (x) }"},
      {{12, 18, 21}, "g (float[2,5] x) => (y) { y = Celu <alpha = 0.5> (x) }"},
      {{14, 18}, "g (float[2,5] x) => (y) { y = HardSwish (x) }"},
      {{18, 22}, "g (float[2,5] x) => (y) { y = Mish (x) }"},
      {{13, 18, 21}, "g (float[2,5] x) => (y) { y = Softmax <axis = 1> (x) }"},
      {{13, 18}, "g (float[2,5] x) => (y) { y = LogSoftmax <axis = 0> (x) }"},
      {{13, 18}, "g (float[2,3,4,4] x) => (y) { y = MeanVarianceNormalization (x) }"},
      {{18, 21, 23}, "g (float[2,5] x) => (y) { y = Elu <alpha = 0.5> (x) }"},
      {{18, 22}, "g (float[2,5] x) => (y) { y = Selu (x) }"},
      {{18}, "g (float[2,5] x) => (y) { y = ThresholdedRelu <alpha = 0.5> (x) }"},
      {{16, 18}, "g (float[2,5] x, float[5] s) => (y) { y = PRelu (x, s) }"},
      {{21},
       "g (float[2,4,3] x, float[4] s, float[4] b) => (y) { y = GroupNormalization <num_groups = 2> (x, s, b) }"},
      {{23}, "g (float[2,3,4] x, float[4] s) => (y) { y = RMSNormalization (x, s) }"},
      {{18, 20}, "g (float[2,5] x) => (y) { y = Shrink <lambd = 0.5, bias = 0.1> (x) }"},
      {{13, 18},
       "g (float[3,5] x, int64[3] t) => (y) { y = SoftmaxCrossEntropyLoss <reduction = \"mean\"> (x, t) }"},
      {{13, 18},
       "g (float[3,5] x, int64[3] t) => (y) { y = NegativeLogLikelihoodLoss <reduction = \"sum\"> (x, t) }"},
      {{18}, "g (float[2,5,6] x, int64[2] s) => (y) { y = CenterCropPad <axes = [1, 2]> (x, s) }"},
      {{12, 18}, "g (float[2,5] x, float[2,5] z) => (y) { y = GreaterOrEqual (x, z) }"},
      {{18},
       "g (float[2,5] x) => (y) { l = Constant <value_float = -0.5> () h = Constant <value_float = 1.5> () y = Clip (x, l, h) }"},
      {{18}, "g (float[2,5] x) => (y) { y = ReduceLogSumExp <keepdims = 0> (x) }"},
      {{18}, "g (float[2,5] x) => (y) { a = Constant <value_ints = [1]> () y = ReduceL2 (x, a) }"},
      {{17, 20},
       "g (int64 n) => (float[8] y) { k = Constant <value_int = 8> () y = HannWindow (k) }"},
      {{23},
       "g (float[1,2,4,8] q, float[1,2,5,8] k, float[1,2,5,8] v) => (y) { y = Attention (q, k, v) }"},
      {{23},
       "g (float[1,4,16] q, float[1,5,16] k, float[1,5,16] v) => (y) { y = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, v) }"},
  };
  for (const Case& c : cases) {
    for (const int64_t opset : c.opsets) {
      INFO("opset " << opset << ": " << c.graph);
      ir::Model m = onnx::parse_text(
          "<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) + "]> " + c.graph);
      m.ir_version = 0;
      onnx::infer(m);
      std::vector<HostValue> inputs;
      for (const ir::Value* v : m.graph.inputs) {
        inputs.emplace_back();
        inputs.back().tensor = input_data(v->type);
      }
      if (std::string(c.graph).find("CenterCropPad") != std::string::npos)
        inputs[1].tensor = Tensor::of<int64_t>(DType::Int64, {2}, {3, 8});
      const auto expected = ort->open_bytes(onnx::write_bytes(m), 1)->run(inputs);

      auto last = std::move(m.graph.nodes.back());
      m.graph.nodes.pop_back();
      REQUIRE(onnx::expand_function(m, *last, opset, m.graph.nodes));
      CHECK(ir::verify(m) == std::vector<std::string>{});
      CHECK(onnx::check(m) == "");
      const auto actual = ort->open_bytes(onnx::write_bytes(m), 1)->run(inputs);
      const auto r = verify::compare(*actual[0].tensor, *expected[0].tensor);
      CHECK(r.message == "");
    }
  }
}
