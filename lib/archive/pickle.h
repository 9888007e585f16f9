// Pickles of a PyTorch archive as plain values: nothing is called, imported or built. Knows what
// LibTorch's own unpickler knows (protocol 2) and refuses the rest.
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
// What calling `callee` with `arguments` (a tuple; of an enum its value) would give, and the state
// set on it (null: none).
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
// How many values a pickle may have, None, bools and small numbers not counted: each takes some
// 100 bytes here, and one byte in the pickle.
constexpr size_t kMostValues = 5'000'000;
// How many values its containers may have, where those that several hold count for each: LibTorch
// compares, hashes and copies them so. Or this many times the values of the pickle.
constexpr uint64_t kMostExpanded = 1'000'000;
constexpr uint64_t kMostExpansion = 16;

// The one value of a pickle. Throws BadPickle where it uses an opcode that LibTorch does not, says
// a length beyond its end, reads a memo that was not written or writes one beyond its own size,
// nests deeper than kDeepest, has more values than kMostValues or more when expanded than
// kMostExpanded, has a container as a key, takes more from the stack than is there, or does not end
// with its value.
ValuePtr read_pickle(std::string_view bytes);

}  // namespace oe::archive
