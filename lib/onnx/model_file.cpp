// Serialized models and where their external data lies.
#include "lib/onnx/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "lib/support/diagnostics.h"

namespace oe::onnx {

Mapping::Mapping(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe is refused below instead of waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

Mapping::~Mapping() {
  if (data) ::munmap(const_cast<char*>(data), size);
}

std::shared_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& what) {
  auto proto = std::make_shared<pb::ModelProto>();
  if (bytes.size() > INT32_MAX ||
      !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto->has_graph())
    throw Failure(ExitCode::Unreadable, "OE3002", what + " is not an ONNX model");
  return proto;
}

std::shared_ptr<pb::ModelProto> parse_model_file(const std::filesystem::path& path) {
  const Mapping file(path);
  return parse_model({file.data, file.size}, "'" + path.string() + "'");
}

ExternalPlace external_place(const pb::TensorProto& t) {
  ExternalPlace place;
  const auto number = [&](const std::string& s) {
    uint64_t v = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc() || end != s.data() + s.size())
      throw std::runtime_error("tensor '" + t.name() + "': malformed external data entry");
    return v;
  };
  for (const auto& e : t.external_data()) {
    if (e.key() == "location") place.location = e.value();
    if (e.key() == "offset") place.offset = number(e.value());
    if (e.key() == "length") place.length = number(e.value());
  }
  const std::filesystem::path relative(place.location);
  bool inside = !place.location.empty() && relative.is_relative();
  for (const auto& part : relative) inside = inside && part != "..";
  if (!inside)
    throw std::runtime_error("tensor '" + t.name() + "': external data outside the model's folder");
  return place;
}

std::optional<uint64_t> tensor_bytes(const pb::TensorProto& t) {
  uint64_t size = byte_size(static_cast<DType>(t.data_type()));
  if (size == 0) return std::nullopt;
  for (const int64_t d : t.dims())
    if (d < 0 || __builtin_mul_overflow(size, static_cast<uint64_t>(d), &size)) return std::nullopt;
  return size;
}

}  // namespace oe::onnx
