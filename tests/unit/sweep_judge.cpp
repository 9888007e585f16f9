// The judge of the sweep: what is right, and what would be called wrong.
#include <catch2/catch.hpp>
#include <limits>

#include "lib/support/half.h"
#include "tests/sweep/judge.h"

using namespace oe;
using Catch::Matchers::Contains;
using sweep::difference;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorPtr f32(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<float>(DType::Float, {n}, v);
}
TensorPtr f64(std::vector<double> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<double>(DType::Double, {n}, v);
}
TensorPtr i64(std::vector<int64_t> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<int64_t>(DType::Int64, {n}, v);
}

}  // namespace

TEST_CASE("integers are judged exactly", "[sweep]") {
  CHECK(difference(*i64({1, 2}), *i64({1, 2}), nullptr).empty());
  CHECK_THAT(difference(*i64({1, 3}), *i64({1, 2}), nullptr), Contains("3"));
}

TEST_CASE("another element type or shape is wrong", "[sweep]") {
  CHECK_THAT(difference(*f64({1}), *f32({1}), nullptr), Contains("expected float[1]"));
  CHECK_THAT(difference(*f32({1}), *f32({1, 1}), nullptr), Contains("expected float[2]"));
}

TEST_CASE("four times LibTorch's own error and eight units are right", "[sweep]") {
  // At 1024 a unit is 2^-13; LibTorch is one off.
  const float unit = 0x1p-13F;
  const TensorPtr expected = f32({1024 + unit, 0}), exact = f64({1024, 0});
  CHECK(difference(*f32({1024 - 12 * unit, 0}), *expected, exact.get()).empty());
  CHECK_THAT(difference(*f32({1024 - 20 * unit, 0}), *expected, exact.get()),
             Contains("1 of 2 elements, the worst at 0"));
  // The units are those of the tensor's magnitude: the small element may be as far off.
  CHECK(difference(*f32({1024, 12 * unit}), *expected, exact.get()).empty());
  CHECK_FALSE(difference(*f32({1024, 13 * unit}), *expected, exact.get()).empty());
}

TEST_CASE("without a run in float64 assert_close decides", "[sweep]") {
  CHECK(difference(*f32({1.00001F}), *f32({1}), nullptr).empty());
  CHECK_FALSE(difference(*f32({1.00002F}), *f32({1}), nullptr).empty());
  const auto half = [](float v) {
    return Tensor::of<uint16_t>(DType::Float16, {1}, {half_bits(v)});
  };
  CHECK(difference(*half(1.0009765625F), *half(1), nullptr).empty());
  CHECK_FALSE(difference(*half(1.001953125F), *half(1), nullptr).empty());
}

TEST_CASE("a run in float64 that gives something else does not count", "[sweep]") {
  CHECK_FALSE(difference(*f32({-2}), *f32({1}), f64({100}).get()).empty());
  CHECK(difference(*f32({1}), *f32({1}), f64({100}).get()).empty());
  // Not for the other elements; nearer than PyTorch is right.
  CHECK(difference(*f32({100, 1}), *f32({1, 1}), f64({100, 1}).get()).empty());
  CHECK_FALSE(difference(*f32({1, 2}), *f32({1, 1}), f64({100, 1}).get()).empty());
  // The largest number of float64 stands for that of float32.
  CHECK_FALSE(difference(*f32({0}), *f32({3.4e38F}), f64({1.7e308}).get()).empty());
}

TEST_CASE("NaN and infinities stand where LibTorch has them", "[sweep]") {
  CHECK(difference(*f32({kNan, kInf, -kInf}), *f32({kNan, kInf, -kInf}), nullptr).empty());
  CHECK_FALSE(difference(*f32({1}), *f32({kNan}), nullptr).empty());
  CHECK_FALSE(difference(*f32({kNan}), *f32({1}), nullptr).empty());
  CHECK_FALSE(difference(*f32({kInf}), *f32({-kInf}), nullptr).empty());
  CHECK_FALSE(difference(*f32({kInf}), *f32({1}), f64({1}).get()).empty());
  // LibTorch overflowed on the way, ONNX Runtime did not.
  CHECK(difference(*f32({1}), *f32({kInf}), f64({1}).get()).empty());
}

TEST_CASE("doubles that were computed in float32", "[sweep]") {
  CHECK(sweep::equal_in_float(*f64({1000.5, 2}), *f64({1000, 2})));
  CHECK_FALSE(sweep::equal_in_float(*f64({1002, 2}), *f64({1000, 2})));
  CHECK_FALSE(sweep::equal_in_float(*f32({1}), *f32({1})));
}
