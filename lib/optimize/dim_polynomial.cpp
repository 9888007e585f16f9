// Arithmetic on sizes that have names, in one canonical form.
#include "lib/optimize/dim_polynomial.h"

#include <algorithm>
#include <numeric>

namespace oe::optimize {
namespace {

constexpr size_t kMostTerms = 8;
constexpr size_t kMostFactors = 6;
constexpr size_t kLongestText = 120;

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

}  // namespace

bool DimPolynomial::Order::operator()(const Factors& a, const Factors& b) const {
  if (a.size() != b.size()) return a.size() > b.size();
  return std::ranges::lexicographical_compare(
      a, b, {}, [](const AtomPtr& x) -> const std::string& { return x->text; },
      [](const AtomPtr& x) -> const std::string& { return x->text; });
}

DimPolynomial DimPolynomial::number(int64_t n) {
  DimPolynomial p;
  p.add({}, n);
  return p;
}

DimPolynomial DimPolynomial::symbol(const std::string& name) {
  return of(std::make_shared<const Atom>(Atom{name, true, false, nullptr, 1}));
}

DimPolynomial DimPolynomial::of(AtomPtr atom) {
  DimPolynomial p;
  p.terms_.emplace(Factors{std::move(atom)}, 1);
  return p;
}

bool DimPolynomial::add(const Factors& factors, int64_t coefficient) {
  if (factors.size() > kMostFactors) return false;
  int64_t& sum = terms_[factors];
  if (__builtin_add_overflow(sum, coefficient, &sum)) return false;
  if (sum == 0) terms_.erase(factors);
  return terms_.size() <= kMostTerms;
}

int64_t DimPolynomial::constant() const {
  const auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
}

std::optional<int64_t> DimPolynomial::as_number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

bool DimPolynomial::never_negative() const {
  return std::ranges::all_of(terms_, [](const auto& term) {
    return term.second > 0 &&
           std::ranges::all_of(term.first, [](const AtomPtr& a) { return a->never_negative; });
  });
}

std::string DimPolynomial::text() const {
  std::string out;
  for (const auto& [factors, coefficient] : terms_) {
    const bool negative = coefficient < 0;
    if (out.empty())
      out += negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    std::string digits = std::to_string(coefficient);
    if (negative) digits.erase(0, 1);
    std::string product = digits == "1" && !factors.empty() ? "" : digits;
    const bool alone = product.empty() && factors.size() == 1 && !negative;
    for (const AtomPtr& a : factors)
      product +=
          (product.empty() ? "" : "*") + (a->is_sum && !alone ? "(" + a->text + ")" : a->text);
    out += product;
  }
  return out.empty() ? "0" : out;
}

std::optional<DimPolynomial> DimPolynomial::plus(const DimPolynomial& other) const {
  DimPolynomial sum = *this;
  for (const auto& [factors, coefficient] : other.terms_)
    if (!sum.add(factors, coefficient)) return std::nullopt;
  return sum;
}

std::optional<DimPolynomial> DimPolynomial::minus(const DimPolynomial& other) const {
  const auto negated = other.times(number(-1));
  return negated ? plus(*negated) : std::nullopt;
}

std::optional<DimPolynomial> DimPolynomial::times(const DimPolynomial& other) const {
  DimPolynomial product;
  for (const auto& [a, x] : terms_)
    for (const auto& [b, y] : other.terms_) {
      Factors factors;
      std::ranges::merge(
          a, b, std::back_inserter(factors), {},
          [](const AtomPtr& f) -> const std::string& { return f->text; },
          [](const AtomPtr& f) -> const std::string& { return f->text; });
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(x, y, &coefficient) || !product.add(factors, coefficient))
        return std::nullopt;
    }
  return product;
}

std::optional<DimPolynomial> DimPolynomial::divided_exactly(const DimPolynomial& other) const {
  if (other.terms_.empty()) return std::nullopt;
  if (*this == other) return number(1);
  if (other.terms_.size() != 1) return std::nullopt;
  const auto& [factors, divisor] = *other.terms_.begin();
  DimPolynomial quotient;
  for (const auto& [own, coefficient] : terms_) {
    if (divisor == -1 || coefficient % divisor != 0) return std::nullopt;
    Factors rest = own;
    for (const AtomPtr& f : factors) {
      const auto found = std::ranges::find(
          rest, f->text, [](const AtomPtr& x) -> const std::string& { return x->text; });
      if (found == rest.end()) return std::nullopt;
      rest.erase(found);
    }
    if (!quotient.add(rest, coefficient / divisor)) return std::nullopt;
  }
  return quotient;
}

std::optional<DimPolynomial> DimPolynomial::floor_divided(int64_t divisor) const {
  // (6*h + 7)//4 = h + (2*h + 3)//4 + 1: what the divisor divides needs no rounding.
  DimPolynomial whole, rest;
  int64_t common = divisor;
  for (const auto& [factors, coefficient] : terms_) {
    const int64_t quotient = floor_of(coefficient, divisor),
                  left = coefficient - quotient * divisor;
    if (!whole.add(factors, quotient) || !rest.add(factors, left)) return std::nullopt;
    if (!factors.empty()) common = std::gcd(common, left);
  }
  const int64_t added = rest.constant();
  if (rest.as_number()) return whole;  // below the divisor
  // (2*h + 3)//4 = (h + 1)//2
  DimPolynomial numerator;
  for (const auto& [factors, coefficient] : rest.terms_)
    if (!numerator.add(factors, floor_of(coefficient, common))) return std::nullopt;
  const int64_t by = divisor / common;
  if (by == 1) return whole.plus(numerator);
  // (x//a + c)//b = (x + a*c)//(a*b)
  const auto& [factors, coefficient] = *numerator.terms_.begin();
  if (coefficient == 1 && factors.size() == 1 && factors[0]->numerator &&
      numerator.terms_.size() == (numerator.constant() ? 2u : 1u)) {
    const Atom& inner = *factors[0];
    int64_t product = 0;
    const auto offset = number(floor_of(added, common)).times(number(inner.divisor));
    const auto sum = offset ? inner.numerator->plus(*offset) : std::nullopt;
    if (!sum || __builtin_mul_overflow(inner.divisor, by, &product)) return std::nullopt;
    const auto both = sum->floor_divided(product);
    return both ? whole.plus(*both) : std::nullopt;
  }
  std::string text = numerator.text();
  const bool simple = numerator.terms_.size() == 1 && coefficient == 1 && factors.size() == 1 &&
                      !factors[0]->is_sum;
  text = (simple ? text : "(" + text + ")") + "//" + std::to_string(by);
  if (text.size() > kLongestText) return std::nullopt;
  const bool positive = numerator.never_negative();
  return whole.plus(of(std::make_shared<const Atom>(Atom{
      text, positive, true, std::make_shared<const DimPolynomial>(std::move(numerator)), by})));
}

DimPolynomial DimPolynomial::at_least_zero() const {
  if (never_negative()) return *this;
  if (const auto n = as_number()) return number(std::max<int64_t>(*n, 0));
  return of(std::make_shared<const Atom>(Atom{"max(" + text() + ", 0)", true, false, nullptr, 1}));
}

}  // namespace oe::optimize
