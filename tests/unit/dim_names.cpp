// Names of computed sizes: the polynomials, and what their texts evaluate to.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "lib/optimize/dim_polynomial.h"
#include "lib/support/dim_expression.h"

namespace oe {
namespace {

using optimize::DimPolynomial;

DimPolynomial symbol(const char* name) { return DimPolynomial::symbol(name); }
DimPolynomial plus(const DimPolynomial& p, int64_t n) { return *p.plus(DimPolynomial::number(n)); }
DimPolynomial times(const DimPolynomial& p, int64_t n) {
  return *p.times(DimPolynomial::number(n));
}

int64_t floor_of(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

}  // namespace

TEST_CASE("a computed size is written as Python writes it", "[dim_names]") {
  const DimPolynomial h = symbol("h"), b = symbol("batch");
  CHECK(times(h, 2).text() == "2*h");
  CHECK(plus(times(h, -1), 5).text() == "-h + 5");
  CHECK(b.times(h)->text() == "batch*h");
  CHECK(h.times(b)->text() == "batch*h");
  CHECK(h.minus(h)->text() == "0");
  CHECK(plus(h, -1).at_least_zero().text() == "max(h - 1, 0)");
  CHECK(plus(h, 1).at_least_zero().text() == "h + 1");
  CHECK(h.floor_divided(2)->text() == "h//2");
  CHECK(times(*h.floor_divided(2), 2).text() == "2*(h//2)");
  CHECK(b.times(h)->floor_divided(2)->text() == "(batch*h)//2");
}

TEST_CASE("sizes that are equal have one text", "[dim_names]") {
  const DimPolynomial h = symbol("h"), b = symbol("batch");
  // Five convolutions with stride 2, as a ResNet has them.
  DimPolynomial p = h;
  for (int i = 0; i < 5; ++i) p = plus(*plus(p, -1).floor_divided(2), 1);
  CHECK(p.text() == "(h + 31)//32");
  CHECK(*times(h, 6).floor_divided(4) ==
        *plus(times(h, 2), 0).plus(*times(h, -2).floor_divided(4)));
  CHECK(plus(times(h, 4), 6).floor_divided(2)->text() == "2*h + 3");
  CHECK(plus(times(h, 2), 2).floor_divided(4)->text() == "(h + 1)//2");
  CHECK(b.times(h)->times(DimPolynomial::number(6))->divided_exactly(times(b, 2))->text() == "3*h");
  CHECK_FALSE(plus(h, 1).divided_exactly(h));
  CHECK_FALSE(h.divided_exactly(DimPolynomial::number(0)));
}

TEST_CASE("the text of a random computed size has its value", "[dim_names]") {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::map<std::string, int64_t> sizes = {
        {"a", draw(0, 9)}, {"b", draw(1, 40)}, {"c", draw(0, 300)}};
    std::optional<DimPolynomial> p = symbol("a");
    int64_t value = sizes.at("a");
    for (int step = 0; p && step < 6; ++step) {
      const char* name = &"a\0b\0c"[2 * draw(0, 2)];
      const int64_t n = draw(-7, 7), by = draw(1, 6);
      switch (draw(0, 5)) {
        case 0:
          p = p->plus(symbol(name));
          value += sizes.at(name);
          break;
        case 1:
          p = p->times(symbol(name));
          value *= sizes.at(name);
          break;
        case 2:
          p = p->times(DimPolynomial::number(n));
          value *= n;
          break;
        case 3:
          p = p->plus(DimPolynomial::number(n));
          value += n;
          break;
        case 4:
          p = p->floor_divided(by);
          value = floor_of(value, by);
          break;
        default:
          p = p->at_least_zero();
          value = std::max<int64_t>(value, 0);
      }
    }
    if (!p) continue;
    ++compared;
    INFO(p->text() << " with a = " << sizes.at("a") << ", b = " << sizes.at("b")
                   << ", c = " << sizes.at("c"));
    CHECK(evaluate_dim(p->text(), sizes) == value);
    if (p->never_negative()) CHECK(value >= 0);
  }
  CHECK(compared > 1500);
}

TEST_CASE("a size that is not an expression has no value", "[dim_names]") {
  const std::map<std::string, int64_t> sizes = {{"h", 7}, {"max", 3}, {"odd name", 5}};
  CHECK(evaluate_dim("2*h + 1", sizes) == 15);
  CHECK(evaluate_dim("-h//2", sizes) == -4);
  CHECK(evaluate_dim("max(h - 9, 0, 2)", sizes) == 2);
  CHECK(evaluate_dim("max", sizes) == 3);
  CHECK(evaluate_dim("odd name", sizes) == 5);
  for (const char* text : {"", "h +", "2h", "h/2", "h//0", "w", "(h", "h)", "h**2", "Max(h, 1)",
                           "9223372036854775807 + h", "99999999999999999999"})
    CHECK_FALSE(evaluate_dim(text, sizes));
  CHECK_FALSE(evaluate_dim(std::string(100000, '('), sizes));
  CHECK_FALSE(evaluate_dim(std::string(100000, '-') + "h", sizes));
  CHECK(is_dim_name("x_axis0"));
  CHECK_FALSE(is_dim_name("2*h"));
  CHECK_FALSE(is_dim_name(""));
}

}  // namespace oe
