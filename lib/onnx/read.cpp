// Models from text, bytes and files; external data is mapped, not read.
#include <fcntl.h>
#include <onnx/defs/parser.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "lib/onnx/onnx.h"
#include "lib/onnx/proto.h"
#include "lib/support/diagnostics.h"

namespace oe::onnx {
namespace {

// A file mapped read-only for as long as something points into it.
struct Mapping {
  const char* data = nullptr;
  size_t size = 0;

  explicit Mapping(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st {};
    int error = 0;
    if (fd < 0 || ::fstat(fd, &st) != 0) {
      error = errno;
    } else if (!S_ISREG(st.st_mode)) {
      error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    } else if ((size = static_cast<size_t>(st.st_size)) > 0) {
      void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (p == MAP_FAILED)
        error = errno;
      else
        data = static_cast<const char*>(p);
    }
    if (fd >= 0) ::close(fd);
    if (error)
      throw Failure(ExitCode::Unreadable, "OE3001",
                    "cannot read '" + path.string() + "': " + std::strerror(error));
  }
  ~Mapping() {
    if (data) ::munmap(const_cast<char*>(data), size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

std::shared_ptr<pb::ModelProto> parse(std::string_view bytes, const std::string& what) {
  auto proto = std::make_shared<pb::ModelProto>();
  if (bytes.size() > INT32_MAX || !proto->ParseFromArray(bytes.data(), int(bytes.size())) ||
      !proto->has_graph())
    throw Failure(ExitCode::Unreadable, "OE3002", what + " is not an ONNX model");
  return proto;
}

// Resolves external data beside a model; each data file is mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  TensorPtr operator()(const pb::TensorProto& t) {
    std::string location;
    uint64_t offset = 0;
    const auto number = [&](const std::string& s) {
      uint64_t v = 0;
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      if (error != std::errc() || end != s.data() + s.size())
        throw std::runtime_error("tensor '" + t.name() + "': malformed external data entry");
      return v;
    };
    std::optional<uint64_t> length;
    for (const auto& e : t.external_data()) {
      if (e.key() == "location") location = e.value();
      if (e.key() == "offset") offset = number(e.value());
      if (e.key() == "length") length = number(e.value());
    }
    const std::filesystem::path relative(location);
    bool inside = !location.empty() && relative.is_relative();
    for (const auto& part : relative) inside = inside && part != "..";
    if (!inside)
      throw std::runtime_error("tensor '" + t.name() +
                               "': external data outside the model's folder");

    auto& mapping = files_[location];
    if (!mapping) mapping = std::make_shared<Mapping>(folder_ / relative);
    std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
    uint64_t size = byte_size(static_cast<DType>(t.data_type()));
    bool fits = true;
    for (int64_t d : dims) fits = fits && !__builtin_mul_overflow(size, uint64_t(d), &size);
    if (!fits || (length && *length != size) || offset > mapping->size ||
        size > mapping->size - offset)
      throw std::runtime_error("tensor '" + t.name() + "': '" + location + "' is too short");
    const char* data = mapping->data + offset;
    const auto dtype = static_cast<DType>(t.data_type());
    if (reinterpret_cast<uintptr_t>(data) % byte_size(dtype) != 0)  // a foreign, unaligned file
      return Tensor::from_bytes(dtype, std::move(dims), data, size);
    return std::make_shared<Tensor>(dtype, std::move(dims), data, mapping);
  }

 private:
  std::filesystem::path folder_;
  std::unordered_map<std::string, std::shared_ptr<Mapping>> files_;
};

}  // namespace

ir::Model parse_text(std::string_view text) {
  auto proto = std::make_shared<pb::ModelProto>();
  pb::OnnxParser parser(text);
  const auto status = parser.Parse(*proto);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  if (!parser.EndOfInput()) throw std::runtime_error("text after the end of the model");
  return from_proto(std::move(proto));
}

ir::Model read_bytes(std::string_view bytes) { return from_proto(parse(bytes, "the input")); }

ir::Model read_file(const std::filesystem::path& path) {
  const Mapping file(path);
  auto proto = parse({file.data, file.size}, "'" + path.string() + "'");
  const auto files = std::make_shared<ExternalFiles>(path.parent_path());
  return from_proto(std::move(proto), [files](const pb::TensorProto& t) { return (*files)(t); });
}

}  // namespace oe::onnx
