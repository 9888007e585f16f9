// Random results, of which no single element can be compared: their means and mean squares.
#pragma once

#include <string>
#include <vector>

#include "lib/support/tensor.h"

namespace oe::verify {

// Pairs of runs, each on the same inputs, of an output that depends on random numbers.
class Moments {
 public:
  static constexpr size_t kRuns = 16, kEnough = 8;

  void add(const Tensor& actual, const Tensor& expected);
  // What differs; empty when nothing does, or when there were fewer than kEnough runs. A mean over
  // n elements scatters from run to run by sigma / sqrt(n), or by more where elements share a
  // random number: so the tolerance is eight times the error that the scatter itself gives the
  // difference of the averages, which chance exceeds once in millions of outputs.
  std::string difference() const;

 private:
  struct Means {
    double first = 0, second = 0;  // of the elements, and of their squares
  };
  static Means means(const Tensor& t);
  std::vector<Means> actual_, expected_;
};

}  // namespace oe::verify
