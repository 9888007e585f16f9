// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "lib/archive/numpy_files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>

#include "lib/archive/zip.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/npz.h"
#include "lib/support/text.h"

namespace oe::archive {
namespace {

constexpr size_t kMostAxes = 64;           // NumPy's own limit
constexpr size_t kLongestHeader = 10'000;  // NumPy's own limit: headers are Python
constexpr size_t kHeaderRead = kLongestHeader + 12;
constexpr uint64_t kMostCompressed = 64 << 20, kMostRatio = 20;

[[noreturn]] void fail(const std::string& file, const std::string& what,
                       const std::string& hint = {}) {
  throw Failure(ExitCode::Unreadable, "OE0131", file + ": " + what, hint);
}

int64_t product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// "2, 3," to {2, 3}, and how many bytes that is. Nothing where it is no shape that memory could
// hold.
std::optional<std::pair<std::vector<int64_t>, size_t>> npy_shape(const std::string& text,
                                                                 size_t element) {
  std::vector<int64_t> dims;
  size_t size = element;
  const std::vector<std::string> parts = split(text, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = strip(parts[i]);
    if (part.empty() && i + 1 == parts.size()) break;  // (2,) and ()
    int64_t n = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), n);
    if (error != std::errc() || end != part.data() + part.size() || n < 0) return std::nullopt;
    dims.push_back(n);
  }
  if (dims.size() > kMostAxes) return std::nullopt;
  // Zeros last, so that what they multiply counts.
  for (const int64_t n : dims)
    if (n > 0 && __builtin_mul_overflow(size, static_cast<size_t>(n), &size)) return std::nullopt;
  if (std::ranges::find(dims, 0) != dims.end()) size = 0;
  return std::pair{std::move(dims), size};
}

// Column-major bytes to row-major.
std::string transposed(const std::string& in, const std::vector<int64_t>& dims, size_t element) {
  std::string out(in.size(), '\0');
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t i = 0; i < product(dims); ++i) {
    int64_t from = 0, stride = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      from += index[d] * stride;
      stride *= dims[d];
    }
    std::memcpy(out.data() + static_cast<size_t>(i) * element,
                in.data() + static_cast<size_t>(from) * element, element);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

// The value of `'key':` in a header; nothing where there is no such key.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  return strip(header.substr(at + quoted.size()));
}

// The text between `open` and the next `close`; nothing where it does not begin so.
std::optional<std::string> enclosed(std::optional<std::string_view> text, char open, char close) {
  if (!text || !text->starts_with(open)) return std::nullopt;
  const size_t end = text->find(close, 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text->substr(1, end - 1));
}

bool is_type(const std::string& descr) {
  return descr.size() > 1 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos &&
         std::all_of(descr.begin() + 1, descr.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
}

// The type and sizes that the header of an array states, and where its bytes lie.
struct Header {
  DType type;
  std::vector<int64_t> dims;
  bool by_columns;
  uint64_t begin, size;  // bytes
};

// `bytes` are the first kHeaderRead of a file of `total` bytes.
Header read_header(const std::string& file, std::string_view bytes, uint64_t total) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12) fail(file, "is not a .npy file");
  const bool wide = static_cast<uint8_t>(bytes[6]) >= 2;
  const size_t begin = wide ? 12 : 10, length = little_endian(bytes, 8, wide ? 4 : 2);
  if (begin + length > total) fail(file, "is truncated");
  if (length > kLongestHeader)
    fail(file, "has a header of " + std::to_string(length) + " bytes, too long for a plain array");
  const std::string_view header = bytes.substr(begin, length);
  const auto element = enclosed(value_of(header, "descr"), '\'', '\'');
  const auto shape = enclosed(value_of(header, "shape"), '(', ')');
  if (!element || !is_type(*element) || !shape)
    fail(file, "does not contain a plain array of numbers");
  const DType type = numpy_type(*element);
  if (type == DType::Undefined)
    fail(file, "has elements of type " + *element + ", which cannot be read",
         "save an array of numbers: array.astype('float32')");
  if ((*element)[0] == '>')
    fail(file, "has another byte order (" + *element + ")",
         "save it as array.astype('<" + element->substr(1) + "')");
  auto dims = npy_shape(*shape, byte_size(type));
  if (!dims) fail(file, "has an impossible shape (" + *shape + ")");
  const uint64_t size = dims->second, there = total - begin - length;
  if (there < size) fail(file, "is truncated");
  if (there > size) fail(file, "has more bytes than its shape (" + *shape + ") takes");
  const auto order = value_of(header, "fortran_order");
  return {type, std::move(dims->first), order && order->starts_with("True"), begin + length, size};
}

TensorPtr array(const Header& h, std::string data) {
  auto bytes = std::make_shared<const std::string>(
      h.by_columns ? transposed(data, h.dims, byte_size(h.type)) : std::move(data));
  return std::make_shared<Tensor>(h.type, h.dims, bytes->data(), bytes);
}

}  // namespace

TensorPtr parse_npy(const std::string& name, std::string bytes) {
  const Header h = read_header(name, std::string_view(bytes).substr(0, kHeaderRead), bytes.size());
  bytes.erase(0, h.begin);
  return array(h, std::move(bytes));
}

TensorPtr read_npy(const std::string& file) try {
  const File f{std::filesystem::path(file)};
  const Header h = read_header(file, f.read(0, kHeaderRead), f.size());
  std::string data = f.read(h.begin, h.size);
  if (data.size() != h.size) fail(file, "is truncated");
  return array(h, std::move(data));
} catch (const std::system_error& e) {
  fail(file, e.code().message());
}

TensorPtr read_npz(const std::string& file, const std::string& key) try {
  const Zip zip{std::filesystem::path(file)};
  std::vector<std::string> keys;
  for (Record r : zip.records()) {
    std::string name = r.name.ends_with(".npy") ? r.name.substr(0, r.name.size() - 4) : r.name;
    if (name == key || (key.empty() && zip.records().size() == 1)) {
      if (r.deflated && r.size > std::max(kMostCompressed, kMostRatio * r.stored_size))
        fail(file,
             "its record " + r.name + " holds " + std::to_string(r.stored_size) +
                 " compressed bytes that expand to " + std::to_string(r.size),
             "save it with numpy.savez, which does not compress");
      zip.locate(r);
      return parse_npy(file + ":" + name, zip.read(r));
    }
    keys.push_back(std::move(name));
  }
  fail(file,
       keys.empty()  ? "contains no array"
       : key.empty() ? "contains several arrays; select one as file.npz:key"
                     : "has no array '" + key + "'",
       keys.empty() ? "" : "it has " + join(keys, ", "));
} catch (const BadZip& e) {
  fail(file, e.record.empty() ? "is not a .npz file" : "its record " + e.record + " " + e.what());
} catch (const std::system_error& e) {
  fail(file, e.code().message());
}

}  // namespace oe::archive
