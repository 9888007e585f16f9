// Pickles of a PyTorch archive as plain values: nothing is called, imported or built. Accepts what
// LibTorch's own unpickler accepts (protocol 2) and refuses the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace oe::archive {

struct Value;
using ValuePtr = std::shared_ptr<const Value>;

struct None {};
struct Global {  // a class or function: "torch._utils._rebuild_tensor_v2"
  std::string name;
};
struct Tuple {
  std::vector<ValuePtr> items;
};
struct List {
  std::vector<ValuePtr> items;
};
struct Dict {
  std::vector<std::pair<ValuePtr, ValuePtr>> items;
};
// The result of calling `callee` with `arguments` (a tuple; for an enum its value), and the state
// that is set on it (null: none).
struct Called {
  ValuePtr callee, arguments, state;
  bool creates = false;  // by NEWOBJ: LibTorch ignores the arguments, and calls with the state
};
// A storage: "storage", its class, the record's key, the device, the number of elements.
struct Persistent {
  ValuePtr id;
};

struct Value {
  std::variant<None, bool, int64_t, double, std::string, Global, Tuple, List, Dict, Called,
               Persistent>
      is;
  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
};

struct BadPickle : std::runtime_error {
  BadPickle(const std::string& what, size_t at) : std::runtime_error(what), offset(at) {}
  size_t offset;  // in the pickle
};

// How deep values may nest.
constexpr size_t kDeepest = 1000;
// The largest number of values of a pickle, without None, bools and small numbers: each takes about
// 100 bytes here, and one byte in the pickle.
constexpr size_t kMostValues = 5'000'000;
// The largest number of values in its containers, where a shared value counts once for each:
// LibTorch compares, hashes and copies them in this way. Or this many times the pickle's values.
constexpr uint64_t kMostExpanded = 1'000'000;
constexpr uint64_t kMostExpansion = 16;

// The one value of a pickle. Throws BadPickle if the pickle uses an opcode that LibTorch does not,
// has a length beyond its end, reads a memo that was not written or writes one beyond its own size,
// nests deeper than kDeepest, has more values than kMostValues or expands to more than
// kMostExpanded, has a container as a key, pops more than the stack has, or does not end with its
// value.
ValuePtr read_pickle(std::string_view bytes);

}  // namespace oe::archive
