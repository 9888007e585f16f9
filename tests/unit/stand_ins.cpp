// Stand-ins for what an archive calls and nobody has.
#include "lib/torch/stand_ins.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "lib/archive/archive.h"

namespace oe {
namespace {

using Names = std::vector<std::string>;

// What is registered for an archive with this code.
Names stand_ins_of(const std::string& code) {
  std::string folder = (std::filesystem::temp_directory_path() / "oe-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()));
  const std::string file = folder + "/net.pt";
  {
    caffe2::serialize::PyTorchStreamWriter writer(file);
    writer.writeRecord("code/__torch__.py", code.data(), code.size());
    writer.writeEndOfFile();
  }
  Names missing = torch_io::register_stand_ins(archive::Archive(file));
  std::filesystem::remove_all(folder);
  return missing;
}

std::vector<std::string> schemas_of(const char* op) {
  std::vector<std::string> all;
  for (const auto& o : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op))) {
    std::ostringstream text;
    text << o->schema();
    all.push_back(text.str());
  }
  return all;
}

}  // namespace

TEST_CASE("a stand-in is called as the archive calls it", "[load]") {
  CHECK(stand_ins_of("y = ops.nowhere.f(x, [1, 2], \"a, b(\")\n"
                     "a, b, = ops.nowhere.g((x, y), by=ops.nowhere.f(x))\n"
                     "z = annotate(List[int], ops.nowhere.sizes(a))\n"
                     "q = ops.nowhere.parts(a)\n"
                     "c, d, = q\n"
                     "r = torch.add(x, ops.aten.mul(x, x))\n"
                     "print(\"ops.nowhere.text(x)\")\n") ==
        Names{"nowhere::f (code/__torch__.py:1)", "nowhere::g (code/__torch__.py:2)",
              "nowhere::sizes (code/__torch__.py:3)", "nowhere::parts (code/__torch__.py:4)"});
  CHECK(schemas_of("nowhere::f") == Names{"nowhere::f.3_to_1(Any a0, Any a1, Any a2) -> Tensor",
                                          "nowhere::f.1_to_1(Any a0) -> Tensor"});
  CHECK(schemas_of("nowhere::g") ==
        Names{"nowhere::g.1_by_to_2(Any a0, *, Any by) -> (Tensor, Tensor)"});
  CHECK(schemas_of("nowhere::sizes") == Names{"nowhere::sizes.1_to_1(Any a0) -> int[]"});
  CHECK(schemas_of("nowhere::parts") == Names{"nowhere::parts.1_to_1(Any a0) -> Tensor[]"});
  CHECK(torch_io::is_stand_in("nowhere::f"));
  CHECK_FALSE(torch_io::is_stand_in("aten::mul"));
}

TEST_CASE("the next archive's stand-ins take the place of the last one's", "[load]") {
  stand_ins_of("y = ops.nowhere.f(x)\n");
  CHECK(stand_ins_of("a, b, = ops.nowhere.f(x)\n").size() == 1);
  CHECK(schemas_of("nowhere::f") == Names{"nowhere::f.1_to_2(Any a0) -> (Tensor, Tensor)"});
  CHECK(stand_ins_of("y = torch.neg(x)\n").empty());
  CHECK(schemas_of("nowhere::f").empty());
  CHECK_FALSE(torch_io::is_stand_in("nowhere::f"));
}

TEST_CASE("an unknown class is named for every archive, a known one for none", "[load]") {
  const std::string code =
      "  engine : __torch__.torch.classes.nowhere.Engine\n"
      "  packed : __torch__.torch.classes.xnnpack.LinearOpContext\n";
  torch_io::register_known_classes();
  for (int i = 0; i < 2; ++i) CHECK(stand_ins_of(code) == Names{"class nowhere.Engine"});
  const auto type = torch::getCustomClass("__torch__.torch.classes.nowhere.Engine");
  REQUIRE(type);
  CHECK(torch_io::is_stand_in(*type));
}

}  // namespace oe
