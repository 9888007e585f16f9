// Tensors in files that other tools write: NumPy's .npy and .npz, ONNX's TensorProto .pb.
#include "lib/torch/tensor_files.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <regex>
#include <system_error>

#include "lib/archive/zip.h"
#include "lib/onnx/value_files.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/npz.h"
#include "lib/support/text.h"

namespace oe::torch_io {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& what,
                       const std::string& hint = {}) {
  throw Failure(ExitCode::Unreadable, "OE0131", file + ": " + what, hint);
}

std::string bytes_of(const std::string& file) {
  try {
    return read_whole_file(file);
  } catch (const std::system_error& e) {
    fail(file, e.code().message());
  }
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

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
TensorPtr parse_npy(const std::string& file, const std::string& bytes) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12) fail(file, "is not a .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const bool wide = byte(6) >= 2;
  const size_t begin = wide ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (begin + length > bytes.size()) fail(file, "is truncated");
  constexpr size_t most = 10'000;  // NumPy's own limit: headers are Python, and are evaluated
  if (length > most)
    fail(file, "has a header of " + std::to_string(length) + " bytes, which is no plain array's");
  const std::string header = bytes.substr(begin, length);
  std::smatch descr, shape;
  static const std::regex descr_re(R"('descr':\s*'([<>|=]\w+)')");
  static const std::regex shape_re(R"('shape':\s*\(([^)]*)\))");
  if (!std::regex_search(header, descr, descr_re) || !std::regex_search(header, shape, shape_re))
    fail(file, "holds no plain array of numbers");
  const std::string element = descr[1].str();
  const DType type = numpy_type(element);
  if (type == DType::Undefined)
    fail(file, "has elements of type " + element + ", which cannot be read",
         "an array of numbers is needed: array.astype('float32')");
  if (element[0] == '>')
    fail(file, "has its bytes in another order (" + element + ")",
         "save it as array.astype('<" + element.substr(1) + "')");
  const auto dims = npy_shape(shape[1].str(), byte_size(type));
  if (!dims) fail(file, "has an impossible shape (" + shape[1].str() + ")");
  const size_t size = dims->second;
  if (bytes.size() - begin - length < size) fail(file, "is truncated");
  if (bytes.size() - begin - length > size)
    fail(file, "holds more bytes than its shape (" + shape[1].str() + ") takes");
  std::string data = bytes.substr(begin + length, size);
  if (header.find("'fortran_order': True") != std::string::npos)
    data = transposed(data, dims->first, byte_size(type));
  return Tensor::from_bytes(type, dims->first, data.data(), data.size());
}

TensorPtr read_npz(const std::string& file, const std::string& key) try {
  const archive::Zip zip(file);
  std::vector<std::string> keys;
  for (archive::Record r : zip.records()) {
    std::string name = r.name.ends_with(".npy") ? r.name.substr(0, r.name.size() - 4) : r.name;
    if (name == key || (key.empty() && zip.records().size() == 1)) {
      zip.locate(r);
      return parse_npy(file + ":" + name, zip.read(r));
    }
    keys.push_back(std::move(name));
  }
  fail(file,
       keys.empty()  ? "holds no array"
       : key.empty() ? "holds several arrays; name one as file.npz:key"
                     : "has no array '" + key + "'",
       keys.empty() ? "" : "it has " + join(keys, ", "));
} catch (const archive::BadZip& e) {
  fail(file, e.record.empty() ? "is not a .npz file" : "its record " + e.record + " " + e.what());
} catch (const std::system_error& e) {
  fail(file, e.code().message());
}

TensorPtr read_pb(const std::string& file) {
  try {
    return onnx::read_value(file, /*sequence=*/false).tensors.at(0);
  } catch (const std::runtime_error& e) {
    fail(file, e.what());
  }
}

}  // namespace

TensorPtr read_tensor_file(const std::string& where) {
  if (const size_t npz = where.rfind(".npz"); npz != std::string::npos) {
    const std::string rest = where.substr(npz + 4);
    if (rest.empty() || rest[0] == ':')
      return read_npz(where.substr(0, npz + 4), rest.empty() ? rest : rest.substr(1));
  }
  if (where.ends_with(".npy")) return parse_npy(where, bytes_of(where));
  if (where.ends_with(".pb")) return read_pb(where);
  fail(where, "is of no known kind", "known are .npy, .npz:key, .pt and .pb");
}

}  // namespace oe::torch_io
