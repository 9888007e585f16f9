// Tensors in files that other tools write: NumPy's .npy and .npz, ONNX's TensorProto .pb.
#include "lib/torch/tensor_files.h"

#include <stdexcept>

#include "lib/archive/numpy_files.h"
#include "lib/onnx/value_files.h"
#include "lib/support/diagnostics.h"

namespace oe::torch_io {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& what,
                       const std::string& hint = {}) {
  throw Failure(ExitCode::Unreadable, "OE0131", file + ": " + what, hint);
}

TensorPtr read_pb(const std::string& file) {
  try {
    return onnx::read_value(file, {}).tensor;
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& e) {
    fail(file, e.what());
  }
}

}  // namespace

TensorPtr read_tensor_file(const std::string& where) {
  if (const size_t npz = where.rfind(".npz"); npz != std::string::npos) {
    const std::string rest = where.substr(npz + 4);
    if (rest.empty() || rest[0] == ':')
      return archive::read_npz(where.substr(0, npz + 4), rest.empty() ? rest : rest.substr(1));
  }
  if (where.ends_with(".npy")) return archive::read_npy(where);
  if (where.ends_with(".pb")) return read_pb(where);
  fail(where, "has an unknown extension", "use .npy, .npz:key, .pt or .pb");
}

}  // namespace oe::torch_io
