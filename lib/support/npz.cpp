// NumPy's .npz: named arrays in one file.
#include "lib/support/npz.h"

#include <zlib.h>

#include <optional>
#include <string_view>
#include <system_error>

#include "lib/support/diagnostics.h"
#include "lib/support/file_writer.h"
#include "lib/support/text.h"

namespace oe {
namespace {

// Little endian, like the machines this is built for.
template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

constexpr std::pair<DType, std::string_view> kTypes[] = {
    {DType::Float, "<f4"},     {DType::Double, "<f8"},     {DType::Float16, "<f2"},
    {DType::Int8, "|i1"},      {DType::Int16, "<i2"},      {DType::Int32, "<i4"},
    {DType::Int64, "<i8"},     {DType::UInt8, "|u1"},      {DType::UInt16, "<u2"},
    {DType::UInt32, "<u4"},    {DType::UInt64, "<u8"},     {DType::Bool, "|b1"},
    {DType::Complex64, "<c8"}, {DType::Complex128, "<c16"}};

std::string descr(DType t) {
  for (const auto& [type, text] : kTypes)
    if (type == t) return std::string(text);
  return "|V" + std::to_string(byte_size(t));
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
std::string npy_header(const Tensor& t) {
  std::string shape;
  for (const int64_t n : t.dims()) shape += std::to_string(n) + ", ";
  if (t.dims().size() > 1) shape.resize(shape.size() - 2);  // (2, 3), but (2,)
  if (t.dims().size() == 1) shape.pop_back();
  std::string text =
      "{'descr': '" + descr(t.dtype()) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t before = 10, alignment = 64;
  text.append(alignment - 1 - (before + text.size()) % alignment, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<uint16_t>(text.size()));
  return out + text;
}

// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.7 and 4.3.12
class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& file) : file_(file) {
    or_fail([&] { out_.emplace(file); });
  }

  void add(const std::string& name, const std::string& header, const Tensor& t) {
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    t.stream([&](const void* data, size_t n) {
      // Of no bytes, zlib takes a null pointer for the wish to begin anew.
      if (n > 0) crc = crc32_z(crc, static_cast<const Bytef*>(data), n);
    });
    const uint64_t size = header.size() + t.nbytes();
    if (at_ + size + name.size() > kMost)
      throw Failure(ExitCode::Limit, "OE7003",
                    file_.string() + ": the saved state is larger than the 4 GiB of an .npz file");
    std::string common;
    put<uint16_t>(common, 20);      // version needed
    put<uint16_t>(common, 0x0800);  // names are UTF-8
    put<uint16_t>(common, 0);       // stored
    put<uint16_t>(common, 0);       // midnight
    put<uint16_t>(common, 0x21);    // of the first of January 1980
    put(common, static_cast<uint32_t>(crc));
    put(common, static_cast<uint32_t>(size));
    put(common, static_cast<uint32_t>(size));
    put(common, static_cast<uint16_t>(name.size()));
    put<uint16_t>(common, 0);  // no extra field
    directory_ += std::string("PK\1\2\24\0", 6) + common;
    directory_.append(10, '\0');  // no comment; disk and attributes
    put(directory_, static_cast<uint32_t>(at_));
    directory_ += name;
    ++entries_;
    write(std::string("PK\3\4", 4) + common + name + header);
    t.stream([&](const void* data, size_t n) { write({static_cast<const char*>(data), n}); });
  }

  void finish() {
    const uint64_t begin = at_;
    std::string end("PK\5\6\0\0\0\0", 8);
    put(end, entries_);
    put(end, entries_);
    put(end, static_cast<uint32_t>(directory_.size()));
    put(end, static_cast<uint32_t>(begin));
    put<uint16_t>(end, 0);  // no comment
    write(directory_ + end);
    or_fail([&] { out_->finish(); });
  }

 private:
  static constexpr uint64_t kMost = 0xF0000000;  // leaves room for the directory

  void write(std::string_view bytes) {
    or_fail([&] { out_->write(bytes); });
    at_ += bytes.size();
  }
  template <class F>
  void or_fail(const F& work) const {
    try {
      work();
    } catch (const std::system_error& e) {
      throw Failure(ExitCode::Unwritable, "OE7001", file_.string() + ": " + e.code().message());
    }
  }

  std::filesystem::path file_;
  std::optional<FileWriter> out_;
  uint64_t at_ = 0;
  uint16_t entries_ = 0;
  std::string directory_;
};

}  // namespace

DType numpy_type(std::string_view descr) {
  for (const auto& [type, text] : kTypes)
    if (descr.substr(1) == text.substr(1)) return type;
  return DType::Undefined;
}

void write_npz(const std::vector<std::pair<std::string, TensorPtr>>& arrays,
               const std::filesystem::path& file) {
  ZipWriter zip(file);
  for (const auto& [name, t] : arrays) zip.add(name + ".npy", npy_header(*t), *t);
  zip.finish();
}

}  // namespace oe
