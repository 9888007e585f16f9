// Which branches and trips inputs drive: the instrumented model, the search for inputs, the words.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "lib/onnx/onnx.h"
#include "lib/optimize/optimize.h"
#include "lib/verify/coverage.h"
#include "lib/verify/verify_model.h"
#include "tests/unit/ort_or_skip.h"

using namespace oe;
using Catch::Matchers::Contains;

namespace {

// The model with every If and Loop named "author..." taken for the author's: on line 10, 20, ...
ir::Model model(const std::string& text) {
  ir::Model m = onnx::parse_text(text);
  int line = 0;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (auto& n : g.nodes) {
      if (!n->is("If") && !n->is("Loop")) continue;
      if (!n->outputs[0]->name.starts_with("author")) continue;
      line += 10;
      auto origin = std::make_shared<Origin>();
      origin->op = "prim::" + n->op;
      origin->file = "/home/me/net.py";
      origin->line = line;
      origin->text = n->is("If") ? "if n > 0:" : "for i in range(n):";
      n->origin = origin;
    }
  });
  return m;
}

verify::Probe probe_of(ir::Model& m) {
  verify::Probe p;
  REQUIRE(verify::instrument(m, p));
  REQUIRE(ir::verify(m) == std::vector<std::string>{});
  optimize::cleanup(m);
  REQUIRE(ir::verify(m) == std::vector<std::string>{});
  p.bytes = onnx::write_bytes(m);
  return p;
}

std::vector<int> flags(verify::Ort& o, const verify::Probe& p, std::vector<int64_t> numbers,
                       float limit = std::numeric_limits<float>::infinity()) {
  const auto session = o.open_bytes(p.bytes, 1);
  std::vector<HostValue> inputs;
  for (const int64_t n : numbers) {
    inputs.emplace_back();
    inputs.back().tensor = Tensor::of<int64_t>(DType::Int64, {}, {n});
  }
  inputs.emplace_back();
  inputs.back().tensor = Tensor::of<float>(DType::Float, {}, {limit});
  const auto out = session->run(inputs);
  std::vector<int> result;
  for (const int64_t bit : out.at(0).tensor->as_int64()) result.push_back(static_cast<int>(bit));
  return result;
}

// If (n > 0) { loop n times { if (i < k) .. else .. } } else { .. }: line 10, 20 and 30.
std::string nested(int opset) {
  return "<ir_version: 4, opset_import: [\"\" : " + std::to_string(opset) + R"(]>
    g (int64 n, int64 k) => (int64 author_y)
    <int64 zero = {0}, int64 one = {1}, bool yes = {1}> {
      nf = Cast <to = 1> (n)   zf = Cast <to = 1> (zero)
      c = Greater (nf, zf)
      author_y = If (c) <then_branch = t () => (int64 author_t) {
        author_t = Loop (n, yes, zero) <body = b (int64 i, bool go, int64 s) => (bool go_on, int64 u) {
          go_on = Identity (go)
          fi = Cast <to = 1> (i)   fk = Cast <to = 1> (k)
          d = Less (fi, fk)
          author_u = If (d) <then_branch = p () => (int64 a) { a = Add (s, one) },
                             else_branch = q () => (int64 e) { e = Sub (s, one) }>
          u = Identity (author_u)
        }>
      }, else_branch = f () => (int64 z) { z = Identity (n) }>
    })";
}

}  // namespace

TEST_CASE("nested constructs say what their inputs drive", "[verify][coverage][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  for (const int opset : {7, 9, 11, 13, 18}) {
    CAPTURE(opset);
    ir::Model m = model(nested(opset));
    const verify::Probe p = probe_of(m);
    REQUIRE(p.constructs.size() == 3);
    REQUIRE(p.flags == 9);
    // Cut short; then, else; 0, 1, 2, more trips; then, else.
    CHECK(flags(*o, p, {0, 0}) == std::vector<int>{0, 0, 1, 0, 0, 0, 0, 0, 0});
    CHECK(flags(*o, p, {1, 0}) == std::vector<int>{0, 1, 0, 0, 1, 0, 0, 0, 1});
    CHECK(flags(*o, p, {1, 5}) == std::vector<int>{0, 1, 0, 0, 1, 0, 0, 1, 0});
    CHECK(flags(*o, p, {2, 1}) == std::vector<int>{0, 1, 0, 0, 0, 1, 0, 1, 1});
    CHECK(flags(*o, p, {7, 7}) == std::vector<int>{0, 1, 0, 0, 0, 0, 1, 1, 0});
    CHECK(flags(*o, p, {7, 6}) == std::vector<int>{0, 1, 0, 0, 0, 0, 1, 1, 1});
    // The limit ends a loop and says so.
    CHECK(flags(*o, p, {1000000000, 1}, 100)[0] == 1);
    CHECK(flags(*o, p, {50, 1}, 100)[0] == 0);
  }
}

TEST_CASE("an endless loop ends, also around and inside of others", "[verify][coverage][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  ir::Model m = model(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (int64 n) => (int64 author_y) <int64 zero = {0}, int64 one = {1}, bool yes = {1}> {
      author_y, again = Loop ("", yes, n, zero) <body = b (int64 i, bool go, int64 s, int64 t) => (bool go_on, int64 u, int64 v) {
        stop = Equal (s, one)
        go_on = Not (stop)
        author_v = Loop (n, yes, t) <body = c (int64 j, bool w, int64 x) => (bool w_on, int64 z) {
          w_on = Identity (w)  z = Add (x, one)
        }>
        u = Add (s, zero)  v = Identity (author_v)
      }>
    })");
  const verify::Probe p = probe_of(m);
  // The outer one is entered without asking: 0 trips cannot be.
  REQUIRE(p.constructs[0].possible == std::vector<bool>{false, true, true, true});
  CHECK(flags(*o, p, {1}, 1000)[0] == 0);
  CHECK(flags(*o, p, {5}, 1000)[0] == 1);
  CHECK(flags(*o, p, {0}, 1000)[0] == 1);
}

TEST_CASE("what no input can do is not asked for", "[verify][coverage]") {
  const auto possible = [](const char* loop) {
    ir::Model m = model(std::string(R"(<ir_version: 8, opset_import: ["" : 18]>
      g (int64 n, bool c) => (int64 author_y)
      <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}, bool yes = {1}> { )") +
                        loop + " }");
    verify::Probe p;
    REQUIRE(verify::instrument(m, p));
    return p.constructs.at(0).possible;
  };
  const std::string body = R"(<body = b (int64 i, bool go, int64 s) => (bool on, int64 t) {
      t = Add (s, one)  d = Less (t, three)  e = Not (c)  on = And (d, e) }>)";
  const std::string other = R"(<body = b (int64 i, bool go, int64 s) => (bool on, int64 t) {
      t = Mul (s, three)  on = Less (t, three) }>)";
  using Bits = std::vector<bool>;
  CHECK(possible(("author_y = Loop (two, \"\", n) " + other).c_str()) == Bits{0, 0, 0, 0});
  CHECK(possible(("author_y = Loop (two, c, n) " + other).c_str()) == Bits{1, 1, 1, 0});
  CHECK(possible(("author_y = Loop (n, yes, n) " + other).c_str()) == Bits{1, 1, 1, 1});
  CHECK(possible(("author_y = Loop (\"\", yes, n) " + other).c_str()) == Bits{0, 1, 1, 1});
  CHECK(possible(("author_y = Loop (\"\", c, n) " + body).c_str()) == Bits{1, 1, 1, 1});
  CHECK(possible(("author_y = Loop (\"\", c, zero) " + body).c_str()) == Bits{1, 1, 1, 1});
  CHECK(possible(("author_y = Loop (\"\", c, one) " + body).c_str()) == Bits{1, 1, 1, 0});
  CHECK(possible(("author_y = Loop (\"\", yes, two) " + body).c_str()) == Bits{0, 1, 0, 0});
}

TEST_CASE("only the author's constructs count", "[verify][coverage]") {
  const std::string text = nested(18);
  ir::Model plain = onnx::parse_text(text);
  const std::string before = ir::print(plain);
  verify::Probe p;
  CHECK(!verify::instrument(plain, p));
  CHECK(ir::print(plain) == before);
}

TEST_CASE("what was not reached is said in one line", "[verify][coverage]") {
  using verify::Covered;
  CHECK(verify::unreached_note({{"if", "a/net.py", 3, {"then", "else"}, {}, {}}}).empty());
  CHECK(verify::unreached_note({{"if", "a/net.py", 12, {"then"}, {"else"}, {}}}) ==
        "verified without ever taking the else branch of 'if' at net.py:12");
  CHECK(verify::unreached_note({{"loop", "net.py", 9, {"1", "more"}, {"0", "2"}, {}}}) ==
        "verified without 0 or 2 trips of the loop at net.py:9");
  CHECK(verify::unreached_note({{"loop", "net.py", 9, {"1", "more"}, {"0", "2"}, {"0"}},
                                {"if", "net.py", 12, {"then"}, {"else"}, {}},
                                {"condition", "net.py", 14, {"true"}, {"false"}, {}}}) ==
        "verified without ever taking the else branch of 'if' at net.py:12, and without 2 trips of "
        "the loop at net.py:9 or false for the condition at net.py:14, and without 0 trips of the "
        "loop at net.py:9, whose inputs LibTorch refuses");
  std::vector<Covered> many(9, {"if", "net.py", 1, {"then"}, {"else"}, {}});
  CHECK_THAT(verify::unreached_note(many), Contains(", and 3 more (-v lists them)"));
  CHECK(verify::coverage_line({"loop", "net.py", 9, {"1", "more"}, {"0", "2"}, {"0"}}) ==
        "loop at net.py:9: 1, more trips; never 0, 2 (LibTorch refuses the inputs for 0)");

  // A function that is called twice: what one of the calls never did is named.
  verify::Probe p;
  auto origin = std::make_shared<Origin>();
  origin->file = "net.py";
  origin->line = 5;
  origin->text = "y = 1 if c else 2";
  p.constructs = {{false, origin, 1, {true, true}}, {false, origin, 3, {true, true}}};
  p.flags = 5;
  const auto all =
      verify::covered(p, {false, true, true, true, false}, std::vector<bool>(5, false));
  REQUIRE(all.size() == 1);
  CHECK(all[0].reached == std::vector<std::string>{"then"});
  CHECK(all[0].unreached == std::vector<std::string>{"else"});
}

namespace {

// y = x where sum(x) > 0, else -x; `right` says what the original does for other inputs.
struct Choice : verify::Original {
  std::filesystem::path file;
  verify::Probe probe;
  verify::Request request;
  int calls = 0;
  std::function<float(float)> otherwise;

  explicit Choice(std::function<float(float)> of_others) : otherwise(std::move(of_others)) {
    const auto make = [] {
      return model(R"(<ir_version: 8, opset_import: ["" : 18]>
        g (float[3] x) => (float[3] author_y) <float zero = {0}> {
          s = ReduceSum <keepdims = 0> (x)
          c = Greater (s, zero)
          author_y = If (c) <then_branch = t () => (float[3] a) { a = Identity (x) },
                             else_branch = f () => (float[3] b) { b = Neg (x) }>
        })");
    };
    std::string name = (std::filesystem::temp_directory_path() / "coverage-XXXXXX").string();
    const int fd = mkstemp(name.data());
    REQUIRE(fd >= 0);
    close(fd);
    file = name;
    ir::Model m = make();
    std::ofstream(file, std::ios::binary) << onnx::write_bytes(m);
    probe = probe_of(m);
    request.model = file;
    request.worlds = {{{3}}};
    request.leaf_names = {"x"};
    request.free_leaves = {0};
    request.output_names = {"author_y"};
    request.threads = 1;
    request.probe = &probe;
    request.original = this;
  }
  std::vector<TensorPtr> inputs(const Draw& d) override {
    std::vector<float> x(3, 1.5F + static_cast<float>(d.seed));
    if (!d.variations.empty())
      for (float& v : x) {
        const Variation& how = d.variations[0];
        if (how.kind == Variation::Kind::Negative) v = -v;
        if (how.kind == Variation::Kind::Fill) v = static_cast<float>(how.value);
      }
    return {Tensor::of<float>(DType::Float, {3}, x)};
  }
  HostRun run(const Draw& d) override {
    ++calls;
    HostRun made{inputs(d), {}};
    std::vector<float> y;
    for (const double v : made.inputs[0]->as_double())
      y.push_back(v > 0 ? static_cast<float>(v) : otherwise(static_cast<float>(v)));
    made.outputs.push_back(HostValue::of(Tensor::of<float>(DType::Float, {3}, y)));
    return made;
  }
  ~Choice() { std::filesystem::remove(file); }
};

}  // namespace

TEST_CASE("a branch that no drawn input takes is driven and compared", "[verify][coverage][ort]") {
  auto o = ort_or_skip();
  if (!o) return;
  {
    Choice right([](float v) { return -v; });
    const verify::Verification v = verify::verify_model(*o, right.request);
    CHECK(v.mismatch.empty());
    CHECK(v.runs == 4);  // three seeds and the one that takes the other branch
    CHECK(right.calls == 4);
    REQUIRE(v.coverage.size() == 1);
    CHECK(v.coverage[0].unreached.empty());
  }
  {
    Choice wrong([](float v) { return v; });
    const verify::Verification v = verify::verify_model(*o, wrong.request);
    CHECK_THAT(v.mismatch, Contains("differs from LibTorch's at x[3], seed 0, x not positive"));
    wrong.request.probe = nullptr;
    CHECK(verify::verify_model(*o, wrong.request).mismatch.empty());
  }
  {
    // Where the export assumed that nobody goes there it is a gap.
    Choice assumed([](float v) { return v; });
    assumed.request.assumes = true;
    const verify::Verification v = verify::verify_model(*o, assumed.request);
    CHECK(v.mismatch.empty());
    REQUIRE(v.gaps.size() == 1);
    CHECK_THAT(v.gaps[0], Contains("where an assumption may not hold"));
  }
  {
    Choice refused([](float) -> float { throw std::runtime_error("only positive numbers"); });
    const verify::Verification v = verify::verify_model(*o, refused.request);
    CHECK(v.mismatch.empty());
    CHECK(v.runs == 3);
    REQUIRE(v.coverage.size() == 1);
    CHECK(v.coverage[0].refused == std::vector<std::string>{"else"});
  }
}
