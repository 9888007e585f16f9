// What an archive says of itself, without LibTorch having been asked.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lib/archive/source.h"
#include "lib/archive/summary.h"

using namespace oe;

namespace {

// One module in another, saved by LibTorch; gone at the end of the test.
class Saved {
 public:
  Saved() {
    std::string name = (std::filesystem::temp_directory_path() / "oe-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    folder_ = name;
    path_ = folder_ / "net.pt";
    torch::jit::Module inner("__torch__.Inner"), net("__torch__.Net");
    inner.register_parameter("weight", at::ones({4, 3}), /*is_buffer=*/false);
    inner.register_buffer("mean", at::zeros({3}, at::kDouble));
    inner.register_attribute("training", c10::BoolType::get(), false);
    inner.define("def forward(self, x: Tensor):\n  return torch.relu(x) @ self.weight.t()\n");
    net.register_module("body", inner);
    net.register_attribute("training", c10::BoolType::get(), true);
    net.register_attribute("table", c10::TensorType::get(), at::ones({2}, at::kLong));
    net.define(R"(
def forward(self, x: Tensor, sizes: List[int], scale: Optional[Tensor]=None) -> Tuple[Tensor, int]:
  y = torch.relu(self.body.forward(x)).to(torch.device("cuda:1"))
  return y, sizes[0]
)");
    net.define("def reset(self):\n  return torch.zeros([2])\n");
    net.save(path_.string(), {{"notes.txt", "hello"}});
  }
  ~Saved() { std::filesystem::remove_all(folder_); }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;

  archive::Summary summary() const { return archive::summarise(archive::Archive(path_)); }

 private:
  std::filesystem::path folder_, path_;
};

std::string text(const archive::Summary::Method& m) {
  std::string out = m.name + "(";
  for (const auto& a : m.arguments) out += a.name + ": " + a.type + ", ";
  return out + ") -> " + m.result;
}

}  // namespace

TEST_CASE("an archive tells its methods, modules and tensors", "[archive]") {
  const archive::Summary s = Saved().summary();
  REQUIRE(s.methods.size() == 2);
  CHECK(text(s.methods[0]) ==
        "forward(x: Tensor, sizes: List[int], scale: Optional[Tensor], ) -> Tuple[Tensor, int]");
  CHECK(text(s.methods[1]) == "reset() -> Tensor");
  REQUIRE(s.modules.size() == 2);
  CHECK(s.modules[0].path.empty());
  CHECK(s.modules[0].type == "__torch__.Net");
  CHECK(s.modules[0].training == true);
  CHECK(s.modules[1].path == "body");
  CHECK(s.modules[1].training == false);
  REQUIRE(s.tensors.size() == 3);
  const auto find = [&](const std::string& path) {
    return *std::ranges::find(s.tensors, path, &archive::Summary::Tensor::path);
  };
  CHECK(find("body.weight").kind == archive::Summary::Kind::Parameter);
  CHECK(find("body.weight").type == "float");
  CHECK(find("body.weight").sizes == std::vector<int64_t>{4, 3});
  CHECK(find("body.weight").bytes == 48);
  CHECK(find("body.mean").kind == archive::Summary::Kind::Buffer);
  CHECK(find("body.mean").bytes == 24);
  CHECK(find("table").kind == archive::Summary::Kind::Attribute);
  CHECK(s.tensor_bytes == 48 + 24 + 16);
}

TEST_CASE("an archive tells its operators, devices and extra files", "[archive]") {
  const archive::Summary s = Saved().summary();
  CHECK(s.operators.at("aten::relu") == 2);
  CHECK(s.operators.at("aten::matmul") == 1);
  CHECK(s.operators.at("aten::zeros") == 1);
  CHECK(s.devices == std::set<std::string>{"cpu", "cuda:1"});
  CHECK(s.extra == std::vector<std::string>{"notes.txt"});
  CHECK(s.version >= 3);
}

TEST_CASE("the first argument of a method is the module, whatever it is called", "[archive]") {
  const auto classes = archive::outline(
      "class M(Module):\n  def forward(me: M,\n    x: Tensor) -> int:\n    return 1\n");
  REQUIRE(classes.at("M").methods.size() == 1);
  CHECK(text(classes.at("M").methods[0]) == "forward(x: Tensor, ) -> int");
}

TEST_CASE("operators of libraries are counted, words that look like them are not", "[archive]") {
  archive::Summary s;
  archive::count_operators("y = ops.lib.scale(torch.add(x, 1), my_torch.add(2), torch.jit.f(x))",
                           s);
  CHECK(s.operators == std::map<std::string, size_t>{{"aten::add", 1}, {"lib::scale", 1}});
}
