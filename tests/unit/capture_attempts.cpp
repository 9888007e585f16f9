// Which attempts a capture makes, one after the other, and why each ended.
#include <ATen/ops/ones.h>
#include <torch/csrc/jit/api/module.h>

#include <catch2/catch.hpp>

#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "tests/unit/scripted.h"

namespace oe::capture {
namespace {

using Attempts = std::vector<std::string>;  // "HOW: ENDED" of each, without the message

Attempts attempts_of(const std::string& signature, const std::string& body,
                     const std::vector<std::string>& specs, const CaptureOptions& o = {}) {
  torch_io::Loaded m = scripted(signature, body, {}, {{"w", at::ones({3})}});
  torch_io::ExampleInputs example = torch_io::make_inputs(input_options(specs), m);
  Diagnostics d;
  Attempts told;
  capture(m, example, o, lower::has_row, d, [&](const std::string& how, const std::string& ended) {
    told.push_back(how.substr(0, how.rfind(',')) + ": " + ended.substr(0, ended.find(':')));
  });
  return told;
}

}  // namespace

TEST_CASE("one attempt is enough for what ONNX says directly", "[capture]") {
  CHECK(attempts_of("x", "  return x * self.w\n", {"x:n=2x3"}) ==
        Attempts{"loops up to 64 unrolled: captured"});
}

TEST_CASE("a question about gradients turns autograd on", "[capture]") {
  CHECK(attempts_of("x",
                    "  y = x * self.w\n"
                    "  if y.requires_grad:\n"
                    "    y = y + 1\n"
                    "  return y\n",
                    {"x:2x3"}) == Attempts{"loops up to 64 unrolled: needs autograd",
                                           "loops up to 64 unrolled, autograd on: captured"});
}

TEST_CASE("a list of views that is written through keeps whose memory it is", "[capture]") {
  CHECK(attempts_of("x",
                    "  y = x.clone()\n"
                    "  for t in y.split(1):\n"
                    "    t.mul_(2)\n"
                    "  return y\n",
                    {"x:n=4x3"}) == Attempts{"loops up to 64 unrolled: needs lists of views",
                                             "loops up to 64 unrolled, lists of views: captured"});
}

TEST_CASE("a loop body that no example reaches runs on made-up values", "[capture]") {
  CHECK(attempts_of("x",
                    "  a = x[x > 100.0]\n"
                    "  s = x.sum()\n"
                    "  for i in range(a.size(0)):\n"
                    "    s = s + a[i]\n"
                    "  return s\n",
                    {"x:3=ones"}) == Attempts{"loops up to 64 unrolled: needs made-up values",
                                              "loops up to 64 unrolled, made-up values: captured"});
}

TEST_CASE("a kept loop that leaves its list's length open is unrolled", "[capture]") {
  CaptureOptions o;
  o.unroll = 2;
  CHECK(attempts_of("x",
                    "  l = [x]\n"
                    "  for i in range(5):\n"
                    "    l.append(l[-1] + 1)\n"
                    "  a, b, c, d, e, f = l\n"
                    "  return a + f\n",
                    {"x:3"}, o) == Attempts{"loops up to 2 unrolled: needs all loops unrolled",
                                            "all loops unrolled: captured"});
}

}  // namespace oe::capture
