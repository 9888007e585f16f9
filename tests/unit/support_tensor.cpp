// Deferred transposes: the same elements whether they are asked for or streamed.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "lib/optimize/tensors.h"
#include "lib/support/half.h"
#include "lib/support/tensor.h"

using namespace oe;

namespace {

TensorPtr ramp(DType t, int64_t rows, int64_t columns) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows * columns));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (t == DType::Int64) return Tensor::of(t, {rows, columns}, numbers);
  return Tensor::of(t, {rows, columns}, std::vector<uint16_t>(numbers.begin(), numbers.end()));
}

}  // namespace

TEST_CASE("a transpose streams in pieces what data() holds") {
  // The second does not fit one piece, and its last piece is smaller than the others.
  const auto [rows, columns] = GENERATE(std::pair{3, 5}, std::pair{1537, 700}, std::pair{0, 4});
  for (DType type : {DType::Int64, DType::Float16}) {
    const TensorPtr in = ramp(type, rows, columns), t = Tensor::transpose_of(in);
    CHECK(t->dims() == std::vector<int64_t>{columns, rows});
    std::string bytes;
    size_t pieces = 0;
    t->stream([&](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      ++pieces;
    });
    CHECK((pieces > 1) == (t->nbytes() > size_t{1} << 22));
    const TensorPtr copied = optimize::strided_copy(*in, {columns, rows}, 0, {1, columns});
    REQUIRE(bytes.size() == copied->nbytes());
    CHECK((bytes.empty() || !std::memcmp(bytes.data(), copied->data(), bytes.size())));
    CHECK((bytes.empty() || !std::memcmp(bytes.data(), t->data(), bytes.size())));
    const std::vector<int64_t> out = t->as_int64(), from = in->as_int64();
    for (size_t i = 0; i < out.size(); i += 97) {
      const auto c = static_cast<int64_t>(i) / rows, r = static_cast<int64_t>(i) % rows;
      if (type == DType::Int64) REQUIRE(out[i] == from[static_cast<size_t>(r * columns + c)]);
    }
  }
}

TEST_CASE("floats that no int64 holds have a defined one") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {-2.5, std::nan(""), inf, -inf, 9223372036854775808.0};
  const auto least = std::numeric_limits<int64_t>::min(),
             most = std::numeric_limits<int64_t>::max();
  CHECK(Tensor::of(DType::Double, {5}, values)->as_int64() ==
        std::vector<int64_t>{-2, 0, most, least, most});
}

TEST_CASE("deferred transposes are compared without being computed") {
  const TensorPtr a = ramp(DType::Int64, 4, 4), b = ramp(DType::Int64, 4, 4);
  const TensorPtr ta = Tensor::transpose_of(a), tb = Tensor::transpose_of(b);
  CHECK(Tensor::transpose_of(ta) == a);
  CHECK(ta->memory() == Tensor::transpose_of(a)->memory());
  CHECK(ta->memory() != a->memory());
  CHECK(optimize::same_content(*ta, *tb));
  CHECK_FALSE(optimize::same_content(*ta, *a));
}

TEST_CASE("rounded tensors are written piece by piece, and to the nearest number") {
  const int64_t count = (int64_t{1} << 21) + 5;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.0371f - 3e4f;
  const TensorPtr w = Tensor::of<float>(DType::Float, {1, count}, values);
  for (const DType to : {DType::Float16, DType::BFloat16}) {
    const TensorPtr r = Tensor::rounded(w, to);
    CHECK(r->dtype() == to);
    CHECK(r->nbytes() * 2 == w->nbytes());
    CHECK(r->memory() != w->memory());
    CHECK(r->memory() == Tensor::rounded(w, to)->memory());
    std::vector<uint16_t> bits;
    size_t pieces = 0;
    r->stream([&](const void* data, size_t size) {
      const auto* p = static_cast<const uint16_t*>(data);
      bits.insert(bits.end(), p, p + size / sizeof(uint16_t));
      ++pieces;
    });
    CHECK(pieces > 1);
    REQUIRE(bits.size() == values.size());
    for (size_t i = 0; i < bits.size(); i += 1013)
      REQUIRE(bits[i] == (to == DType::Float16 ? half_bits(values[i]) : bfloat16_bits(values[i])));
    CHECK(!std::memcmp(bits.data(), r->data(), r->nbytes()));
    // A transposed weight too.
    const TensorPtr both = Tensor::rounded(Tensor::transpose_of(w), to);
    CHECK(both->dims() == std::vector<int64_t>{count, 1});
    CHECK(!std::memcmp(bits.data(), both->data(), both->nbytes()));
    CHECK(optimize::same_content(*r, *Tensor::rounded(w, to)));
    CHECK_FALSE(optimize::same_content(*r, *both));
  }
  // Ties go to the even digit; beyond the range lies infinity.
  CHECK(half_bits(1 + 0x1p-11f) == 0x3c00);
  CHECK(half_bits(1 + 0x3p-11f) == 0x3c02);
  CHECK(half_bits(65519.996f) == 0x7bff);
  CHECK(half_bits(-65520) == 0xfc00);
  CHECK(half_bits(0x1p-25f) == 0);
  CHECK(half_bits(0x1.8p-24f) == 2);
}
