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
// Reads a serialized model (external data resolved relative to the file). A file that is no model,
// or contradicts itself, is a Failure(Unreadable).
ir::Model read_file(const std::filesystem::path& path);
ir::Model read_bytes(std::string_view bytes);

// The name that a model has for its data file.
struct DataName {
  // Names in the output's folder that the file cannot have. Where WriteOptions::external_file is
  // one, the name has a content hash too (lib/support/hashed_name.h).
  std::vector<std::string> taken;
  std::string chosen;  // by write(): the location in the model; empty without external data
};

// Whether write() would use external data.
bool needs_external(const ir::Model& m, const WriteOptions& o);
// Streams the model into `model_path` and, where needed, the data into `data_path` (both are the
// caller's private temporary files). Weights go from memory to the file without a copy; those that
// stand in `source` (the .pt; may be null) unchanged go from file to file, or stay where they are
// (External::InPlace). `shared`: the data file is that of several models, and what one of them put
// into it is not written again. `name`: where the plain name may be taken; the data then lie beside
// `data_path`. Throws Failure(Unwritable) with errno's text when a write fails.
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
