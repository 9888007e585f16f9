// The content of a serialized ONNX model, from its protobuf: also of models that ir::Model cannot
// represent. No onnx or protobuf type appears here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace oe::onnx {

struct ModelSummary {
  struct Port {
    std::string name, type;  // "float[batch,3]", "sequence of int64[?]"
  };
  struct Tensor {
    std::string name, type;  // "int8"
    std::vector<int64_t> sizes;
    uint64_t bytes = 0;
    std::string file;  // of its external data; empty: inside the model
  };
  struct DataFile {
    std::string location;  // relative to the model's folder
    size_t tensors = 0;
    uint64_t needed = 0;           // bytes up to the end of the last tensor in it
    std::optional<uint64_t> size;  // nothing: the file is missing
  };
  struct Function {
    std::string name;  // "domain::Name"
    size_t nodes = 0;
  };

  int64_t ir_version = 0, model_version = 0;
  std::string producer_name, producer_version, domain, graph_name, doc;
  std::map<std::string, int64_t> opsets;  // "" is ai.onnx
  std::vector<Port> inputs, outputs;      // inputs that are not also weights
  // Of all graphs, those of functions too: "Conv", "com.microsoft::Gelu".
  std::map<std::string, size_t> operators;
  std::vector<Tensor> weights;  // initializers of all graphs, and sparse ones
  std::vector<DataFile> data_files;
  std::vector<std::string> problems;  // of external data: no location, outside the folder
  std::vector<Function> functions;
  std::vector<std::pair<std::string, std::string>> metadata;
  uint64_t bytes = 0;  // of the file
};

// Throws Failure(Unreadable) like read_file() if the file is not a model.
ModelSummary summarise(const std::filesystem::path& path);

}  // namespace oe::onnx
