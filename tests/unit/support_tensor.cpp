// Deferred transposes: the same elements whether they are asked for or streamed.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "lib/optimize/tensors.h"
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

TEST_CASE("deferred transposes are compared without being computed") {
  const TensorPtr a = ramp(DType::Int64, 4, 4), b = ramp(DType::Int64, 4, 4);
  const TensorPtr ta = Tensor::transpose_of(a), tb = Tensor::transpose_of(b);
  CHECK(Tensor::transpose_of(ta) == a);
  CHECK(ta->memory() == Tensor::transpose_of(a)->memory());
  CHECK(ta->memory() != a->memory());
  CHECK(optimize::same_content(*ta, *tb));
  CHECK_FALSE(optimize::same_content(*ta, *a));
}
