// Files of example values: what torch.save wrote, NumPy's arrays, ONNX's tensors.
#include "lib/torch/example_files.h"

#include <torch/csrc/jit/serialization/pickle.h>

#include <system_error>

#include "lib/archive/archive.h"
#include "lib/archive/preflight.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/convert.h"
#include "lib/torch/tensor_files.h"

namespace oe::torch_io {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Failure(ExitCode::Unreadable, "OE0133",
                path +
                    ": is not a file that torch.save wrote from tensors, numbers, strings, None, "
                    "lists, tuples and dicts" +
                    (why.empty() ? "" : " (" + why + ")"),
                "write it with torch.save((x, y), \"inputs.pt\")");
}

c10::IValue load_pickle(const std::string& path) {
  try {
    const archive::Archive archive(path);
    archive::check_saved_values(archive);
    const std::string bytes = archive.file().read(0, archive.file().size());
    return torch::jit::pickle_load({bytes.begin(), bytes.end()});
  } catch (const std::system_error& e) {
    throw Failure(ExitCode::Unreadable, "OE0132", path + ": " + e.code().message());
  } catch (const Failure& e) {
    if (e.exit_code != ExitCode::Refused) throw;
    refuse(path, std::string(e.what()).substr(path.size() + 2));
  } catch (const std::exception&) {
    refuse(path, "");
  }
}

}  // namespace

c10::IValue ExampleFiles::saved(const std::string& path) {
  if (!read_.contains(path)) read_.emplace(path, load_pickle(path));
  return read_.at(path).deepcopy();
}

c10::IValue ExampleFiles::value(const std::string& where) {
  if (where.ends_with(".pt") || where.ends_with(".pth")) return saved(where);
  if (!read_.contains(where)) read_.emplace(where, from_host(*read_tensor_file(where)));
  return read_.at(where).deepcopy();
}

}  // namespace oe::torch_io
