// What an output was in all runs of a verification: whether comparing it says anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/verify/ort.h"

namespace oe::verify {

class OutputRecord {
 public:
  void add(const HostValue& libtorch);
  int64_t elements() const { return elements_; }  // of all runs
  // Why it says nothing that ONNX Runtime gives the same: "empty in every run". Empty: it says
  // something, or there was one run only.
  std::string says_nothing() const;

 private:
  void add(const Tensor& t);

  size_t runs_ = 0;
  int64_t elements_ = 0;
  uint64_t first_run_ = 0;  // a hash of its shape and bytes
  bool same_ = true;        // every run gave what the first one did
  bool one_value_ = true;   // all elements of all runs are one value
  bool all_nan_ = true;
  std::string value_;  // the bytes of the first element of all
};

}  // namespace oe::verify
