// The writer: bytes, external data, reading back.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "lib/onnx/onnx.h"
#include "lib/onnx/shared_data.h"
#include "lib/support/diagnostics.h"
#include "lib/support/hashed_name.h"

using namespace oe;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "onnx-export-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
};

std::string slurp(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

TensorPtr ramp(std::vector<int64_t> dims, float first) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(d);
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), first);
  return Tensor::of<float>(DType::Float, std::move(dims), v);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() && a.strings() == b.strings() &&
         (a.nbytes() == 0 || std::memcmp(a.data(), b.data(), a.nbytes()) == 0);
}

const ir::Value* initializer(const ir::Model& m, const std::string& name) {
  for (const ir::Value* v : m.graph.initializers)
    if (v->name == name) return v;
  FAIL("no initializer " << name);
  return nullptr;
}

// Every kind of attribute and type, small and large tensors, a nested graph with a tensor.
ir::Model sample() {
  ir::Model m;
  m.opsets[""] = 18;
  m.producer_version = "1.0";
  m.doc = "about";
  m.metadata = {{"k", "v"}};
  m.graph.name = "net";
  ir::Value* x = m.new_value(
      "x", ir::Type::tensor(DType::Float, std::vector{Dim::named("batch"), Dim::of(300)}));
  ir::Value* c = m.new_value("c", ir::Type::tensor(DType::Bool, std::vector<Dim>{}));
  ir::Value* w = m.new_initializer("w", ramp({300, 300}, 0));
  m.new_initializer("v", ramp({500}, 0.5F));
  m.new_initializer("tiny", ramp({2}, 5));
  m.new_initializer("half", Tensor::of<uint16_t>(DType::Float16, {2}, {0x3c00, 0xc000}));
  m.new_initializer("brain", Tensor::of<uint16_t>(DType::BFloat16, {1}, {0x3f80}));
  m.new_initializer("flags", Tensor::of<uint8_t>(DType::Bool, {3}, {1, 0, 1}));
  m.new_initializer("none", Tensor::of<int64_t>(DType::Int64, {0}, {}));
  m.new_initializer("words", std::make_shared<Tensor>(std::vector<int64_t>{2},
                                                      std::vector<std::string>{"a", "bc"}));
  ir::Value* h = m.new_value("h", ir::Type::tensor(DType::Float));
  ir::Value* y = m.new_value(
      "y", ir::Type::tensor(DType::Float, std::vector{Dim::named("batch"), Dim::unknown()}));
  auto origin = std::make_shared<Origin>();
  origin->op = "aten::matmul";
  origin->file = "net.py";
  origin->line = 12;
  m.graph.nodes.push_back(ir::make_node(m, "/fc/MatMul", "MatMul", {x, w}, {h}, {}, origin));

  const auto branch = [&](const char* name, float first) {
    auto g = std::make_shared<ir::Graph>();
    g->name = name;
    ir::Value* k = m.new_value(std::string(name) + "_k");
    ir::Value* r = m.new_value(std::string(name) + "_r");
    g->nodes.push_back(
        ir::make_node(m, "const", "Constant", {}, {k}, {{"value", ramp({300}, first)}}));
    g->nodes.push_back(ir::make_node(m, "add", "Add", {h, k}, {r}));
    g->outputs = {r};
    return g;
  };
  m.graph.nodes.push_back(
      ir::make_node(m, "/If", "If", {c}, {y},
                    {{"then_branch", branch("t", 1)}, {"else_branch", branch("e", 2)}}));
  m.graph.inputs = {x, c};
  m.graph.outputs = {y};
  return m;
}

}  // namespace

TEST_CASE("what is written reads back the same", "[onnx]") {
  const ir::Model m = sample();
  CHECK(onnx::check(m) == "");
  const std::string bytes = onnx::write_bytes(m);
  const ir::Model back = onnx::read_bytes(bytes);
  CHECK(back.ir_version == 8);
  CHECK(back.producer_name == "onnx-export");
  CHECK(back.doc == "about");
  CHECK(back.metadata == m.metadata);
  CHECK(back.graph.initializers.size() == m.graph.initializers.size());
  for (const ir::Value* v : m.graph.initializers)
    CHECK(same(*v->data, *initializer(back, v->name)->data));
  CHECK(back.graph.inputs[0]->name == "x");
  CHECK(to_string(back.graph.inputs[0]->type.shape) == "[batch,300]");
  CHECK(to_string(back.graph.outputs[0]->type.shape) == "[batch,?]");
  CHECK(ir::verify(back) == std::vector<std::string>{});
  CHECK(onnx::write_bytes(back) == bytes);
  CHECK(onnx::write_bytes(m) == bytes);
}

TEST_CASE("every kind of attribute reads back the same", "[onnx]") {
  ir::Model m;
  m.opsets[""] = 18;
  m.opsets["my.ops"] = 1;
  ir::Value* x = m.new_value("x", ir::Type::sequence(ir::Type::tensor(DType::Int32)));
  ir::Value* o =
      m.new_value("o", ir::Type::optional(ir::Type::tensor(DType::Int32, std::vector{Dim::of(1)})));
  ir::Value* y = m.new_value("y", ir::Type::tensor(DType::Int32));
  auto n = ir::make_node(m, "n", "Everything", {x, nullptr, o, nullptr}, {y, nullptr});
  n->domain = "my.ops";
  n->attributes = {{"i", int64_t{-5}},
                   {"f", -1.5F},
                   {"s", std::string("text\0more", 9)},
                   {"is", ir::Ints{1, -2, int64_t{1} << 40}},
                   {"fs", ir::Floats{0.5F, -3}},
                   {"ss", ir::Strings{"a", ""}},
                   {"t", ramp({3}, 1)},
                   {"empty", ir::Ints{}}};
  m.graph.nodes.push_back(std::move(n));
  m.graph.inputs = {x, o};
  m.graph.outputs = {y};
  const std::string bytes = onnx::write_bytes(m);
  const ir::Model back = onnx::read_bytes(bytes);
  const ir::Node& b = *back.graph.nodes[0];
  CHECK(b.domain == "my.ops");
  CHECK(b.inputs.size() == 3);
  CHECK(b.inputs[1] == nullptr);
  CHECK(b.outputs.size() == 1);
  CHECK(b.attributes.get_or<int64_t>("i", 0) == -5);
  CHECK(b.attributes.get_or<float>("f", 0) == -1.5F);
  CHECK(*b.attributes.get<std::string>("s") == std::string("text\0more", 9));
  CHECK(*b.attributes.get<ir::Ints>("is") == ir::Ints{1, -2, int64_t{1} << 40});
  CHECK(*b.attributes.get<ir::Floats>("fs") == ir::Floats{0.5F, -3});
  CHECK(*b.attributes.get<ir::Strings>("ss") == ir::Strings{"a", ""});
  CHECK(b.attributes.get<ir::Ints>("empty")->empty());
  CHECK(same(**b.attributes.get<TensorPtr>("t"), *ramp({3}, 1)));
  CHECK(back.graph.inputs[0]->type.kind == ir::Type::Kind::Sequence);
  CHECK(back.graph.inputs[1]->type.kind == ir::Type::Kind::Optional);
  CHECK(to_string(back.graph.inputs[1]->type.element->shape) == "[1]");
}

TEST_CASE("a file without external data is write_bytes", "[onnx]") {
  Folder f;
  const ir::Model m = sample();
  const auto r = onnx::write(m, {}, nullptr, f.path / "m.onnx", f.path / "m.data");
  CHECK_FALSE(r.external);
  CHECK_FALSE(fs::exists(f.path / "m.data"));
  CHECK(slurp(f.path / "m.onnx") == onnx::write_bytes(m));
  CHECK(r.model_bytes == fs::file_size(f.path / "m.onnx"));
}

TEST_CASE("external data: aligned, complete, nothing else in the file", "[onnx]") {
  Folder f;
  const ir::Model m = sample();
  onnx::WriteOptions o;
  o.external = onnx::WriteOptions::External::Always;
  o.external_file = "m.data";
  CHECK(onnx::needs_external(m, o));
  const auto r = onnx::write(m, o, nullptr, f.path / "m.onnx", f.path / "m.data");
  CHECK(r.external);
  CHECK(r.data_bytes == fs::file_size(f.path / "m.data"));
  // t_k and e_k (1200 bytes each), w (360000), v (2000): each at the next multiple of 4096.
  CHECK(r.data_bytes == 2 * 4096 + 360448 + 2000);
  CHECK(r.model_bytes < 4096);

  const ir::Model back = onnx::read_file(f.path / "m.onnx");
  for (const ir::Value* v : m.graph.initializers)
    CHECK(same(*v->data, *initializer(back, v->name)->data));
  const auto& then =
      **back.graph.nodes[1]->attributes.get<std::shared_ptr<ir::Graph>>("then_branch");
  CHECK(same(**then.nodes[0]->attributes.get<TensorPtr>("value"), *ramp({300}, 1)));
  CHECK(onnx::write_bytes(back) == onnx::write_bytes(m));

  std::string data = slurp(f.path / "m.data");
  for (const ir::Value* v : m.graph.initializers) {
    if (v->data->nbytes() < 1024) continue;
    const size_t at =
        data.find(std::string(static_cast<const char*>(v->data->data()), v->data->nbytes()));
    REQUIRE(at != std::string::npos);
    CHECK(at % 4096 == 0);
  }
}

TEST_CASE("external data options", "[onnx]") {
  Folder f;
  const ir::Model m = sample();
  onnx::WriteOptions o;
  o.external = onnx::WriteOptions::External::Always;
  o.external_file = "weights.bin";
  o.threshold = 10000;
  o.align = 1;
  CHECK(onnx::write(m, o, nullptr, f.path / "m.onnx", f.path / "weights.bin").data_bytes == 360000);
  // Nothing is large enough: no data file at all.
  o.threshold = 1 << 20;
  CHECK_FALSE(onnx::needs_external(m, o));
  CHECK_FALSE(onnx::write(m, o, nullptr, f.path / "n.onnx", f.path / "n.bin").external);
  CHECK_FALSE(fs::exists(f.path / "n.bin"));
}

TEST_CASE("data whose name is taken get one with a content hash", "[onnx]") {
  Folder f;
  const ir::Model m = sample();
  onnx::WriteOptions o;
  o.external = onnx::WriteOptions::External::Always;
  o.external_file = "m.onnx.data";
  const fs::path plain = f.path / "m.onnx.data";
  const auto name = [&](const std::vector<std::string>& taken) {
    onnx::DataName n{taken, {}};
    onnx::write(m, o, nullptr, f.path / "m.onnx", plain, nullptr, &n);
    CHECK(fs::exists(f.path / n.chosen));
    CHECK(same(*initializer(onnx::read_file(f.path / "m.onnx"), "w")->data,
               *initializer(m, "w")->data));
    return n.chosen;
  };
  CHECK(name({"other.data"}) == "m.onnx.data");
  const std::string hashed = name({"m.onnx.data"});
  CHECK(hashed != "m.onnx.data");
  CHECK(is_name_or_hashed("m.onnx.data", hashed));
  CHECK(name({"m.onnx.data"}) == hashed);
  CHECK(is_name_or_hashed("m.onnx.data", name({"m.onnx.data", hashed})));
  CHECK(name({"m.onnx.data", hashed}) != hashed);
}

TEST_CASE("names with a content hash", "[onnx]") {
  CHECK(hashed_name("m.onnx.data", 0x1a2b3c4d) == "m.onnx.1a2b3c4d.data");
  CHECK(hashed_name("weights", 0xff) == "weights.000000ff");
  CHECK(hashed_name(".data", 1) == ".data.00000001");
  CHECK(is_name_or_hashed("w.bin", "w.00ff00ff.bin"));
  CHECK_FALSE(is_name_or_hashed("w.bin", "w.00FF00FF.bin"));
  CHECK_FALSE(is_name_or_hashed("w.bin", "w.00ff00f.bin"));
  CHECK_FALSE(is_name_or_hashed("w.bin", "v.00ff00ff.bin"));
  CHECK_FALSE(is_name_or_hashed("w.bin", "../w.bin"));
  CHECK_FALSE(is_name_or_hashed("w.bin", ""));
}

TEST_CASE("tensors that share memory are stored once", "[onnx]") {
  Folder f;
  ir::Model m = sample();
  const Tensor& w = *initializer(m, "w")->data;
  m.new_initializer(
      "tied", std::make_shared<Tensor>(w.dtype(), w.dims(), w.data(), initializer(m, "w")->data));
  onnx::WriteOptions o;
  o.external = onnx::WriteOptions::External::Always;
  o.external_file = "m.data";
  o.threshold = 100000;
  CHECK(onnx::write(m, o, nullptr, f.path / "m.onnx", f.path / "m.data").data_bytes == 360000);
  CHECK(same(*initializer(onnx::read_file(f.path / "m.onnx"), "tied")->data, w));
}

TEST_CASE("models share a file of external data: equal bytes are in it once", "[onnx]") {
  Folder folder;
  onnx::WriteOptions o;
  o.external = onnx::WriteOptions::External::Always;
  o.external_file = "all.data";
  o.align = 64;
  const auto model = [](std::vector<TensorPtr> tensors) {
    ir::Model m;
    m.opsets[""] = 18;
    for (size_t i = 0; i < tensors.size(); ++i)
      m.graph.outputs.push_back(m.new_initializer("w" + std::to_string(i), tensors[i]));
    return m;
  };
  // The second has the first's bytes as another tensor, others of that size, and no end at 8 bytes.
  const ir::Model a = model({ramp({300, 2}, 1), ramp({257}, 2)});
  const ir::Model b = model({ramp({600}, 3), ramp({600}, 1), ramp({257}, 2), ramp({257}, 4)});
  onnx::SharedData shared;
  const fs::path data = folder.path / "all.data";
  const auto first = onnx::write(a, o, nullptr, folder.path / "a.onnx", data, &shared);
  const auto second = onnx::write(b, o, nullptr, folder.path / "b.onnx", data, &shared);
  const auto third = onnx::write(a, o, nullptr, folder.path / "c.onnx", data, &shared);
  CHECK(first.data_bytes == 2400 + 1028);
  CHECK(second.data_bytes == 2 * (2400 + 1028));
  CHECK(third.external);
  CHECK(fs::file_size(data) == 2432 + 1088 + 2432 + 1028);
  CHECK(slurp(folder.path / "a.onnx") == slurp(folder.path / "c.onnx"));
  for (const auto& [file, original] : {std::pair{"a.onnx", &a}, std::pair{"b.onnx", &b}}) {
    const ir::Model read = onnx::read_file(folder.path / file);
    for (const ir::Value* v : original->graph.initializers)
      CHECK(same(*initializer(read, v->name)->data, *v->data));
  }
}

TEST_CASE("over 2 GiB", "[onnx]") {
  // Address space without memory behind it: nothing is read before the sizes are known.
  ir::Model m = sample();
  static const char byte = 0;
  m.new_initializer(
      "huge", std::make_shared<Tensor>(DType::Int8, std::vector<int64_t>{int64_t{1} << 31}, &byte,
                                       nullptr));
  CHECK(onnx::needs_external(m, {}));
  onnx::WriteOptions never;
  never.external = onnx::WriteOptions::External::Never;
  Folder f;
  CHECK_FALSE(onnx::needs_external(m, never));
  CHECK_THROWS_AS(onnx::write(m, never, nullptr, f.path / "m.onnx", f.path / "m.data"), Failure);
  CHECK_FALSE(fs::exists(f.path / "m.onnx"));
  CHECK(onnx::check(m) == "");
}

TEST_CASE("a failing write says why", "[onnx]") {
  const ir::Model m = sample();
  try {
    onnx::write(m, {}, nullptr, "/dev/full", "/nonexistent/m.data");
    FAIL("no error");
  } catch (const Failure& e) {
    CHECK(e.exit_code == ExitCode::Unwritable);
    CHECK(e.diagnostic_code == "OE7001");
    CHECK_THAT(e.what(), Catch::Matchers::Contains("No space left"));
  }
  CHECK_THROWS_AS(onnx::write(m, {}, nullptr, "/nonexistent/m.onnx", "/nonexistent/m.data"),
                  Failure);
}

TEST_CASE("source locations are written when asked for", "[onnx]") {
  const ir::Model m = sample();
  onnx::WriteOptions o;
  o.doc_strings = true;
  CHECK(onnx::write_bytes(m).find("net.py:12") == std::string::npos);
  CHECK(onnx::write_bytes(m, o).find("net.py:12") != std::string::npos);
}

TEST_CASE("unreadable models", "[onnx]") {
  CHECK_THROWS_AS(onnx::read_file("/nonexistent.onnx"), Failure);
  CHECK_THROWS_AS(onnx::read_bytes("this is no model"), Failure);
  const std::string bytes = onnx::write_bytes(sample());
  CHECK_THROWS_AS(onnx::read_bytes(bytes.substr(0, bytes.size() / 2)), Failure);
}
