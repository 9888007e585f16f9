// What --state=io writes and how --verify hands state on: .npz files, JSON texts, rows of calls.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "lib/onnx/onnx.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/npz.h"
#include "lib/torch/tensor_files.h"
#include "lib/verify/verify_model.h"
#include "tests/unit/ort_or_skip.h"

using namespace oe;
using Catch::Matchers::Contains;

namespace {

struct TemporaryFile {
  std::filesystem::path path;
  explicit TemporaryFile(const std::string& ending) {
    std::string name = (std::filesystem::temp_directory_path() / "state-XXXXXX").string() + ending;
    const int fd = mkstemps(name.data(), static_cast<int>(ending.size()));
    REQUIRE(fd >= 0);
    close(fd);
    path = name;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

TensorPtr floats(const std::vector<float>& v) {
  return Tensor::of<float>(DType::Float, {static_cast<int64_t>(v.size())}, v);
}

}  // namespace

TEST_CASE("arrays come out of an .npz as they went in", "[state]") {
  const std::vector<std::pair<std::string, TensorPtr>> arrays = {
      {"state_in.h", Tensor::of<float>(DType::Float, {2, 1, 2}, {1, -2, 0.5F, 1e30F})},
      {"n", Tensor::of<int64_t>(DType::Int64, {}, {-7})},
      {"flags", Tensor::of<uint8_t>(DType::Bool, {3}, {1, 0, 1})},
      {"half", Tensor::of<uint16_t>(DType::Float16, {1}, {0x3C00})},
      {"none", Tensor::of<double>(DType::Double, {0, 4}, {})}};
  const TemporaryFile file(".npz"), again(".npz");
  write_npz(arrays, file.path);
  for (const auto& [name, t] : arrays) {
    const TensorPtr read = torch_io::read_tensor_file(file.path.string() + ":" + name);
    CHECK(read->dtype() == t->dtype());
    CHECK(read->dims() == t->dims());
    CHECK(read->as_double() == t->as_double());
  }
  write_npz(arrays, again.path);
  CHECK(read_whole_file(file.path) == read_whole_file(again.path));
}

TEST_CASE("an .npz that cannot be written", "[state]") {
  CHECK_THROWS_AS(write_npz({{"n", floats({1})}}, "/nowhere/state.npz"), Failure);
}

TEST_CASE("values as JSON", "[state]") {
  CHECK(json_text(*Tensor::of<int64_t>(DType::Int64, {}, {INT64_MAX})) == "9223372036854775807");
  CHECK(json_text(*Tensor::of<uint8_t>(DType::Bool, {1, 2}, {1, 0})) == "[[true,false]]");
  CHECK(json_text(*floats({0.1F, -INFINITY, NAN})) == R"([0.1,"-inf","nan"])");
  CHECK(json_text(*Tensor::of<float>(DType::Float, {2, 0}, {})) == "[[],[]]");
}

namespace {

class Stateful : public verify::Original {
 public:
  using Next = std::function<float(float h, int call)>;
  explicit Stateful(Next next) : next_(std::move(next)) {}

  HostRun run(const Draw& d) override { return step(d, true); }
  std::vector<TensorPtr> inputs(const Draw&) override { return {floats({1}), floats({h_})}; }
  HostRun step(const Draw& d, bool begin) override {
    if (begin) h_ = 1, call_ = 0;
    HostRun run{inputs(d), {}};
    h_ = next_(h_, ++call_);
    for (int output = 0; output < 2; ++output) run.outputs.push_back(HostValue::of(floats({h_})));
    return run;
  }

 private:
  Next next_;
  float h_ = 1;
  int call_ = 0;
};

// y = h' = (h - 1) * 1000 + x, from h = 1 and with x = 1 always; the original is `next`.
verify::Verification calls_in_a_row(verify::Ort& ort, Stateful::Next next) {
  const TemporaryFile file(".onnx");
  ir::Model m = onnx::parse_text(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (float[1] x, float[1] h) => (float[1] y, float[1] n) <float one = {1}, float k = {1000}> {
      d = Sub (h, one)
      e = Mul (d, k)
      y = Add (e, x)
      n = Identity (y)
    })");
  std::ofstream(file.path, std::ios::binary) << onnx::write_bytes(m);
  Stateful original(std::move(next));
  verify::Request r;
  r.original = &original;
  r.model = file.path;
  r.worlds = {{{1}, {1}}};
  r.leaf_names = {"x", "h"};
  r.free_leaves = {0, 1};
  r.output_names = {"y", "n"};
  r.threads = 1;
  r.state = {{1, 1}};
  return verify::verify_model(ort, r);
}

float right(float h) { return (h - 1) * 1000 + 1; }

}  // namespace

TEST_CASE("state is handed on from call to call", "[state][verify][ort]") {
  auto ort = ort_or_skip();
  if (!ort) return;
  const verify::Verification v = calls_in_a_row(*ort, [](float h, int) { return right(h); });
  CHECK(v.mismatch.empty());
  CHECK(v.steps == 5);
  CHECK(v.drifted == 0);
  CHECK_THAT(v.line(), Contains("5 calls in a row"));
}

TEST_CASE("what only a later call does differently is found", "[state][verify][ort]") {
  auto ort = ort_or_skip();
  if (!ort) return;
  const verify::Verification v =
      calls_in_a_row(*ort, [](float h, int call) { return call < 4 ? right(h) : right(h) + 1; });
  CHECK_THAT(v.mismatch, Contains("call 4 in a row"));
}

TEST_CASE("rounding that calls add up is no mistake", "[state][verify][ort]") {
  auto ort = ort_or_skip();
  if (!ort) return;
  const verify::Verification v =
      calls_in_a_row(*ort, [](float h, int call) { return right(h) + (call == 1 ? 4e-6F : 0); });
  CHECK(v.mismatch.empty());
  CHECK(v.drifted > 0);
  CHECK(v.error.absolute < 1e-4);
}

TEST_CASE("a row that LibTorch ends is a gap", "[state][verify][ort]") {
  auto ort = ort_or_skip();
  if (!ort) return;
  const verify::Verification v = calls_in_a_row(*ort, [](float h, int call) {
    if (call == 3) throw std::runtime_error("no third time");
    return right(h);
  });
  REQUIRE(v.gaps.size() == 1);
  CHECK(v.gaps[0] == "LibTorch ran 2 calls in a row, not 5: no third time");
}
