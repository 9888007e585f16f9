// Models from text, bytes and files; external data is mapped, not read.
#include <onnx/defs/parser.h>

#include <stdexcept>

#include "lib/onnx/external.h"
#include "lib/onnx/model_file.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/proto.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::onnx {

ir::Model parse_text(std::string_view text) {
  auto proto = std::make_shared<pb::ModelProto>();
  pb::OnnxParser parser(text);
  const auto status = parser.Parse(*proto);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  if (!parser.EndOfInput()) throw std::runtime_error("text after the end of the model");
  return from_proto(std::move(proto));
}

ir::Model read_bytes(std::string_view bytes) { return from_proto(parse_model(bytes, "the input")); }

ir::Model read_file(const std::filesystem::path& path) try {
  auto proto = parse_model_file(path);
  const auto files = std::make_shared<ExternalFiles>(path);
  return from_proto(std::move(proto),
                    [files](const pb::TensorProto& t) { return files->tensor(t); });
} catch (const Failure&) {
  throw;
} catch (const std::exception& e) {  // also what a container says of a name that is not there
  throw Failure(ExitCode::Unreadable, "OE3003", safe_line("'" + path.string() + "': " + e.what()));
}

}  // namespace oe::onnx
