// Zip directories, and the tensor files of other tools.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/archive/zip.h"
#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/torch/tensor_files.h"

using namespace oe;

namespace {

// A folder that is gone at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "oe-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

std::string little(uint64_t v, size_t bytes) {
  std::string s;
  for (size_t i = 0; i < bytes; ++i) s += static_cast<char>(v >> 8 * i & 0xff);
  return s;
}

// One stored entry "a/b" with the bytes "hello".
std::string small_zip() {
  const std::string name = "a/b", data = "hello";
  const std::string common = little(20, 2) + little(0, 2) + little(0, 2) + little(0, 4) +
                             little(0x3610a686, 4) + little(data.size(), 4) +
                             little(data.size(), 4) + little(name.size(), 2) + little(0, 2);
  const std::string local = "PK\3\4" + common + name + data;
  const std::string central = "PK\1\2" + little(20, 2) + common + little(0, 2) + little(0, 2) +
                              little(0, 2) + little(0, 4) + little(0, 4) + name;
  return local + central + "PK\5\6" + little(0, 4) + little(1, 2) + little(1, 2) +
         little(central.size(), 4) + little(local.size(), 4) + little(0, 2);
}

std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& data) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  return "\x93NUMPY" + std::string("\1\0", 2) + little(header.size(), 2) + header + data;
}

}  // namespace

TEST_CASE("the directory of a zip archive", "[files]") {
  const Folder folder;
  const archive::Zip zip(folder.write("a.zip", small_zip()));
  REQUIRE(zip.records().size() == 1);
  archive::Record r = zip.records()[0];
  CHECK(r.name == "a/b");
  zip.locate(r);
  CHECK(zip.read(r) == "hello");
}

TEST_CASE("a zip archive cut anywhere is no archive and no crash", "[files]") {
  const Folder folder;
  const std::string whole = small_zip();
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string path = folder.write("cut.zip", whole.substr(0, n));
    CAPTURE(n);
    CHECK_THROWS_AS(archive::Zip(path), archive::BadZip);
  }
}

TEST_CASE("NumPy arrays, row-major and column-major", "[files]") {
  const Folder folder;
  const std::string data =
      little(1, 4) + little(2, 4) + little(3, 4) + little(4, 4) + little(5, 4) + little(6, 4);
  const TensorPtr c =
      torch_io::read_tensor_file(folder.write("c.npy", npy("<i4", "False", "2, 3", data)));
  CHECK(c->dtype() == DType::Int32);
  CHECK(c->dims() == std::vector<int64_t>{2, 3});
  CHECK(c->as_int64() == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  const TensorPtr f =
      torch_io::read_tensor_file(folder.write("f.npy", npy("<i4", "True", "2, 3", data)));
  CHECK(f->as_int64() == std::vector<int64_t>{1, 3, 5, 2, 4, 6});
  const TensorPtr scalar =
      torch_io::read_tensor_file(folder.write("s.npy", npy("|b1", "False", "", little(1, 1))));
  CHECK(scalar->dims().empty());
  CHECK(scalar->dtype() == DType::Bool);
}

TEST_CASE("damaged NumPy arrays are named", "[files]") {
  const Folder folder;
  for (const std::string& bytes :
       {std::string(), std::string("\x93NUMPY"), npy("<i4", "False", "2", little(1, 4)),
        npy(">i4", "False", "1", little(1, 4)), npy("<O8", "False", "1", little(1, 8))}) {
    const std::string path = folder.write("bad.npy", bytes);
    CHECK_THROWS_AS(torch_io::read_tensor_file(path), Failure);
  }
}

TEST_CASE("ONNX tensors, raw and by element", "[files]") {
  const Folder folder;
  // dims = 2 (field 1), data_type = 7 (field 2), raw_data (field 9) / int64_data packed (field 7)
  const std::string head = "\x08\x02\x10\x07";
  const TensorPtr raw = torch_io::read_tensor_file(
      folder.write("raw.pb", head + "\x4a\x10" + little(5, 8) + little(7, 8)));
  CHECK(raw->as_int64() == std::vector<int64_t>{5, 7});
  const TensorPtr packed =
      torch_io::read_tensor_file(folder.write("packed.pb", head + "\x3a\x02\x05\x07"));
  CHECK(packed->as_int64() == std::vector<int64_t>{5, 7});
  CHECK_THROWS_AS(torch_io::read_tensor_file(folder.write("bad.pb", head)), Failure);
  CHECK_THROWS_AS(torch_io::read_tensor_file(folder.write("cut.pb", head + "\x4a\x10")), Failure);
}

TEST_CASE("nearest names", "[text]") {
  const std::vector<std::string> names = {"--opset", "--output", "--dynamic-axes", "left", "right"};
  CHECK(nearest("--opsett", names) == "--opset");
  CHECK(nearest("--ouptut", names) == "--output");
  CHECK(nearest("--dyn", names) == "--dynamic-axes");
  CHECK(nearest("LEFT", names) == "left");
  // Lengths of which the product would take minutes.
  const std::string endless(200'000, 'q');
  CHECK(nearest(endless, {endless, "left"}).empty());
  CHECK(nearest("something", names).empty());
}

TEST_CASE("bytes and counts for people", "[text]") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(44700000) == "44.7 MB");
  CHECK(human_bytes(1'000'000'000) == "1.0 GB");
  CHECK(plural(1, "node") == "1 node");
}
