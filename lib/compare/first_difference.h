// The results that one run has on two sides, LibTorch's and ONNX Runtime's, and the first of them
// that the other side does not have. There are two ways to match the results of the two: by
// construction, where it is known which belong together, and by value, where nothing else relates
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/program/program.h"
#include "lib/support/tensor.h"

namespace oe {

// Sums that do not change when elements change places.
struct Fingerprint {
  double sum = 0, absolute = 0, largest = 0;
  int64_t not_finite = 0;
};

struct Result {
  TensorPtr tensor;
  bool known = false;      // the other side has it too
  std::string difference;  // match_by_construction(): how the other side's differs
  Fingerprint print;       // match_by_value()
};

// The results of one side in the order in which they are computed, and the values they belong to.
// Value: program::Value or ir::Value.
template <class Value>
class Side {
 public:
  // Of a value that has no result yet. Null tensors and those without numbers are left out.
  void add(const Value* v, const TensorPtr& t, bool known = false) {
    if (!t || t->dtype() == DType::String || is_complex(t->dtype())) return;
    if (!places_.emplace(v, results_.size()).second) return;
    order_.push_back(v);
    results_.push_back({t, known, {}, {}});
  }
  const Result* of(const Value* v) const {
    const auto it = places_.find(v);
    return it == places_.end() ? nullptr : &results_[it->second];
  }
  std::vector<Result>& results() { return results_; }
  const std::vector<Result>& results() const { return results_; }
  const std::vector<const Value*>& values() const { return order_; }  // one a result

  // The first value in order whose result is not known; null: there is none.
  const Value* first_unknown() const {
    const auto at = std::ranges::find(results_, false, &Result::known);
    return at == results_.end() ? nullptr : order_[static_cast<size_t>(at - results_.begin())];
  }
  // The same among those from which `root` is computed by way of unknown results alone. Values
  // without a result (lists, values inside a loop) are passed through. `sources`: appends the
  // values from which one is computed.
  template <class Sources>
  const Value* first_unknown(const Value* root, const Sources& sources) const {
    std::set<const Value*> seen;
    std::vector<const Value*> open = {root};
    size_t first = results_.size();
    while (!open.empty()) {
      const Value* v = open.back();
      open.pop_back();
      if (!v || !seen.insert(v).second) continue;
      if (const auto it = places_.find(v); it != places_.end()) {
        if (results_[it->second].known) continue;
        first = std::min(first, it->second);
      }
      sources(v, open);
    }
    return first == results_.size() ? nullptr : order_[first];
  }

 private:
  std::vector<Result> results_;
  std::vector<const Value*> order_;
  std::unordered_map<const Value*, size_t> places_;
};

// Marks the results of `side` that agree with those of the other side for the same value, and
// states the difference of the others.
void match_by_construction(Side<program::Value>& side,
                           const std::map<const program::Value*, TensorPtr>& other);

// Whether both are equal up to rounding at the scale of the tensor, or have the same elements in
// another shape. Both have fingerprints.
bool same_by_value(const Result& a, const Result& b);
// Marks the results that have an equal on the other side.
void match_by_value(Side<program::Value>& torch, Side<ir::Value>& file);

}  // namespace oe
