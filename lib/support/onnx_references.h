// Finds the files that a serialized ONNX model refers to. Reads the protobuf wire format without
// protobuf, so that the process that commits a model can check the worker's output.
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

// Reads every message of `model` that may contain a tensor, and no tensor's bytes. Throws
// std::runtime_error with the problem and its byte offset: a field that extends beyond its
// message, messages nested deeper than 100, an entry of external data without location, offset or
// length.
OnnxReferences read_references(std::string_view model);

// The problem of ranges in a file of `size` bytes: one extends beyond it. Empty: none.
std::string outside(const std::vector<OnnxReferences::Range>& ranges, uint64_t size);

// The same for a file that was written for these ranges: all of its bytes must also belong to a
// range, except fewer than `align` zeros between two ranges.
std::string uncovered(const std::vector<OnnxReferences::Range>& ranges, std::string_view bytes,
                      uint64_t align);

}  // namespace oe
