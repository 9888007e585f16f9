// A size as an integer polynomial over named dims: 2*h, (h + 1)//2, batch*tokens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace oe::optimize {

// Equal polynomials have equal texts. Arithmetic gives nothing where a coefficient overflows or the
// polynomial becomes too long to read.
class DimPolynomial {
 public:
  static DimPolynomial number(int64_t n);
  static DimPolynomial symbol(const std::string& name);  // a size: never negative

  // The number that it is, where it has no symbol.
  std::optional<int64_t> as_number() const;
  // True where no coefficient and no part is negative; false: unknown.
  bool never_negative() const;
  // As Python writes it: "2*h + 1", "(h + 31)//32", "max(h - 1, 0)".
  std::string text() const;
  bool operator==(const DimPolynomial& other) const { return text() == other.text(); }

  std::optional<DimPolynomial> plus(const DimPolynomial& other) const;
  std::optional<DimPolynomial> minus(const DimPolynomial& other) const;
  std::optional<DimPolynomial> times(const DimPolynomial& other) const;
  // The quotient, where `other` has one term that divides every term of this.
  std::optional<DimPolynomial> divided_exactly(const DimPolynomial& other) const;
  // Rounded down. divisor > 0
  std::optional<DimPolynomial> floor_divided(int64_t divisor) const;
  // max(this, 0)
  DimPolynomial at_least_zero() const;

 private:
  // A factor that is no number: a symbol, a quotient rounded down, or a maximum with 0.
  struct Atom {
    std::string text;
    bool never_negative = true;
    bool is_sum = false;                             // needs parentheses in a product
    std::shared_ptr<const DimPolynomial> numerator;  // of a quotient
    int64_t divisor = 1;
  };
  using AtomPtr = std::shared_ptr<const Atom>;
  using Factors = std::vector<AtomPtr>;  // sorted by text; empty: the constant term
  struct Order {                         // longer products first, the constant term last
    bool operator()(const Factors& a, const Factors& b) const;
  };

  static DimPolynomial of(AtomPtr atom);
  bool add(const Factors& factors, int64_t coefficient);  // false: overflow or too long
  int64_t constant() const;

  std::map<Factors, int64_t, Order> terms_;  // no coefficient is 0
};

}  // namespace oe::optimize
