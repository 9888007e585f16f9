// The report of a worker, written and read back by one description.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "app/report.h"

using namespace oe;
using app::Report;

namespace {

Report full_report() {
  Report r;
  Outcome& o = r.outcome;
  o.exit_code = ExitCode::NotFullyVerified;
  o.opset = 17;
  o.operators = {{"Conv", 2}, {"com.acme::Fold", 1}};
  o.inputs = {{"x", "tensor", "float", {{{std::nullopt, "batch", 1, 8}, {3, "", {}, {}}}}, "x.0"},
              {"s", "optional sequence", "int64", std::nullopt, "s"}};
  o.state = {{"rnn.h", "state_in.h", "state_out.h", "[0.0]"}};
  o.found = {{"x", "x:1x3@f32", {{1, true, "n", "why"}}, "rank", "type", "", "1", "", ""}};
  o.verified = {3, 2, 12, 1e-6, 2.5, {"an axis"}, {{"y", 12, 1e-6, 2.5, "agrees"}}};
  o.errors = {{"y", "float[1]", std::numeric_limits<double>::infinity(), std::nan(""), 0, 0, 0}};
  o.coverage = {{"if", "net.py", 3, {"then"}, {"else"}, {}}};
  o.opsets = {{7, false, 2, 0}, {8, true, 0, 5}};
  o.times = {{"load", 0.25, 1000}};
  r.diagnostics.report(
      {"OE5101", Severity::Warning, "aten::foo", "message", "hint",
       std::make_shared<const Origin>(Origin{"aten::foo", "net", "net.py", 4, "x"}), 11});
  r.stop = {ExitCode::Mismatch, "OE0601", "differs", "look", nullptr};
  return r;
}

}  // namespace

TEST_CASE("a report reads back as it was written", "[report]") {
  const std::string text = app::to_json({full_report()});
  const std::vector<Report> back = app::from_json(text);
  REQUIRE(back.size() == 1);
  CHECK(app::to_json(back) == text);
  const Outcome& o = back[0].outcome;
  CHECK(back[0].exit_code() == ExitCode::Mismatch);
  CHECK(o.exit_code == ExitCode::NotFullyVerified);
  CHECK(to_string(o.inputs.at(0)) == "x float[batch,3]");
  CHECK(to_string(o.inputs.at(1)) == "s optional sequence of int64*");
  CHECK(o.inputs[0].dims->at(0).high == 8);
  CHECK(o.verified->outputs.at(0).verdict == "agrees");
  CHECK(std::isnan(o.errors.at(0).largest));  // JSON has neither infinity nor NaN
  CHECK(back[0].diagnostics.all().at(0).origin->line == 4);
}

TEST_CASE("text that is no report", "[report]") {
  for (const char* text : {"", "{}", "[1]", "[{}]", "[{\"opset\": \"x\"}]", "nonsense"})
    CHECK(app::from_json(text).empty());
}
