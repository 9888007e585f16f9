// Comparison of outputs: tolerance, exactness, NaN and infinity.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "lib/verify/compare.h"
#include "lib/verify/stated.h"

using namespace oe;
using Catch::Matchers::Contains;
using verify::compare;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorPtr f32(std::vector<float> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<float>(DType::Float, {n}, v);
}
TensorPtr i64(std::vector<int64_t> v) {
  const auto n = static_cast<int64_t>(v.size());
  return Tensor::of<int64_t>(DType::Int64, {n}, v);
}

}  // namespace

TEST_CASE("floats within tolerance", "[verify]") {
  const auto r = compare(*f32({1.00005F, 2}), *f32({1, 2}));
  CHECK(r.ok);
  CHECK(r.max_abs == Approx(5e-5).epsilon(0.01));
  CHECK(r.max_rel == Approx(5e-5).epsilon(0.01));
  CHECK_FALSE(compare(*f32({1.00005F}), *f32({1}), {1e-6, 1e-6}).ok);
  CHECK(compare(*f32({0}), *f32({-0.0F})).ok);
}

TEST_CASE("the first wrong element is named", "[verify]") {
  const auto a = Tensor::of<float>(DType::Float, {2, 2}, std::vector<float>{1, 2, 3.5F, 5});
  const auto e = Tensor::of<float>(DType::Float, {2, 2}, std::vector<float>{1, 2, 3, 4});
  const auto r = compare(*a, *e);
  CHECK_FALSE(r.ok);
  CHECK(r.message == "at [1,0]: 3.5, expected 3 (2 of 4 differ)");
  CHECK(r.max_abs == 1);
}

TEST_CASE("NaN and infinity by position", "[verify]") {
  CHECK(compare(*f32({kNan, kInf, -kInf}), *f32({kNan, kInf, -kInf})).ok);
  CHECK_FALSE(compare(*f32({1}), *f32({kNan})).ok);
  CHECK_FALSE(compare(*f32({kNan}), *f32({1})).ok);
  CHECK_FALSE(compare(*f32({kInf}), *f32({-kInf})).ok);
  CHECK_FALSE(compare(*f32({3e38F}), *f32({kInf})).ok);
  CHECK_FALSE(compare(*f32({kInf}), *f32({kNan})).ok);
  CHECK(compare(*f32({kInf}), *f32({kInf})).max_abs == 0);
}

TEST_CASE("integers exactly", "[verify]") {
  const int64_t big = (int64_t{1} << 53);
  CHECK(compare(*i64({big + 1}), *i64({big + 1})).ok);
  const auto r = compare(*i64({big + 1}), *i64({big}), {1e9, 1e9});
  CHECK_FALSE(r.ok);
  CHECK_THAT(r.message, Contains("9007199254740993"));
}

TEST_CASE("types, shapes, strings, bools, halves", "[verify]") {
  CHECK_THAT(compare(*i64({1}), *f32({1})).message, Contains("int64"));
  CHECK(compare(*f32({1, 2}), *f32({1})).message == "shape is [2], expected [1]");
  const Tensor a({1}, {"x"}), b({1}, {"y"});
  CHECK(compare(a, a).ok);
  CHECK(compare(a, b).message == "at [0]: \"x\", expected \"y\"");
  const auto t = Tensor::of<uint8_t>(DType::Bool, {1}, {1}),
             f = Tensor::of<uint8_t>(DType::Bool, {1}, {0});
  CHECK_FALSE(compare(*t, *f).ok);
  const auto half = [](uint16_t v) { return Tensor::of<uint16_t>(DType::Float16, {}, {v}); };
  CHECK(compare(*half(0x3c00), *half(0x3c01)).ok);
  CHECK(compare(*half(0x3c00), *half(0x3c01)).max_abs == Approx(1.0 / 1024));
  CHECK_FALSE(compare(*half(0x3c00), *half(0x4000)).ok);
  CHECK(compare(*half(0x7e00), *half(0x7e01)).ok);
  CHECK(compare(*half(0x0001), *half(0x0001)).ok);
  CHECK(compare(*f32({}), *f32({})).ok);
}

TEST_CASE("rounding as large as LibTorch's own is no difference", "[verify]") {
  const auto floats = [](std::vector<float> v) {
    const auto n = static_cast<int64_t>(v.size());
    return Tensor::of<float>(DType::Float, {n}, v);
  };
  const auto exact = [](std::vector<double> v) {
    const auto n = static_cast<int64_t>(v.size());
    return Tensor::of<double>(DType::Double, {n}, v);
  };
  const auto z = exact({0.0125, 2.5, 1});
  const auto expected = floats({0.0125f + 1.2e-5f, 2.5f, 1});
  CHECK(verify::as_exact_as(*floats({0.0125f - 1.2e-5f, 2.5f, 1}), *expected, *z) == true);
  CHECK(verify::as_exact_as(*floats({0.0125f - 4e-5f, 2.5f, 1}), *expected, *z) == true);
  CHECK(verify::as_exact_as(*floats({0.0125f - 7e-5f, 2.5f, 1}), *expected, *z) == false);
  // As far off as LibTorch, but not where rounding is small.
  CHECK(verify::as_exact_as(*floats({0.0125f + 2e-4f, 2.5f, 1}), *expected, *z) == false);
  // A model that rounds to half inside may differ by that.
  CHECK(verify::as_exact_as(*floats({0.0125f + 2e-4f, 2.5f, 1}), *expected, *z, DType::Float16) ==
        true);
  CHECK(verify::as_exact_as(*floats({0.5f, 2.5f, 1}), *expected, *z, DType::Float16) == false);
  // LibTorch itself is far from float64: another branch, not rounding.
  CHECK(!verify::as_exact_as(*floats({0.5f, 2.5f, 1}), *floats({0.4f, 2.5f, 1}), *z).has_value());
  CHECK(verify::as_exact_as(*floats({NAN, 2.5f, 1}), *expected, *z) == false);
  CHECK(verify::as_exact_as(*floats({0.0125f, 2.5f}), *expected, *z) == false);
}

TEST_CASE("units in the last place of what most elements are", "[verify]") {
  const auto floats = [](std::vector<float> v) {
    const auto n = static_cast<int64_t>(v.size());
    return Tensor::of<float>(DType::Float, {n}, v);
  };
  const auto boxes = floats({0.025f, 60, 216, 80});
  CHECK(verify::within_rounding(*floats({0.025f + 4e-5f, 60, 216, 80}), *boxes, nullptr,
                                DType::Undefined));
  CHECK_FALSE(verify::within_rounding(*floats({0.025f + 4e-4f, 60, 216, 80}), *boxes, nullptr,
                                      DType::Undefined));
  // Other kernels of LibTorch's differ by as much, or by more than rounding.
  const auto near = floats({0.025f - 2e-4f, 60, 216, 80}), far = floats({0.025f, 60, 80, 216});
  const auto off = floats({0.025f + 4e-4f, 60, 216, 80});
  CHECK(verify::within_rounding(*off, *boxes, near.get(), DType::Undefined));
  CHECK_FALSE(verify::within_rounding(*off, *boxes, far.get(), DType::Undefined));
  // What is nowhere counts for nothing, in masks of small objects.
  const auto mask = floats({0.6f, 0, 0, 0}), moved = floats({0.6f + 1e-4f, 0, 0, 0});
  CHECK(verify::within_rounding(*floats({0.6f - 3e-4f, 0, 0, 0}), *mask, moved.get(),
                                DType::Undefined));
  CHECK_FALSE(verify::within_rounding(*floats({0.6f - 6e-4f, 0, 0, 0}), *mask, moved.get(),
                                      DType::Undefined));
  // One huge element lends the others nothing.
  const auto masked = floats({0.025f, 0.5f, -1e9f, 0.75f});
  CHECK_FALSE(verify::within_rounding(*floats({0.026f, 0.5f, -1e9f, 0.75f}), *masked, nullptr,
                                      DType::Undefined));
  CHECK_FALSE(
      verify::within_rounding(*floats({NAN, 60, 216, 80}), *boxes, nullptr, DType::Undefined));
}

TEST_CASE("what LibTorch itself chooses otherwise", "[verify]") {
  const auto floats = [](std::vector<float> v) {
    const auto n = static_cast<int64_t>(v.size());
    return std::vector{Tensor::of<float>(DType::Float, {n}, v)};
  };
  const auto integers = [](std::vector<int64_t> v) {
    const auto n = static_cast<int64_t>(v.size());
    return std::vector{Tensor::of<int64_t>(DType::Int64, {n}, v)};
  };
  const auto boxes = floats({10, 60, 216, 80}), other = floats({10, 60, 80, 216});
  CHECK(verify::chooses_otherwise(floats({10, 60, 80, 200}), boxes, other));
  CHECK(verify::chooses_otherwise(floats({10, 60}), boxes, other));  // a third choice
  CHECK(verify::chooses_otherwise(other, boxes, floats({10, 60})));  // another number of boxes
  CHECK_FALSE(verify::chooses_otherwise(other, boxes, boxes));       // LibTorch is sure
  CHECK_FALSE(verify::chooses_otherwise(other, boxes, floats({10, 60, 216.001f, 80})));  // rounding
  CHECK_FALSE(
      verify::chooses_otherwise(floats({10, 60, 800, 216}), boxes, other));  // far from both
  CHECK_FALSE(verify::chooses_otherwise(floats({10, NAN}), boxes, other));
  CHECK(verify::chooses_otherwise(integers({1, 3}), integers({1, 2}), integers({2, 1})));
  CHECK_FALSE(verify::chooses_otherwise(integers({1, 3}), integers({1, 2}), integers({1, 2})));
}

TEST_CASE("the element type counts at every rank", "[verify]") {
  const TensorPtr f = Tensor::of<float>(DType::Float, {}, {0.5F});
  const TensorPtr d = Tensor::of<double>(DType::Double, {}, {0.5});
  CHECK(compare(*f, *f).ok);
  const auto r = compare(*d, *f);
  CHECK_FALSE(r.ok);
  CHECK_THAT(r.message, Contains("element type is double, expected float"));
}

TEST_CASE("rounded arithmetic is measured at the scale of its output", "[verify]") {
  const auto exact = Tensor::of<double>(DType::Double, {3}, {100, 0.001, -7e4});
  const auto right = Tensor::of<float>(DType::Float, {3}, {101, 0.5f, -7e4f});
  CHECK(verify::compare_rounded(*right, *exact, DType::Float16).ok);
  CHECK(verify::compare_rounded(*right, *exact, DType::Float16).max_rel == Approx(1 / 7e4));
  const auto off = Tensor::of<float>(DType::Float, {3}, {1500, 0.5f, -7e4f});
  CHECK_FALSE(verify::compare_rounded(*off, *exact, DType::Float16).ok);
  CHECK(verify::compare_rounded(*off, *exact, DType::BFloat16).ok);
  CHECK_FALSE(verify::compare_rounded(*right, *exact, DType::Float16, {0.1, -1}).ok);
  CHECK_FALSE(
      verify::compare_rounded(*right, *Tensor::of<double>(DType::Double, {1}, {1}), DType::Float16)
          .ok);
  // What float16 does not reach is infinite in it, and in no wider type.
  const auto half = Tensor::of<uint16_t>(DType::Float16, {3}, {0x5640, 0, 0xfc00});
  CHECK(verify::compare_rounded(*half, *exact, DType::Float16).ok);
  const auto infinite = Tensor::of<float>(DType::Float, {3}, {100, 0, -INFINITY});
  CHECK_FALSE(verify::compare_rounded(*infinite, *exact, DType::Float16).ok);
}

TEST_CASE("the shapes that a model states are compared with those it has", "[verify]") {
  const auto x = Tensor::of<float>(DType::Float, {4, 3}, std::vector<float>(12));
  const auto y = Tensor::of<float>(DType::Float, {1, 3}, std::vector<float>(3));
  const Shape named = std::vector{Dim::named("n"), Dim::of(3)};
  verify::NamedSizes sizes;
  verify::add_sizes(named, *x, sizes);
  CHECK(verify::not_as_stated(*x, named, sizes).empty());
  CHECK(verify::not_as_stated(*y, named, sizes) == "axis 0 is 1, the model declares n = 4");
  CHECK(verify::not_as_stated(*x, std::vector{Dim::named("n"), Dim::of(2)}, sizes) ==
        "axis 1 is 3, the model declares 2");
  CHECK(verify::not_as_stated(*y, std::vector{Dim::named("m"), Dim::unknown()}, sizes).empty());
  CHECK(verify::not_as_stated(*x, std::vector{Dim::of(4)}, sizes) ==
        "the rank is 2, the model declares 1");
  CHECK(verify::not_as_stated(*x, {}, sizes).empty());
}
