// Example inputs of every shape a method can take, from SPECs, files and traces.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "lib/torch/reference.h"
#include "lib/verify/compare.h"
#include "tests/unit/scripted.h"

using namespace oe;
using torch_io::ExampleInputs;

namespace {

torch_io::Loaded model(const std::string& signature, const std::string& body,
                       const std::vector<std::pair<std::string, at::Tensor>>& buffers = {}) {
  return scripted(signature, "  " + body + "\n", buffers);
}

std::vector<std::string> names(const ExampleInputs& e) {
  std::vector<std::string> list;
  for (const auto& l : e.leaves) list.push_back(l.name);
  return list;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("positional and named inputs", "[inputs]") {
  const auto m = model("x: Tensor, n: int, y: Tensor", "return x + y + n");
  const auto e = make_inputs(input_options({"2x3", "y:2x3@f64", "n=4"}), m);
  CHECK(names(e) == Names{"x", "n", "y"});
  CHECK(e.arguments[1].toInt() == 4);
  CHECK(e.arguments[2].toTensor().scalar_type() == at::kDouble);
}

TEST_CASE("the same seed gives the same numbers, another other ones", "[inputs]") {
  const auto m = model("x: Tensor", "return x");
  InputOptions o = input_options({"x:5"});
  const at::Tensor a = make_inputs(o, m).arguments[0].toTensor();
  CHECK(a.equal(make_inputs(o, m).arguments[0].toTensor()));
  o.seed = 1;
  CHECK_FALSE(a.equal(make_inputs(o, m).arguments[0].toTensor()));
}

TEST_CASE("lists, tuples and dicts are flattened by path", "[inputs]") {
  const auto m = model("xs: List[Tensor], p: Tuple[Tensor, int], d: Dict[str, Tensor]",
                       "return xs[0] + p[0] + d['a']");
  const auto e =
      make_inputs(input_options({"xs.0:2", "xs.1:3", "p.0:2", "p.1=7", "d.a:2", "d.b:4"}), m);
  CHECK(names(e) == Names{"xs.0", "xs.1", "p.0", "p.1", "d.a", "d.b"});
  CHECK(e.arguments[0].isTensorList());
  CHECK(e.arguments[1].toTupleRef().elements()[1].toInt() == 7);
  CHECK(e.arguments[2].toGenericDict().at("b").toTensor().size(0) == 4);
  // They have to run: the element types are the method's own.
  auto method = m.module.get_method("forward");
  CHECK(method(e.arguments).toTensor().size(0) == 2);
}

TEST_CASE("a list takes the positional inputs that are left over", "[inputs]") {
  const auto m = model("xs: List[Tensor], y: Tensor", "return xs[0] + y");
  CHECK(names(make_inputs(input_options({"2", "2", "2"}), m)) == Names{"xs.0", "xs.1", "y"});
}

TEST_CASE("defaults of the signature are constants, not inputs", "[inputs]") {
  const auto m =
      model("x: Tensor, scale: float = 2.0, mask: Optional[Tensor] = None", "return x * scale");
  const auto e = make_inputs(input_options({"x:2"}), m);
  CHECK(names(e) == Names{"x"});
  CHECK(e.arguments.size() == 3);
  CHECK(e.arguments[1].toDouble() == 2.0);
  CHECK(e.arguments[2].isNone());
  CHECK(names(make_inputs(input_options({"x:2", "scale=3", "mask:2@bool"}), m)) ==
        Names{"x", "scale", "mask"});
}

TEST_CASE("values: literals, words and ranges", "[inputs]") {
  const auto m = model("x: Tensor", "return x");
  const auto value = [&](const char* spec) {
    return make_inputs(input_options({spec}), m).arguments[0].toTensor();
  };
  CHECK(value("x=[[1,2],[3,4]]").equal(at::tensor({1, 2, 3, 4}, at::kLong).reshape({2, 2})));
  CHECK(value("x=[1.5]").scalar_type() == at::kFloat);
  CHECK(value("x=[true,false]").scalar_type() == at::kBool);
  CHECK(value("x:2x2@i32=7").equal(at::full({2, 2}, 7, at::kInt)));
  CHECK(value("x:3=arange").equal(at::arange(3)));
  CHECK(value("x:3=ones").equal(at::ones({3})));
  const at::Tensor r = value("x:1000=randint(5,8)");
  CHECK(r.min().item().toLong() == 5);
  CHECK(r.max().item().toLong() == 7);
  const at::Tensor u = value("x:1000=rand(-1,1)");
  CHECK(u.min().item().toDouble() >= -1);
  CHECK(u.max().item().toDouble() <= 1);
  CHECK_THROWS_AS(value("x=[[1],[2,3]]"), Failure);
  CHECK_THROWS_AS(value("x:3=[1,2]"), Failure);
  CHECK_THROWS_AS(value("x=none"), Failure);
  CHECK_THROWS_AS(value("x:3=zeroes"), Failure);
}

TEST_CASE("axis names from specs, options and positions", "[inputs]") {
  const auto m = model("x: Tensor, y: Tensor", "return x");
  InputOptions o = input_options({"x:batch=2x3", "y:batchx?"});
  auto e = make_inputs(o, m);
  CHECK(e.leaves[0].axis_names == Names{"batch", ""});
  CHECK(e.leaves[1].axis_names == Names{"batch", "y_axis1"});
  CHECK(e.leaves[1].value.toTensor().size(0) == 2);
  o = input_options({"2x3", "4x3"});
  parse_dynamic_axes("x:0=n 1:-1=w y:0 z:0=q", o.dynamic_axes);
  e = make_inputs(o, m);
  CHECK(e.leaves[0].axis_names == Names{"n", ""});
  CHECK(e.leaves[1].axis_names == Names{"y_dynamic_axes_1", "w"});
  CHECK(e.output_axes_unresolved == Names{"z"});
  o = input_options({"2x3", "4x3"});
  o.dynamic_batch = true;  // only inputs with as many rows as the first
  e = make_inputs(o, m);
  CHECK(e.leaves[0].axis_names[0] == "batch");
  CHECK(e.leaves[1].axis_names[0].empty());
}

TEST_CASE("input names replace the method's own, for axes too", "[inputs]") {
  const auto m = model("x: Tensor, y: Tensor", "return x");
  InputOptions o = input_options({"2", "2"});
  o.names = {"data"};
  parse_dynamic_axes("data:0=n y:0=n", o.dynamic_axes);
  const auto e = make_inputs(o, m);
  CHECK(names(e) == Names{"data", "y"});
  CHECK(e.leaves[0].axis_names[0] == "n");
}

TEST_CASE("a file of inputs keeps nested structure", "[inputs]") {
  const auto m = model("x: Tensor, state: Tuple[Tensor, Tensor], k: int", "return x");
  const auto bytes = torch::jit::pickle_save(c10::IValue(c10::ivalue::Tuple::create(
      {at::ones({2}), c10::ivalue::Tuple::create({at::zeros({1}), at::ones({1})}), 3})));
  const std::string path =
      (std::filesystem::temp_directory_path() / ("oe-inputs-" + std::to_string(getpid()) + ".pt"))
          .string();
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  InputOptions o;
  o.file = path;
  const auto e = make_inputs(o, m);
  CHECK(names(e) == Names{"x", "state.0", "state.1", "k"});
  CHECK(e.arguments[2].toInt() == 3);
  std::filesystem::remove(path);
}

TEST_CASE("other sizes and seeds of the same inputs", "[inputs]") {
  const auto m = model("x: Tensor, ids: Tensor, lengths: Tensor, n: int", "return x");
  const auto e =
      make_inputs(input_options({"x:2x3", "ids:2@i64=randint(3,9)", "lengths=[5,4,2]", "n=4"}), m);
  const auto other = resized_inputs(e, {{4, 3}, {50}, {4}, {}}, e.options.seed + 1);
  CHECK(other[0].toTensor().sizes() == at::IntArrayRef({4, 3}));
  CHECK(other[1].toTensor().min().item().toLong() >= 3);
  CHECK(other[1].toTensor().max().item().toLong() < 9);
  const at::Tensor lengths = other[2].toTensor();
  CHECK(lengths.equal(std::get<0>(lengths.sort(0, true))));
  CHECK(other[3].toInt() > 0);
  // The example's own seed and sizes give the example itself, as copies.
  const auto same = resized_inputs(e, {{2, 3}, {2}, {3}, {}}, e.options.seed);
  CHECK(same[0].toTensor().equal(e.arguments[0].toTensor()));
  CHECK_FALSE(same[0].toTensor().is_same(e.arguments[0].toTensor()));
  CHECK(same[3].toInt() == 4);
}

TEST_CASE("drawn inputs are varied, fixed ones are not", "[inputs]") {
  const auto m =
      model("x: Tensor, ids: Tensor, m: Tensor, n: int, r: float, b: bool, k: int", "return x");
  auto e = make_inputs(input_options({"x:2=[-1.5,2]", "ids:2@i32=[3,-4]", "m:2@bool=[true,false]",
                                      "n=4", "r=-0.5", "b=true", "k=9"}),
                       m);
  e.leaves[6].fixed = true;
  using Kind = Variation::Kind;
  const auto draw = [&](Kind kind, double value) {
    return torch_io::drawn_arguments(e, {{{2}, {2}, {2}, {}, {}, {}, {}},
                                         e.options.seed,
                                         std::vector<Variation>(7, {kind, value})});
  };
  const auto numbers = [](const c10::IValue& v) {
    const at::Tensor t = v.toTensor().to(at::kDouble);
    return std::vector<double>(t.data_ptr<double>(), t.data_ptr<double>() + t.numel());
  };
  using Numbers = std::vector<double>;
  const auto filled = draw(Kind::Fill, 7);
  CHECK(numbers(filled[0]) == Numbers{7, 7});
  CHECK(numbers(filled[1]) == Numbers{7, 7});
  CHECK(filled[1].toTensor().scalar_type() == at::kInt);
  CHECK(numbers(filled[2]) == Numbers{1, 1});
  CHECK(filled[3].toInt() == 7);
  CHECK(filled[4].toDouble() == 7);
  CHECK(filled[5].toBool());
  CHECK(filled[6].toInt() == 9);
  CHECK_FALSE(draw(Kind::Fill, 0)[5].toBool());
  CHECK(numbers(draw(Kind::Positive, 0)[0]) == Numbers{1.5, 2});
  CHECK(numbers(draw(Kind::Negative, 0)[0]) == Numbers{-1.5, -2});
  CHECK(draw(Kind::Positive, 0)[4].toDouble() == 0.5);
  CHECK(numbers(draw(Kind::Scale, 10)[1]) == Numbers{30, -40});
  CHECK(draw(Kind::Scale, 10)[1].toTensor().scalar_type() == at::kInt);
  CHECK(numbers(draw(Kind::None, 0)[0]) == Numbers{-1.5, 2});
}

TEST_CASE("further examples say which axes differ", "[inputs]") {
  const auto m = model("x: Tensor, ids: Tensor, n: int, word: str = 'a'", "return x + ids + n");
  InputOptions o = input_options({"x:2x3", "ids:2x3@i64=randint(4,9)", "n=4"});
  const auto further = [&](const std::vector<std::string>& specs) {
    o.alternatives = {input_options(specs).specs};
    return make_inputs(o, m);
  };
  const auto e = further({"x:2x5", "ids:2x5", "n=7"});
  REQUIRE(e.alternatives.size() == 1);
  CHECK(e.leaves[0].differs == std::vector<bool>{false, true});
  CHECK(e.alternatives[0][0].toTensor().sizes() == at::IntArrayRef({2, 5}));
  // Values of the example's kind where only a shape is given, and the given ones otherwise.
  CHECK(e.alternatives[0][1].toTensor().scalar_type() == at::kLong);
  CHECK(e.alternatives[0][1].toTensor().min().item().toLong() >= 4);
  CHECK(e.alternatives[0][2].toInt() == 7);
  // By position, past those that are named; what is not said stays.
  const auto mixed = further({"4x3", "n=5"});
  CHECK(mixed.leaves[0].differs == std::vector<bool>{true, false});
  CHECK(mixed.alternatives[0][1].toTensor().equal(e.leaves[1].value.toTensor()));
  for (const char* spec : {"x:3", "x:2x3@i64", "word=\"b\"", "y:2x3", "x:nx3", "n=none"})
    CHECK_THROWS_AS(further({spec}), Failure);
}

TEST_CASE("constants are arguments and no inputs", "[inputs]") {
  const auto m = model("x: Tensor, n: int, p: Tuple[Tensor, int]", "return x + n + p[0] + p[1]");
  InputOptions o = input_options({"x:2", "n=4", "p.0:2", "p.1=1"});
  o.constants = {"n", "p"};
  const auto e = make_inputs(o, m);
  CHECK(names(e) == Names{"x"});
  CHECK(e.arguments[1].toInt() == 4);
  CHECK(resized_inputs(e, {{7}}, e.options.seed + 1)[1].toInt() == 4);
  // A part alone: the other goes on being drawn and resized.
  o.constants = {"p.0"};
  const auto part = make_inputs(o, m);
  CHECK(names(part) == Names{"x", "n", "p.1"});
  const auto drawn = resized_inputs(part, {{7}, {}, {}}, part.options.seed + 1);
  const auto& pair = drawn[2].toTupleRef().elements();
  CHECK(pair[0].toTensor().equal(part.arguments[2].toTupleRef().elements()[0].toTensor()));
  CHECK(leaf_values(part, drawn)[2].toInt() == pair[1].toInt());
  o.constants = {"p.2"};
  CHECK_THROWS_AS(make_inputs(o, m), Failure);
}

TEST_CASE("a file is read once", "[inputs]") {
  const auto m = model("x: Tensor, y: Tensor", "return x + y");
  const auto path =
      std::filesystem::temp_directory_path() / ("oe-once-" + std::to_string(getpid()) + ".pt");
  const auto bytes = torch::jit::pickle_save(at::ones({2}));
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  torch_io::ExampleFiles files;
  const InputOptions o = input_options({"x=@" + path.string(), "y=@" + path.string()});
  const auto first = make_inputs(o, m, files);
  std::filesystem::remove(path);
  const auto second = make_inputs(o, m, files);
  CHECK(second.arguments[0].toTensor().equal(first.arguments[0].toTensor()));
  // Models write to their arguments.
  CHECK_FALSE(second.arguments[0].toTensor().is_alias_of(first.arguments[0].toTensor()));
  CHECK_FALSE(first.arguments[0].toTensor().is_alias_of(first.arguments[1].toTensor()));
}

TEST_CASE("a run in float64 keeps indices, and widens what the code calls float32", "[inputs]") {
  const auto m = model(
      "x: Tensor",
      "return torch.to(x, 6)[self.index] / 3 + torch.zeros([2], dtype=6) + torch.ones([2]) / 7",
      {{"index", at::arange(1, 3)}});
  const auto e = make_inputs(input_options({"x:4=ones"}), m);
  torch_io::Reference reference(m);
  const auto run = reference.run(e, {{{4}}, e.options.seed, {}}, {});
  CHECK(run.outputs.at(0).tensor->as_double() == std::vector<double>(2, 1.0F / 3 + 1.0F / 7));
  const auto wide = reference.last_in(DType::Double, {});
  CHECK(wide.at(0).tensor->as_double() == std::vector<double>(2, 1.0 / 3 + 1.0 / 7));
}

TEST_CASE("a run one unit in the last place off leaves whole numbers", "[inputs]") {
  const auto m = model(
      "x: Tensor", "return x, self.count[self.index], self.weight",
      {{"index", at::arange(2)}, {"count", at::ones({2}) * 3}, {"weight", at::ones({2}) / 3}});
  const auto e = make_inputs(input_options({"x:2"}), m);
  torch_io::Reference reference(m);
  reference.run(e, {{{2}}, e.options.seed, {}}, {});
  const auto values = [&](uint64_t nudged) {
    std::vector<std::vector<double>> out;
    for (const auto& v : reference.last_rounded_otherwise({}, nudged))
      out.push_back(v.tensor->as_double());
    return out;
  };
  const auto same = values(0), off = values(1);
  CHECK(same.at(2) == std::vector<double>(2, 1.0F / 3));
  CHECK(off.at(1) == std::vector<double>{3, 3});
  for (const size_t i : {0, 2})
    for (const size_t k : {0, 1}) {
      const auto was = static_cast<float>(same.at(i).at(k));
      const auto is = static_cast<float>(off.at(i).at(k));
      CHECK((is == std::nextafter(was, INFINITY) || is == std::nextafter(was, -INFINITY)));
    }
  CHECK(values(1) == off);
  CHECK(values(2) != off);
  CHECK(m.module.attr("weight").toTensor().equal(at::ones({2}) / 3));
}

TEST_CASE("a run with every result off sees what integers decide", "[inputs]") {
  const auto m =
      model("x: Tensor",
            "y = (x * 4 + 1) / 2\n  z = y.view(-1)\n  z.add_(2)\n  return y, torch.round(y + 0)");
  const auto e = make_inputs(input_options({"x:8x8@i64"}), m);
  torch_io::Reference reference(m);
  reference.run(e, {{{8, 8}}, e.options.seed, {}}, {});
  const auto of = [&](uint64_t nudged) { return reference.last_rounded_otherwise({}, nudged); };
  const auto same = of(0), inputs = of(1), all = of(torch_io::Reference::kResultsUp);
  for (const size_t i : {0, 1}) {
    const Tensor &a = *same.at(i).tensor, &b = *all.at(i).tensor;
    CHECK(verify::largest_difference(a, inputs.at(i).tensor.get()) == 0);
    const double off = verify::largest_difference(a, &b);
    INFO(i << ": " << a.as_double()[0] << " " << b.as_double()[0]);
    CHECK(off > 0);
    CHECK(off <= (i == 0 ? 4e-6 * verify::largest_difference(a, nullptr) : 1));
  }
}

TEST_CASE("state written by a run does not leak into the next", "[inputs]") {
  const auto m = model("x: Tensor", "self.count.add_(1)\n  return x + self.count",
                       {{"count", at::zeros({1})}});
  const auto e = make_inputs(input_options({"x:1=zeros"}), m);
  torch_io::Reference reference(m);
  for (int i = 0; i < 2; ++i) {
    const auto run = reference.run(e, {{{1}}, e.options.seed, {}}, {});
    REQUIRE(run.outputs.size() == 1);
    CHECK(run.outputs[0].tensor->as_double() == std::vector<double>{1});
  }
  CHECK(m.module.attr("count").toTensor().item().toDouble() == 0);
}
