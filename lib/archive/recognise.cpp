// Names what a file is when it is no TorchScript archive. Needs no LibTorch.
#include "lib/archive/recognise.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "lib/archive/archive.h"
#include "lib/archive/code.h"
#include "lib/archive/preflight.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::archive {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHowToSave =
    "in Python, save one with torch.jit.save(torch.jit.trace(model, example), FILE) or "
    "torch.jit.save(torch.jit.script(model), FILE)";

[[noreturn]] void unreadable(const char* code, const fs::path& path, const std::string& what,
                             const std::string& hint = kHowToSave) {
  throw Failure(ExitCode::Unreadable, code, safe_line(path.string() + ": " + what), hint);
}

// The first class outside torch's own containers that a pickle refers to: "pkg.net.Net". Pickles of
// protocol 2, which torch.save writes, name a class as 'c' MODULE '\n' NAME '\n'.
std::optional<std::string> foreign_class(const std::string& pickle) {
  const auto name_char = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '<' ||
           c == '>';
  };
  for (size_t next, at = pickle.find('c'); at != std::string::npos; at = pickle.find('c', next)) {
    next = at + 1;
    size_t middle = at + 1;
    while (middle < pickle.size() && name_char(pickle[middle])) ++middle;
    if (middle == at + 1 || middle >= pickle.size() || pickle[middle] != '\n') continue;
    size_t end = middle + 1;
    while (end < pickle.size() && name_char(pickle[end])) ++end;
    if (end == middle + 1 || end >= pickle.size() || pickle[end] != '\n') continue;
    const std::string module = pickle.substr(at + 1, middle - at - 1);
    const std::string name = pickle.substr(middle + 1, end - middle - 1);
    const bool container =
        module == "collections" || module == "torch" || module == "torch._utils" ||
        module == "torch.storage" || module == "torch._tensor" || module == "torch.jit._pickle" ||
        module == "builtins" || module == "__builtin__" || module == "copy_reg" ||
        module == "_codecs" || module == "torch.nn.parameter" || module.starts_with("numpy");
    if (!container) return module + "." + name;
    next = end;
  }
  return std::nullopt;
}

[[noreturn]] void name_pickle(const fs::path& path, const std::string& pickle,
                              const std::string& writer) {
  if (const auto c = foreign_class(pickle))
    unreadable("OE0107", path,
               "is an eager PyTorch pickle (torch.save of a " + *c + "), not a TorchScript file",
               "it contains Python objects, not a program; load it in Python, then " +
                   std::string("torch.jit.save(torch.jit.trace(model.eval(), example), FILE)"));
  unreadable("OE0106", path,
             "is a file of tensors (a state_dict or other data that " + writer +
                 " wrote), not a TorchScript file",
             "weights alone do not define a computation; build the model in Python, load them with "
             "load_state_dict, then torch.jit.save(torch.jit.trace(model.eval(), example), FILE)");
}

Zip open_zip(const fs::path& path, File file) {
  try {
    return Zip(std::move(file));
  } catch (const NoZip&) {
    unreadable("OE0108", path, "is a damaged or truncated zip archive (its end is missing)",
               "copy the file again, or save it again");
  } catch (const BadZip& e) {
    refuse(path, e);
  }
}

std::string some_names(const std::vector<Record>& records) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, records.size()); ++i)
    text += (i ? ", " : "") + records[i].name;
  return text + (records.size() > 3 ? ", ..." : "");
}

Archive recognise_zip(const fs::path& path, File file) {
  Zip zip = open_zip(path, std::move(file));
  const std::vector<Record>& records = zip.records();
  // Every record of a PyTorch archive lies under one folder, named after the file it was.
  const auto below = [](const Record& r) {
    const size_t slash = r.name.find('/');
    return std::string_view(r.name).substr(slash == std::string::npos ? r.name.size() : slash + 1);
  };
  const auto has = [&](std::string_view name) {
    return std::ranges::find(records, name, below) != records.end();
  };
  const bool code =
      std::ranges::any_of(records, [&](const Record& r) { return below(r).starts_with("code/"); });
  if ((code && has("data.pkl") && has("constants.pkl")) || has("model.json")) {
    Archive archive(path, std::move(zip));
    check_pickles(archive);
    check_code(archive);
    return archive;
  }
  if (has("models/model.json") || has("archive_format") ||
      has("serialized_exported_program.json") || zip.find("serialized_exported_program.json"))
    unreadable("OE0109", path, "is a torch.export program (.pt2), not a TorchScript file",
               "convert it in Python with torch.onnx.export(dynamo=True), or trace the module it "
               "was exported from: torch.jit.save(torch.jit.trace(model, example), FILE)");
  if (has("bytecode.pkl"))
    unreadable(
        "OE0113", path,
        "has bytecode for PyTorch's mobile interpreter and no TorchScript code, so it cannot "
        "be converted",
        "convert the file that torch.jit.save wrote before it was optimized for mobile");
  if (zip.find("MAR-INF/MANIFEST.json"))
    unreadable("OE0105", path, "is a TorchServe archive (.mar); it contains " + some_names(records),
               "unpack it (it is a zip file) and convert the .pt in it");
  if (zip.find("config.json") && zip.find("model.weights.h5"))
    unreadable("OE0105", path, "is a Keras file, not a TorchScript file",
               "convert it with tf2onnx, or save it in PyTorch");
  if (has("data.pkl")) {
    const Archive archive(path, std::move(zip));
    name_pickle(path, archive.read(*archive.find("data.pkl")), "torch.save");
  }
  unreadable("OE0105", path,
             "is a zip archive, not a TorchScript file (" +
                 (records.empty() ? "it is empty" : "it holds " + some_names(records)) + ")");
}

// ModelProto begins with its ir_version (field 1, a small number), and a string or message follows.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
bool looks_like_onnx(const std::string& bytes) {
  if (bytes.size() < 4 || bytes[0] != 0x08 || bytes[1] < 3 || bytes[1] > 20) return false;
  const int field = bytes[2] >> 3, wire = bytes[2] & 7;
  return wire == 2 && (field == 2 || field == 3 || field == 4 || field == 7 || field == 8);
}

bool looks_like_text(const std::string& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 ? u != 0x7f : u == '\n' || u == '\r' || u == '\t' || u == '\f';
  });
}

std::string nearest_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return did_you_mean(path.filename().string(), names);
}

}  // namespace

Archive require_torchscript(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    unreadable("OE0101", path, "no such file", nearest_file(path));
  if (error) unreadable("OE0101", path, error.message(), "");
  if (fs::is_directory(status))
    unreadable("OE0102", path, "is a directory, not a TorchScript file",
               "specify the .pt file itself");
  if (!fs::is_regular_file(status))
    unreadable("OE0102", path, "is not a regular file", "specify a .pt file");
  std::optional<File> file;
  try {
    file.emplace(path);
  } catch (const std::system_error& e) {
    unreadable("OE0101", path, e.code().message(), "");
  }
  return require_torchscript(path, std::move(*file));
}

Archive require_torchscript(const fs::path& path, File file) {
  std::string head;
  try {
    head = file.read(0, 4096);
  } catch (const std::system_error& e) {
    unreadable("OE0101", path, e.code().message(), "");
  }
  if (head.empty()) unreadable("OE0103", path, "is empty");
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6"))
    return recognise_zip(path, std::move(file));
  // torch.save before 1.6: a pickled magic number, then the pickle of the object.
  if (head.starts_with("\x80\x02\x8a\nl\xfc\x9c"
                       "F\xf9 j\xa8P\x19."))
    name_pickle(path, file.read(0, 1 << 20), "torch.save in its legacy format");
  if (head[0] == '\x80' && head.size() > 1 && head[1] >= 2 && head[1] <= 5)
    unreadable("OE0107", path, "is a Python pickle, not a TorchScript file");
  if (head.starts_with("\x89HDF\r\n"))
    unreadable("OE0105", path, "is an HDF5 file (of Keras, perhaps), not a TorchScript file");
  if (path.extension() == ".onnx" || looks_like_onnx(head))
    unreadable("OE0110", path, "is an ONNX file already, not a TorchScript file", "");
  if (looks_like_text(head)) unreadable("OE0104", path, "is a text file, not a TorchScript file");
  unreadable("OE0105", path, "is not a TorchScript file (not a zip archive)");
}

bool is_onnx(const fs::path& path) {
  if (path.extension() == ".onnx") return true;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  try {
    return looks_like_onnx(read_file_prefix(path, 4096));
  } catch (const std::system_error&) {
    return false;  // who reads it says why
  }
}

}  // namespace oe::archive
