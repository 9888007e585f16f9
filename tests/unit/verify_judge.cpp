// Which results that are further off than the tolerance are right all the same.
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "lib/verify/judge.h"

using namespace oe;

namespace {

HostValue value(const std::vector<float>& v) {
  return HostValue::of(Tensor::of<float>(DType::Float, {static_cast<int64_t>(v.size())}, v));
}

class Exact : public verify::Original {
  HostRun run(const Draw&) override { return {}; }
  std::vector<TensorPtr> inputs(const Draw&) override { return {}; }
  std::vector<HostValue> last_in(DType) override {
    return {HostValue::of(Tensor::of<double>(DType::Double, {2}, {4, 0.5}))};
  }
};

// LibTorch gives {4, 0.5}, which is exact; ONNX Runtime gives `actual`, without its optimisations
// `plain` (none: it does not run so).
std::string problem(const std::vector<float>& actual, const std::vector<float>& plain,
                    double atol = -1) {
  verify::Request r;
  r.output_names = {"y"};
  if (atol >= 0) r.options.atol = {{"", atol}};
  Exact original;
  r.original = &original;
  verify::Verification v;
  verify::Judge judge(r, v, [&] {
    if (plain.empty()) throw std::runtime_error("no kernel");
    return std::vector<HostValue>{value(plain)};
  });
  return judge.problem(0, "", value(actual), value({4, 0.5F}));
}

}  // namespace

TEST_CASE("what ONNX Runtime's optimisations round is right where the graph as written is",
          "[verify]") {
  const std::vector<float> exact = {4, 0.5F};
  const float off = 2e-4F;  // beyond 0.5's tolerance, within that of the largest element
  CHECK(problem({4, 0.5F + off}, exact).empty());
  CHECK_FALSE(problem({4, 0.5F + off}, {4, 0.5F + off}).empty());
  CHECK_FALSE(problem({4, 0.5F + off}, {}).empty());
  CHECK_FALSE(problem({4, 0.5F + 10 * off}, exact).empty());
  CHECK_FALSE(problem({4, std::numeric_limits<float>::quiet_NaN()}, exact).empty());
  CHECK_FALSE(problem({4, 0.5F + off}, exact, 1e-5).empty());  // who gives a tolerance has that one
}
