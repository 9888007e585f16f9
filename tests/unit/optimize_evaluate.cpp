// Constant folding against ONNX Runtime: the same operator, the same numbers, every element type.
#include <catch2/catch.hpp>
#include <random>

#include "lib/onnx/onnx.h"
#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"
#include "lib/verify/ort.h"
#include "tests/unit/ort_or_skip.h"

using namespace oe;
using namespace oe::ir;

namespace {

std::mt19937 generator(1);

TensorPtr random_tensor(DType t, std::vector<int64_t> dims) {
  const int64_t n = optimize::count(dims);
  std::uniform_int_distribution<int> small(-4, 4), bit(0, 1);
  if (t == DType::Bool) {
    std::vector<uint8_t> v;
    for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<uint8_t>(bit(generator)));
    return Tensor::of<uint8_t>(t, dims, v);
  }
  TensorPtr out;
  optimize::dispatch(t, [&](auto element) {
    using T = decltype(element);
    std::vector<T> v;
    for (int64_t i = 0; i < n; ++i) {
      int k = small(generator);
      if (k == 0) k = 5;  // divisors
      v.push_back(static_cast<T>(is_float(t) ? T(k) / T(3) : T(std::is_signed_v<T> ? k : k + 5)));
    }
    out = Tensor::of<T>(t, dims, v);
    return true;
  });
  return out;
}

TensorPtr ints(std::vector<int64_t> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<int64_t>(DType::Int64, {n}, v);
}

struct Outcome {
  int compared = 0, refused = 0;  // refused: ONNX Runtime has no such kernel
};

// Evaluates the node with its first `inputs` given, in ONNX Runtime as inputs of a model.
void compare(verify::Ort& ort, const std::string& op, const optimize::Inputs& in,
             const Attributes& attributes, Outcome& outcome, size_t fed = 99) {
  Model m;
  m.opsets[""] = 21;
  m.ir_version = 10;
  m.graph.name = "g";
  std::vector<Value*> inputs;
  std::vector<HostValue> values;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i]) {
      inputs.push_back(nullptr);
    } else if (i < fed) {
      std::vector<Dim> dims;
      for (int64_t d : in[i]->dims()) dims.push_back(Dim::of(d));
      inputs.push_back(m.new_value("x", Type::tensor(in[i]->dtype(), dims)));
      m.graph.inputs.push_back(inputs.back());
      values.push_back({HostValue::Kind::Tensor, in[i], {}});
    } else {
      inputs.push_back(m.new_initializer("c", in[i]));
    }
  }
  Value* y = m.new_value("y");
  m.graph.nodes.push_back(make_node(m, op, op, inputs, {y}, attributes));
  const auto folded = optimize::evaluate(*m.graph.nodes[0], in, 1 << 20);
  if (folded.empty()) return;
  m.graph.outputs = {y};
  y->type = Type::tensor(folded[0]->dtype());
  std::unique_ptr<verify::Ort::Session> session;
  try {
    session = ort.open_bytes(onnx::write_bytes(m), 1);
  } catch (const std::exception&) {
    ++outcome.refused;
    return;
  }
  const auto expected = session->run(values);
  INFO(op << " of " << name(in[0]->dtype()) << "\n" << print(m));
  REQUIRE(expected[0].tensor);
  CHECK(expected[0].tensor->dims() == folded[0]->dims());
  CHECK(optimize::same_content(*expected[0].tensor, *folded[0]));
  ++outcome.compared;
}

const std::vector<DType> kNumbers = {DType::Float,  DType::Double, DType::Int8,  DType::Int16,
                                     DType::Int32,  DType::Int64,  DType::UInt8, DType::UInt16,
                                     DType::UInt32, DType::UInt64};

}  // namespace

TEST_CASE("folded results are ONNX Runtime's", "[optimize]") {
  const auto ort = ort_or_skip();
  if (!ort) return;
  Outcome outcome;
  SECTION("elementwise") {
    for (DType t : kNumbers) {
      const TensorPtr a = random_tensor(t, {2, 1, 3}), b = random_tensor(t, {4, 1});
      for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "Greater",
                             "LessOrEqual", "GreaterOrEqual"})
        compare(*ort, op, {a, b}, {}, outcome);
      compare(*ort, "Mod", {a, b}, {{"fmod", int64_t{is_float(t)}}}, outcome);
      compare(*ort, "Mod", {a, b}, {{"fmod", int64_t{1}}}, outcome);
      for (const char* op : {"Neg", "Abs", "Floor", "Ceil"}) compare(*ort, op, {a}, {}, outcome);
      compare(*ort, "Where", {random_tensor(DType::Bool, {3}), a, b}, {}, outcome);
    }
    const TensorPtr p = random_tensor(DType::Bool, {2, 3}), q = random_tensor(DType::Bool, {3});
    for (const char* op : {"And", "Or", "Xor", "Equal"}) compare(*ort, op, {p, q}, {}, outcome);
    compare(*ort, "Not", {p}, {}, outcome);
    CHECK(outcome.compared > 90);
  }
  SECTION("cast") {
    std::vector<DType> types = kNumbers;
    types.push_back(DType::Bool);
    types.push_back(DType::Float16);
    types.push_back(DType::BFloat16);
    for (DType from : types)
      for (DType to : types) {
        const Attributes a = {{"to", static_cast<int64_t>(to)}};
        TensorPtr x = from == DType::Float16 || from == DType::BFloat16
                          ? Tensor::of<uint16_t>(from, {4}, {0x3c00, 0xc080, 0x0000, 0x4240})
                          : random_tensor(from, {6});
        if (is_integer(to) && is_float(from) && !is_signed_integer(to))
          x = optimize::with_dims(Tensor::of<uint8_t>(DType::UInt8, {3}, {0, 7, 200}), {3});
        compare(*ort, "Cast", {x}, a, outcome);
      }
    for (DType to : {DType::Float16, DType::BFloat16}) {  // exact ones: halves and small numbers
      const auto x = Tensor::of<float>(DType::Float, {6},
                                       {0.5f, -0.0f, 65504.0f, 0.25f, -3.0f, 5.9604645e-8f});
      compare(*ort, "Cast", {x}, {{"to", static_cast<int64_t>(to)}}, outcome);
      const auto y = Tensor::of<float>(DType::Float, {3}, {0.5f, -192.0f, 6.1035156e-5f});
      compare(*ort, "Cast", {y}, {{"to", static_cast<int64_t>(to)}}, outcome);
    }
    CHECK(outcome.compared > 90);
  }
  SECTION("reductions") {
    for (DType t : {DType::Int32, DType::Int64})
      for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"})
        for (const TensorPtr& axes : {ints({1}), ints({0, -1}), TensorPtr()})
          for (int64_t keep : {0, 1})
            compare(*ort, op, {random_tensor(t, {2, 3, 2}), axes}, {{"keepdims", keep}}, outcome,
                    1);
    CHECK(outcome.compared > 30);
  }
  SECTION("movement") {
    for (DType t : {DType::Float, DType::Int64, DType::Int8, DType::Int16, DType::Bool}) {
      const TensorPtr x = random_tensor(t, {2, 3, 4}), flat = random_tensor(t, {1, 3, 1});
      compare(*ort, "Transpose", {x}, {{"perm", Ints{2, 0, 1}}}, outcome);
      compare(*ort, "Transpose", {x}, {}, outcome);
      compare(*ort, "Reshape", {x, ints({0, -1})}, {}, outcome, 1);
      compare(*ort, "Flatten", {x}, {{"axis", int64_t{2}}}, outcome);
      compare(*ort, "Squeeze", {flat, ints({0})}, {}, outcome, 1);
      compare(*ort, "Squeeze", {flat}, {}, outcome, 1);
      compare(*ort, "Unsqueeze", {x, ints({0, -1})}, {}, outcome, 1);
      compare(*ort, "Gather", {x, ints({-1, 0, 1})}, {{"axis", int64_t{1}}}, outcome, 1);
      for (int64_t step : {1, 2, 3, -1, -2})
        for (int64_t start : {0, 1, -1, 9, -9})
          for (int64_t end : {4, 2, -1, 99, -99})
            compare(*ort, "Slice", {x, ints({start}), ints({end}), ints({2}), ints({step})}, {},
                    outcome, 1);
      compare(*ort, "Concat", {x, random_tensor(t, {2, 1, 4}), x}, {{"axis", int64_t{1}}}, outcome);
      compare(*ort, "Expand", {flat, ints({2, 1, 5})}, {}, outcome, 1);
      compare(*ort, "Tile", {x, ints({2, 1, 3})}, {}, outcome, 1);
      compare(*ort, "Shape", {x}, {{"start", int64_t{1}}}, outcome);
      compare(*ort, "Size", {x}, {}, outcome);
    }
    for (int64_t step : {1, 2, -1, -3})
      compare(*ort, "Range",
              {optimize::with_dims(ints({2}), {}), optimize::with_dims(ints({-5}), {}),
               optimize::with_dims(ints({step}), {})},
              {}, outcome);
    compare(*ort, "ConstantOfShape", {ints({2, 0, 3})}, {}, outcome, 0);
    CHECK(outcome.compared > 600);
  }
}
