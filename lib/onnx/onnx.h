// The ONNX boundary: check, shape inference, text, bytes. No onnx or protobuf type appears here.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/onnx/write_options.h"
#include "lib/support/files.h"

namespace oe::onnx {

class SharedData;  // lib/onnx/shared_data.h

// The ONNX checker with full shape inference, in-process and without serialising the weights.
// Returns the checker's message, empty when the model is accepted. `full` false: structure only.
std::string check(const ir::Model& m, bool full = true);

// Fills in missing value types (dtype, rank, dims) from ONNX shape inference; never overwrites a
// dim that is already a number or a symbol. One run over the whole model.
void infer(ir::Model& m);

// The ONNX text format (onnx.parser), used by the tests. Throws std::runtime_error with position.
ir::Model parse_text(std::string_view text);
// Reads a serialized model (external data resolved relative to the file). Throws
// Failure(Unreadable) for a file that is not a model or is inconsistent.
ir::Model read_file(const std::filesystem::path& path);
ir::Model read_bytes(std::string_view bytes);

// The model's name of its data file.
struct DataName {
  // Names in the output's folder that are taken. If WriteOptions::external_file is one of them, the
  // data file has a content hash in its name (lib/support/hashed_name.h).
  std::vector<std::string> taken;
  std::string chosen;  // set by write(): the location in the model; empty without external data
};

// Whether write() would use external data.
bool needs_external(const ir::Model& m, const WriteOptions& o);
// Streams the model into `model_path` and, if needed, the data into `data_path` (both are private
// temporary files of the caller). Weights go from memory to the file without a copy; those that are
// unchanged in `source` (the .pt; may be null) go from file to file, or stay there
// (External::InPlace). `shared`: several models share the data file, and each appends only missing
// data. `name`: set if the plain name may be taken; the data file is then beside `data_path`.
// Throws Failure(Unwritable) with errno's text if a write fails.
WriteResult write(const ir::Model& m, const WriteOptions& o, const MappedFile* source,
                  const std::filesystem::path& model_path, const std::filesystem::path& data_path,
                  SharedData* shared = nullptr, DataName* name = nullptr);
// The same bytes in memory (no external data), for in-process use and tests.
std::string write_bytes(const ir::Model& m, const WriteOptions& o = {});

// Replaces a node that has a function body in its schema by that body (nodes appended to `out`,
// with the node's own outputs). False when the schema has no body usable at `opset`.
bool expand_function(ir::Model& m, const ir::Node& n, int64_t opset,
                     std::vector<std::unique_ptr<ir::Node>>& out);

}  // namespace oe::onnx
