// Which files a serialized ONNX model names. Reads the protobuf wire format alone, without
// protobuf, so that the process that commits a model can check what the worker wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oe {

struct OnnxReferences {
  struct Range {  // of one tensor's external data
    std::string location;
    uint64_t offset = 0, length = 0;  // bytes
  };
  std::vector<Range> data;  // of all graphs, functions and attributes
  std::vector<std::string> state_files;
};

// Reads every message of `model` that may hold a tensor, and no tensor's bytes. Throws
// std::runtime_error that says what is wrong and at which byte: a field that ends behind its
// message, messages nested deeper than 100, an entry of external data without location, offset or
// length.
OnnxReferences read_references(std::string_view model);

// What is wrong with ranges in a file of `size` bytes: one ends behind it. Empty: nothing.
std::string outside(const std::vector<OnnxReferences::Range>& ranges, uint64_t size);

// The same for a file that was made for these ranges: besides, all of its bytes belong to a range,
// but for zeros between two, fewer than `align`.
std::string uncovered(const std::vector<OnnxReferences::Range>& ranges, std::string_view bytes,
                      uint64_t align);

}  // namespace oe
