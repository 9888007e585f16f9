// Files that a serialized model names, read off the wire.
#include "lib/support/onnx_references.h"

#include <catch2/catch.hpp>
#include <string>

using namespace oe;
using Catch::Matchers::Contains;

namespace {

// Numbers of fields as in onnx.proto.
std::string number(uint64_t n) {
  std::string text;
  for (; n >= 128; n >>= 7) text += static_cast<char>(n % 128 + 128);
  return text + static_cast<char>(n);
}
std::string field(int n, const std::string& value) {
  return number(static_cast<uint64_t>(n) << 3 | 2) + number(value.size()) + value;
}
std::string pair(const std::string& key, const std::string& value) {
  return field(1, key) + field(2, value);
}

std::string outside_tensor(uint64_t offset) {
  return field(13, pair("location", "w")) + field(13, pair("offset", std::to_string(offset))) +
         field(13, pair("length", "8")) + std::string("\x70\x01", 2);  // data_location: EXTERNAL
}

// A tensor at every place where a model can have one.
std::string everywhere() {
  uint64_t at = 0;
  const auto tensor = [&] { return outside_tensor(8 * at++); };
  const auto node = [&] {
    const std::string one_tensor = field(5, tensor()), tensors = field(10, tensor()),
                      sparse = field(22, field(1, tensor())),
                      sparses = field(23, field(2, tensor())), graph = field(6, field(5, tensor())),
                      graphs = field(11, field(5, tensor()));
    return field(5, one_tensor + tensors + sparse + sparses + graph + graphs);
  };
  const auto graph = [&] {
    return field(5, tensor()) + field(15, field(1, tensor())) + field(1, node());
  };
  const std::string training = field(1, graph()) + field(2, graph());
  return field(7, graph()) + field(20, training) +
         field(25, field(7, node()) + field(11, field(5, tensor())));
}

}  // namespace

TEST_CASE("external data is found wherever a model can have a tensor") {
  const OnnxReferences found = read_references(everywhere());
  REQUIRE(found.data.size() == 3 * 8 + 6 + 1);
  for (size_t i = 0; i < found.data.size(); ++i) CHECK(found.data[i].location == "w");
  const std::string bytes(8 * found.data.size(), 'x');
  CHECK(uncovered(found.data, bytes, 1).empty());
  CHECK_THAT(uncovered(found.data, bytes + "x", 4096), Contains("belong to no tensor"));
  CHECK_THAT(uncovered(found.data, bytes.substr(1), 1), Contains("extends beyond"));
  CHECK_THAT(outside(found.data, bytes.size() - 1), Contains("extends beyond"));
}

TEST_CASE("only zeros lie between tensors") {
  const std::vector<OnnxReferences::Range> ranges = {{"w", 0, 4}, {"w", 8, 4}, {"w", 8, 2}};
  CHECK(uncovered(ranges, std::string("abcd\0\0\0\0efgh", 12), 8).empty());
  CHECK_THAT(uncovered(ranges, std::string("abcd\0\0\0\0efgh", 12), 4), Contains("bytes 4 to 8"));
  CHECK_THAT(uncovered(ranges, std::string("abcd\0\0x\0efgh", 12), 8), Contains("bytes 4 to 8"));
  CHECK_THAT(outside({{"w", UINT64_MAX, 4}}, 12), Contains("extends beyond"));
}

TEST_CASE("every cut of a model is refused or read, and nothing is read behind it") {
  const std::string bytes = everywhere() + field(14, pair("state_file", "m.state.npz"));
  CHECK(read_references(bytes).state_files == std::vector<std::string>{"m.state.npz"});
  size_t refused = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string part = bytes.substr(0, n);  // memory of its own, for the sanitizers
    try {
      read_references(part);
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  CHECK(refused > bytes.size() / 2);
}

TEST_CASE("a tensor without offset, and a model that nests itself, are refused") {
  const std::string tensor = field(13, pair("location", "w"));
  CHECK_THROWS_WITH(read_references(field(7, field(5, tensor))),
                    Contains("lacks location, offset"));
  std::string graph;
  for (int i = 0; i < 60; ++i) graph = field(1, field(5, field(6, graph)));
  CHECK_THROWS_WITH(read_references(field(7, graph)), Contains("nested too deeply"));
}
