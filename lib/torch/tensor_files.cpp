// Tensors in files that other tools write: NumPy's .npy and .npz, ONNX's TensorProto .pb.
#include "lib/torch/tensor_files.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <regex>
#include <system_error>

#include "lib/archive/zip.h"
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
  const std::string header = bytes.substr(begin, length);
  std::smatch descr, shape;
  static const std::regex descr_re(R"('descr':\s*'([<>|=]\w+)')");
  static const std::regex shape_re(R"('shape':\s*\(([^)]*)\))");
  if (!std::regex_search(header, descr, descr_re) || !std::regex_search(header, shape, shape_re))
    fail(file, "holds no plain array of numbers");
  const DType type = numpy_type(descr[1].str());
  if (type == DType::Undefined || descr[1].str()[0] == '>')
    fail(file, "has elements of type " + descr[1].str() + ", which cannot be read");
  std::vector<int64_t> dims;
  for (const std::string& d : split(shape[1].str(), ','))
    if (!strip(d).empty()) dims.push_back(std::stoll(std::string(strip(d))));
  const size_t size = static_cast<size_t>(product(dims)) * byte_size(type);
  if (bytes.size() - begin - length < size) fail(file, "is truncated");
  std::string data = bytes.substr(begin + length, size);
  if (header.find("'fortran_order': True") != std::string::npos)
    data = transposed(data, dims, byte_size(type));
  return Tensor::from_bytes(type, dims, data.data(), data.size());
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
  fail(
      file,
      key.empty() ? "holds several arrays; name one as file.npz:key" : "has no array '" + key + "'",
      "it has " + join(keys, ", "));
} catch (const archive::BadZip& e) {
  fail(file, e.record.empty() ? "is not a .npz file" : "its record " + e.record + " " + e.what());
} catch (const std::system_error& e) {
  fail(file, e.code().message());
}

// Walks the fields of one protobuf message.
class Fields {
 public:
  Fields(const std::string& file, std::string_view bytes) : file_(file), rest_(bytes) {}
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = static_cast<int>(key >> 3);
    wire = static_cast<int>(key & 7);
    switch (wire) {
      case 0:
        number = varint();
        return true;
      case 1:
        data = take(8);
        return true;
      case 2:
        data = take(varint());
        return true;
      case 5:
        data = take(4);
        return true;
      default:
        fail(file_, "is not an ONNX TensorProto");
    }
  }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto b = static_cast<uint8_t>(take(1)[0]);
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (!(b & 0x80)) return v;
    }
    fail(file_, "is not an ONNX TensorProto");
  }
  bool empty() const { return rest_.empty(); }

  int field = 0, wire = 0;
  uint64_t number = 0;
  std::string_view data;

 private:
  std::string_view take(uint64_t n) {
    if (n > rest_.size()) fail(file_, "is truncated or not an ONNX TensorProto");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  const std::string& file_;
  std::string_view rest_;
};

// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, message TensorProto
TensorPtr parse_pb(const std::string& file, const std::string& bytes) {
  std::vector<int64_t> dims;
  DType type = DType::Undefined;
  std::string data;
  std::vector<uint64_t> numbers;  // int32_data, int64_data, uint64_data
  for (Fields f(file, bytes); f.next();) {
    const auto repeated = [&](auto&& add) {
      if (f.wire == 0) return add(f.number);
      for (Fields packed(file, f.data); !packed.empty();) add(packed.varint());
    };
    if (f.field == 1) repeated([&](uint64_t v) { dims.push_back(static_cast<int64_t>(v)); });
    if (f.field == 2) type = static_cast<DType>(f.number);
    if (f.field == 4 || f.field == 9 || f.field == 10) data += f.data;
    if (f.field == 5 || f.field == 7 || f.field == 11)
      repeated([&](uint64_t v) { numbers.push_back(v); });
  }
  if (data.empty())
    for (const uint64_t v : numbers)  // little-endian: the low bytes are the element
      data.append(reinterpret_cast<const char*>(&v), byte_size(type));
  const bool sane = std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
  if (byte_size(type) == 0 || !sane ||
      data.size() != static_cast<size_t>(product(dims)) * byte_size(type))
    fail(file, "is not an ONNX TensorProto of numbers");
  return Tensor::from_bytes(type, dims, data.data(), data.size());
}

}  // namespace

TensorPtr read_tensor_file(const std::string& where) {
  if (const size_t npz = where.rfind(".npz"); npz != std::string::npos) {
    const std::string rest = where.substr(npz + 4);
    if (rest.empty() || rest[0] == ':')
      return read_npz(where.substr(0, npz + 4), rest.empty() ? rest : rest.substr(1));
  }
  if (where.ends_with(".npy")) return parse_npy(where, bytes_of(where));
  if (where.ends_with(".pb")) return parse_pb(where, bytes_of(where));
  fail(where, "is of no known kind", "known are .npy, .npz:key, .pt and .pb");
}

}  // namespace oe::torch_io
