// Arguments of an operator whose sizes can be regenerated: shapes and numbers are made of letters.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace oe::axes {

// What each letter stands for. a, b, c, d: sizes; e: the factor of elements that carry a size;
// f: what a number that is no letter is computed from; g: an axis that has one element now.
constexpr size_t kLetters = 7;
using Base = std::array<int64_t, kLetters>;
constexpr Base kBase = {2, 3, 4, 5, 1, 2, 1};
enum : int { kElements = 4, kNumbers = 5, kOne = 6 };

// times * letter + plus; without a letter only plus.
struct Size {
  int letter = -1;
  int64_t times = 1, plus = 0;

  int64_t at(const Base& base) const {
    return letter < 0 ? plus : times * base[static_cast<size_t>(letter)] + plus;
  }
  std::string text() const;  // "7", "a", "2c+1"
};

struct TensorSpec {
  std::vector<Size> shape;
  c10::ScalarType dtype = c10::kFloat;
  int64_t high = 2;             // integers are below it
  std::vector<int64_t> values;  // when not empty: the elements themselves
  uint64_t seed = 0;

  at::Tensor at(const Base& base) const;
};

struct Value {
  enum class Kind { Fixed, Tensor, Int, Bool, List };
  Kind kind = Kind::Fixed;
  c10::IValue fixed;  // None, a text, a float; of Bool: it
  TensorSpec tensor;
  Size size;  // of Int
  std::vector<Value> items;
  c10::TypePtr element;  // of List
};
using Sample = std::vector<Value>;

std::string text(const Value& v);
std::string text(const Sample& sample);

// What varies: the tensors and numbers in order, those in lists too.
enum class Role { Constant, Input, Computed };
std::vector<const Value*> leaves(const Sample& sample);

// The letter and offset that a computed number comes from: its own, or kNumbers.
Size computed_from(const Size& size);
// Whether a computed bool is `size > kBase[kNumbers]` (else its opposite).
inline bool is_greater(const Value& v) { return !v.fixed.toBool(); }

// The arguments where the letters of what is no constant are `base`.
std::vector<c10::IValue> arguments(const Sample& sample, const std::vector<Role>& roles,
                                   const Base& base);

// Integers out of a seed, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace oe::axes
