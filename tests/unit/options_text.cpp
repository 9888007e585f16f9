// The grammars of --input, --dynamic-axes and sizes.
#include <catch2/catch.hpp>

#include "lib/options/option_text.h"
#include "lib/support/diagnostics.h"

using namespace oe;

namespace {

AxesSpec axes(const std::string& text) {
  AxesSpec spec;
  parse_dynamic_axes(text, spec);
  return spec;
}
using Entry = std::pair<std::string, std::map<int64_t, std::string>>;

}  // namespace

TEST_CASE("an input is a name, a shape, a type and a value", "[options]") {
  const InputSpec s = parse_input_spec("x:batch=2x3x224@f16=zeros");
  CHECK(s.name == "x");
  CHECK(s.dtype == DType::Float16);
  CHECK(s.value == "zeros");
  REQUIRE(s.shape);
  REQUIRE(s.shape->size() == 3);
  CHECK((*s.shape)[0].symbol == "batch");
  CHECK((*s.shape)[0].size == 2);
  CHECK((*s.shape)[0].dynamic);
  CHECK((*s.shape)[1].size == 3);
  CHECK_FALSE((*s.shape)[1].dynamic);
}

TEST_CASE("every part of an input but the shape may be left out", "[options]") {
  CHECK(parse_input_spec("1x3").shape->size() == 2);
  CHECK(parse_input_spec("1x3").name.empty());
  CHECK(parse_input_spec("n=5").value == "5");
  CHECK_FALSE(parse_input_spec("n=5").shape);
  CHECK(parse_input_spec("x.0:scalar@i64").shape->empty());
  CHECK(parse_input_spec("x:[]").shape->empty());
  CHECK(parse_input_spec("mask=@dir/mask.npz:key").value == "@dir/mask.npz:key");
  CHECK(parse_input_spec("sizes=[2,3]").value == "[2,3]");
  CHECK(parse_input_spec("cfg={\"a\": 1}").value == "{\"a\": 1}");
}

TEST_CASE("dims are numbers, names, bounds and question marks", "[options]") {
  const auto shape = *parse_input_spec("x:?x1..8xbatch=2..4xheightless").shape;
  REQUIRE(shape.size() == 4);
  CHECK(shape[0].dynamic);
  CHECK_FALSE(shape[0].size);
  CHECK(shape[1].low == 1);
  CHECK(shape[1].high == 8);
  CHECK(shape[2].symbol == "batch");
  CHECK(shape[2].low == 2);
  CHECK(shape[3].symbol == "heightless");
  CHECK(parse_input_spec("x:scalars=2x3").shape->at(0).symbol == "scalars");
  CHECK(parse_input_spec("x:[ 2 , n=3 ]").shape->size() == 2);
  // In brackets names may contain the letter that separates otherwise.
  const auto brackets = *parse_input_spec("[max_len=5, 3]").shape;
  REQUIRE(brackets.size() == 2);
  CHECK(brackets[0].symbol == "max_len");
  CHECK(brackets[0].size == 5);
}

TEST_CASE("a text with an equals sign is a value or a named axis", "[options]") {
  CHECK(parse_input_spec("batch=2x3").shape->size() == 2);
  CHECK(parse_input_spec("n=23").value == "23");
  CHECK(parse_input_spec("x:n=zeros").value == "zeros");
  CHECK(parse_input_spec("x:n=zeros").shape->at(0).symbol == "n");
}

TEST_CASE("inputs that cannot be read are usage errors", "[options]") {
  for (const char* text : {"", "x:", "x:2x", "x:2x-3", "x:2@f33", "x:[2,3", "x:2x3=", "x:4..2",
                           "x:2x3 4", "x:99999999999999999999"}) {
    CAPTURE(text);
    try {
      parse_input_spec(text);
      FAIL("was read");
    } catch (const Failure& f) {
      CHECK(f.exit_code == ExitCode::Usage);
    }
  }
}

TEST_CASE("messages name the option and the part that cannot be read", "[options]") {
  try {
    parse_input_spec("x:2x-3", "--alt-input");
    FAIL("was read");
  } catch (const Failure& f) {
    CHECK(std::string(f.what()) == "--alt-input 'x:2x-3': a size is missing before '-3'");
  }
}

TEST_CASE("dynamic axes in the short form and as JSON", "[options]") {
  CHECK(axes("x:0=batch,2=h y:-1=w").entries ==
        std::vector<Entry>{{"x", {{0, "batch"}, {2, "h"}}}, {"y", {{-1, "w"}}}});
  CHECK(axes("{\"x\": {\"0\": \"batch\"}, \"y\": {\"1\": \"w\"}}").entries ==
        std::vector<Entry>{{"x", {{0, "batch"}}}, {"y", {{1, "w"}}}});
}

TEST_CASE("automatic axis names count in the order given, as in torch.onnx", "[options]") {
  CHECK(axes("{\"x\": [2, 0]}").entries ==
        std::vector<Entry>{{"x", {{2, "x_dynamic_axes_1"}, {0, "x_dynamic_axes_2"}}}});
  CHECK(axes("x:0,2").entries ==
        std::vector<Entry>{{"x", {{0, "x_dynamic_axes_1"}, {2, "x_dynamic_axes_2"}}}});
  // Positions and '*' are named once the inputs are known.
  CHECK(axes("0:1 *:0").entries == std::vector<Entry>{{"0", {{1, ""}}}, {"*", {{0, ""}}}});
}

TEST_CASE("dynamic axes that cannot be read are usage errors", "[options]") {
  for (const char* text :
       {"x", ":0", "x:", "x:a", "x:0=", "x:0,0", "{\"x\": 3}", "{\"x\": [\"a\"]}",
        "{\"x\": {\"a\": \"b\"}}", "{", "@/nowhere/axes.json", "x:0=a x:0=b"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(axes(text), Failure);
  }
}

TEST_CASE("sizes with units", "[options]") {
  CHECK(parse_size("0", "--x") == 0);
  CHECK(parse_size("1KiB", "--x") == 1024);
  CHECK(parse_size("4k", "--x") == 4000);
  CHECK(parse_size("2GiB", "--x") == int64_t{2} << 30);
  CHECK_THROWS_AS(parse_size("1XB", "--x"), Failure);
  CHECK_THROWS_AS(parse_size("", "--x"), Failure);
  CHECK_THROWS_AS(parse_size("9999999999GB", "--x"), Failure);
}
