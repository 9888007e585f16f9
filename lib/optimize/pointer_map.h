// A flat hash table keyed by pointers, insert only: several times quicker than std::unordered_map,
// which is what most of the time on large models went to.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace oe::optimize {

template <class V>
class PointerMap {
 public:
  explicit PointerMap(size_t expected = 0) { rehash(std::bit_ceil(expected * 2 + 8)); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const V* find(const void* key) const {
    for (size_t i = slot(key);; i = (i + 1) & mask_) {
      if (!slots_[i].key) return nullptr;  // also what a null key finds
      if (slots_[i].key == key) return &slots_[i].value;
    }
  }
  V* find(const void* key) { return const_cast<V*>(std::as_const(*this).find(key)); }
  bool contains(const void* key) const { return find(key) != nullptr; }

  // The value of `key` (not null), made if it is new.
  V& operator[](const void* key) {
    if (size_ * 2 >= slots_.size()) rehash(slots_.size() * 2);
    size_t i = slot(key);
    while (slots_[i].key && slots_[i].key != key) i = (i + 1) & mask_;
    if (!slots_[i].key) {
      slots_[i].key = key;
      ++size_;
    }
    return slots_[i].value;
  }
  // Whether `key` was new.
  bool insert(const void* key) {
    const size_t before = size_;
    (*this)[key];
    return size_ != before;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    V value{};
  };

  size_t slot(const void* key) const {
    return (reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15ull >> 20) & mask_;
  }
  void rehash(size_t n) {
    std::vector<Slot> old(n);
    old.swap(slots_);
    mask_ = n - 1;
    for (Slot& s : old) {
      if (!s.key) continue;
      size_t i = slot(s.key);
      while (slots_[i].key) i = (i + 1) & mask_;
      slots_[i] = std::move(s);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0, size_ = 0;
};

struct Nothing {};
using PointerSet = PointerMap<Nothing>;

}  // namespace oe::optimize
