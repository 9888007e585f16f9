#include "lib/verify/output_record.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/support/byte_hash.h"
#include "lib/support/half.h"

namespace oe::verify {
namespace {

template <class T>
std::string_view bytes_of(const T& v) {
  return {reinterpret_cast<const char*>(&v), sizeof v};
}

template <class T, class Convert>
bool only_nan(const Tensor& t, const Convert& convert) {
  const T* x = static_cast<const T*>(t.data());
  return std::all_of(x, x + t.numel(), [&](T v) { return std::isnan(convert(v)); });
}

bool only_nan(const Tensor& t) {
  switch (t.dtype()) {
    case DType::Float:
      return only_nan<float>(t, [](float v) { return v; });
    case DType::Double:
      return only_nan<double>(t, [](double v) { return v; });
    case DType::Float16:
      return only_nan<uint16_t>(t, half_value);
    case DType::BFloat16:
      return only_nan<uint16_t>(t, bfloat16_value);
    default:
      return false;
  }
}

std::string all_bytes(const Tensor& t) {
  std::string text;
  for (const std::string& s : t.strings()) text += s + '\0';
  return text;
}

}  // namespace

void OutputRecord::add(const HostValue& libtorch) {
  ByteHash hash;
  const auto one = [&](const Tensor& t) {
    for (const int64_t size : t.dims()) hash.add(bytes_of(size));
    hash.add("|");
    if (t.dtype() == DType::String)
      hash.add(all_bytes(t));
    else
      hash.add({static_cast<const char*>(t.data()), t.nbytes()});
    add(t);
  };
  if (libtorch.kind == HostValue::Kind::Tensor) one(*libtorch.tensor);
  for (const TensorPtr& t : libtorch.sequence) one(*t);
  const uint64_t run = hash.value();
  if (runs_++ == 0) first_run_ = run;
  same_ = same_ && run == first_run_;
}

void OutputRecord::add(const Tensor& t) {
  elements_ += t.numel();
  if (t.numel() == 0) return;
  all_nan_ = all_nan_ && only_nan(t);
  if (t.dtype() == DType::String) {
    one_value_ = false;  // what is the same in every run is found by its hash
    return;
  }
  const auto* bytes = static_cast<const char*>(t.data());
  const size_t size = t.nbytes() / static_cast<size_t>(t.numel());
  const std::string value(bytes, size);
  if (value_.empty()) value_ = value;
  // Each element is equal to the one behind it.
  one_value_ =
      one_value_ && value == value_ && std::memcmp(bytes, bytes + size, t.nbytes() - size) == 0;
}

std::string OutputRecord::says_nothing() const {
  if (runs_ < 2) return {};
  if (elements_ == 0) return "empty in every run";
  if (all_nan_) return "NaN in every run";
  if (one_value_) return "one value in every run";
  if (same_) return "the same in every run";
  return {};
}

}  // namespace oe::verify
