// Private to lib/onnx: a protobuf message under construction, whose large payloads stay where they
// are in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/tensor.h"

namespace oe::onnx {

// Bytes of a message, with views spliced in. Appending a nested message costs its small bytes only;
// its length prefix is inserted once the length is known.
class Rope {
 public:
  struct Splice {
    size_t at;           // position in small(): the view's bytes come before small()[at]
    const Tensor* data;  // owned by the model that is written
  };

  void integer(int field, int64_t value);  // wire type 0: int32, int64, enum
  void float32(int field, float value);    // wire type 5
  void bytes(int field, std::string_view value);
  void view(int field, const Tensor& data);  // wire type 2, not copied when large
  template <class F>
  void message(int field, const F& body) {
    const Mark m = begin(field);
    body();
    end(m);
  }

  uint64_t size() const { return small_.size() + spliced_; }
  const std::string& small() const { return small_; }
  const std::vector<Splice>& splices() const { return splices_; }
  std::string flatten() const;

 private:
  struct Mark {
    size_t at, splices;
    uint64_t spliced;
  };
  Mark begin(int field);
  void end(const Mark& m);
  void varint(uint64_t v);
  void tag(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }

  std::string small_;
  std::vector<Splice> splices_;
  uint64_t spliced_ = 0;
};

}  // namespace oe::onnx
