// The result of a conversion as JSON: between worker and supervisor, and in the documents.
#include <algorithm>
#include <array>

#include "app/described.h"
#include "app/json.h"
#include "app/report.h"

// Beside the types, where a lookup by argument finds them.
namespace oe {

template <class V>
void members(Origin& o, V&& visit) {
  visit("operator", o.op);
  visit("module", o.module_path);
  visit("file", o.file);
  visit("line", o.line);
  visit("text", o.text);
}

template <class V>
void members(PortAxis& a, V&& visit) {
  visit("size", a.size);
  visit("name", a.name);
  visit("low", a.low);
  visit("high", a.high);
}

template <class V>
void members(Port& p, V&& visit) {
  visit("name", p.name);
  visit("kind", p.kind);
  visit("type", p.type);
  visit("dims", p.dims);
  visit("argument", p.argument);
}

template <class V>
void members(StatePort& s, V&& visit) {
  visit("attribute", s.attribute);
  visit("input", s.input);
  visit("output", s.output);
  visit("saved", s.saved);
}

template <class V>
void members(StageTime& t, V&& visit) {
  visit("name", t.stage);
  visit("seconds", t.seconds);
  visit("peak_bytes", t.peak_bytes);
}

template <class V>
void members(AtOpset& a, V&& visit) {
  visit("opset", a.opset);
  visit("converts", a.converts);
  visit("obstacles", a.obstacles);
  visit("nodes", a.nodes);
}

template <class V>
void members(NodeOutline& n, V&& visit) {
  visit("name", n.name);
  visit("op", n.op);
  visit("inputs", n.inputs);
  visit("outputs", n.outputs);
  visit("types", n.types);
  visit("origin", n.origin);
  visit("holder", n.holder);
}

template <class V>
void members(WeightOutline& w, V&& visit) {
  visit("name", w.name);
  visit("type", w.type);
  visit("bytes", w.bytes);
}

template <class V>
void members(GraphOutline& g, V&& visit) {
  visit("nodes", g.nodes);
  visit("origins", g.origins);
  visit("weights", g.weights);
  visit("inputs", g.inputs);
  visit("outputs", g.outputs);
  visit("left_out", g.left_out);
}

namespace onnx {
template <class V>
void members(WriteResult& w, V&& visit) {
  visit("external_data", w.external);
  visit("model_bytes", w.model_bytes);
  visit("data_bytes", w.data_bytes);
}
}  // namespace onnx

namespace precision {
template <class V>
void members(Kept& k, V&& visit) {
  visit("operator", k.op);
  visit("nodes", k.nodes);
  visit("why", k.why);
}

template <class V>
void members(Summary& s, V&& visit) {
  std::string type(name(s.half));
  visit("type", type);
  s.half = dtype_from_name(type);
  visit("nodes", s.nodes);
  visit("of", s.of);
  visit("kept", s.kept);
}
}  // namespace precision

namespace infer {
template <class V>
void members(FoundAxis& a, V&& visit) {
  visit("size", a.size);
  visit("free", a.free);
  std::string grade = a.free ? "free" : "forced";
  visit("grade", grade);
  visit("symbol", a.symbol);
  visit("reason", a.reason);
}

template <class V>
void members(FoundInput& in, V&& visit) {
  visit("name", in.name);
  visit("spec", in.spec);
  visit("axes", in.axes);
  visit("rank", in.rank);
  visit("type", in.type);
  visit("value", in.value);
  std::string of_rank = grade(in.other_ranks), of_type = grade(in.other_types);
  visit("rank_grade", of_rank);
  visit("other_ranks", in.other_ranks);
  visit("type_grade", of_type);
  visit("other_types", in.other_types);
  visit("baked", in.baked);
}
}  // namespace infer

namespace verify {
template <class V>
void members(OutputErrors& e, V&& visit) {
  visit("output", e.name);
  visit("type", e.type);
  visit("largest", e.largest);
  visit("between", e.between);
  visit("of_libtorch", e.of_libtorch);
  visit("of_onnx_runtime", e.of_onnx_runtime);
}

template <class V>
void members(SpecialRun& s, V&& visit) {
  visit("values", s.values);
  visit("ran", s.ran);
  visit("difference", s.difference);
}

template <class V>
void members(Covered& c, V&& visit) {
  visit("construct", c.construct);
  visit("file", c.file);
  visit("line", c.line);
  visit("reached", c.reached);
  visit("unreached", c.unreached);
  visit("refused", c.refused);
}

template <class V>
void members(OutputFigures& f, V&& visit) {
  visit("name", f.name);
  visit("verdict", f.verdict);
  visit("elements", f.elements);
  visit("largest_error", f.largest_error);
  visit("among_values_to", f.among);
}

template <class V>
void members(Figures& f, V&& visit) {
  visit("runs", f.runs);
  visit("sizes", f.sizes);
  visit("elements", f.elements);
  visit("largest_error", f.largest_error);
  visit("among_values_to", f.among);
  visit("gaps", f.gaps);
  visit("outputs", f.outputs);
  visit("latency_ms", f.latency_ms);
}
}  // namespace verify

// The members of the document but the paths and the problems.
template <class V>
void members(Outcome& o, V&& visit) {
  visit("opset", o.opset);
  visit("ir_version", o.ir_version);
  visit("stopped_after", o.stopped_after);
  visit("inputs", o.inputs);
  visit("outputs", o.outputs);
  visit("parameter_inputs", o.parameter_inputs);
  visit("state", o.state);
  visit("nodes", o.nodes);
  visit("operators", o.operators);
  visit("functions", o.functions);
  visit("precision", o.precision);
  visit("parameter_bytes", o.parameter_bytes);
  visit("written", o.written);
  visit("data_file", o.data_file);
  visit("saved_state", o.state_file);
  visit("inputs_found", o.found);
  visit("assumptions", o.assumptions);
  visit("verification", o.verification);
  visit("verified", o.verified);
  visit("errors", o.errors);
  visit("special_values", o.special);
  visit("coverage", o.coverage);
  visit("opsets", o.opsets);
  visit("lowest_opset", o.lowest_opset);
  visit("stages", o.times);
  visit("graph", o.graph);
}

}  // namespace oe

namespace oe::app {
namespace {

constexpr std::array kSeverities = {"error", "warning", "note"};

Severity severity_from(const std::string& text) {
  const auto* at = std::ranges::find(kSeverities, text);
  return at == kSeverities.end() ? Severity::Error
                                 : static_cast<Severity>(at - kSeverities.begin());
}

OriginPtr origin_from(const ordered_json& j) {
  if (!j.is_object()) return nullptr;
  Origin o;
  read_back(j, o);
  return std::make_shared<const Origin>(std::move(o));
}

Diagnostic problem_from(const ordered_json& j) {
  return {j.at("code"), severity_from(j.at("severity")), j.at("operator"),   j.at("message"),
          j.at("hint"), origin_from(j.at("place")),      j.at("needs_opset")};
}

// The worker's message about one method. By value: the description serves reading too.
ordered_json wire_json(Report r) {
  ordered_json j = written(r.outcome);
  j["exit_code"] = static_cast<int>(r.outcome.exit_code);
  j["problems"] = ordered_json::array();
  for (const Diagnostic& d : r.diagnostics.all()) j["problems"].push_back(problem_json(d));
  j["stop"] = r.stop ? stop_json(*r.stop) : ordered_json();
  j["stop_code"] = static_cast<int>(r.exit_code());
  return j;
}

// Throws ordered_json::exception where it is no report.
Report report_from(const ordered_json& j) {
  Report r;
  read_back(j, r.outcome);
  r.outcome.exit_code = static_cast<ExitCode>(j.at("exit_code").get<int>());
  for (const ordered_json& p : j.at("problems")) r.diagnostics.report(problem_from(p));
  if (const ordered_json& s = j.at("stop"); s.is_object())
    r.stop = {static_cast<ExitCode>(j.at("stop_code").get<int>()), s.at("code"), s.at("message"),
              s.at("hint"), origin_from(s.at("place"))};
  return r;
}

// Null without a comparison.
ordered_json verification_json(const Outcome& o, const ordered_json& figures) {
  if (o.verification.empty() && !o.verified) return nullptr;
  verify::Figures none;
  ordered_json j = figures.is_object() ? figures : written(none);
  const auto& outputs = j["outputs"];
  const bool differs = std::ranges::any_of(
      outputs, [](const ordered_json& output) { return output.at("verdict") == "differs"; });
  const bool compared = o.verified && o.verified->runs > 0;
  ordered_json all = {{"verdict", differs                                     ? "differs"
                                  : !compared                                 ? "not compared"
                                  : o.exit_code == ExitCode::NotFullyVerified ? "partly"
                                                                              : "agrees"},
                      {"text", o.verification}};
  all.update(j);
  return all;
}

}  // namespace

ordered_json origin_json(const OriginPtr& o) {
  if (!o) return nullptr;
  Origin copy = *o;
  return written(copy);
}

ordered_json problem_json(const Diagnostic& d) {
  return {{"severity", kSeverities[static_cast<size_t>(d.severity)]},
          {"code", d.code},
          {"operator", d.op},
          {"message", d.message},
          {"hint", d.hint},
          {"needs_opset", d.needs_opset},
          {"place", origin_json(d.origin)}};
}

ordered_json stop_json(const Stop& s) {
  return problem_json({s.code, Severity::Error, "", s.message, s.hint, s.origin, 0});
}

ordered_json found_json(std::vector<infer::FoundInput> found) { return written(found); }

ordered_json graph_json(std::optional<GraphOutline> graph) { return written(graph); }

std::string dump(const ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string to_json(const std::vector<Report>& all) {
  ordered_json list = ordered_json::array();
  for (const Report& r : all) list.push_back(wire_json(r));
  return dump(list, -1);
}

std::vector<Report> from_json(const std::string& s) {
  const ordered_json list = ordered_json::parse(s, nullptr, /*allow_exceptions=*/false);
  std::vector<Report> all;
  try {
    if (list.is_array())
      for (const ordered_json& j : list) all.push_back(report_from(j));
    return all;
  } catch (const ordered_json::exception&) {
    return {};
  }
}

ordered_json report_document(const Report& r, const Options& o, bool written) {
  ordered_json j = {{"method", o.load.method}, {"exit_code", static_cast<int>(r.exit_code())}};
  j["output"] = nullptr;
  j["external_data_file"] = nullptr;
  j["state_file"] = nullptr;
  if (written && !o.dry_run) {
    j["output"] = o.output;
    if (weights_outside(r.outcome, o)) j["external_data_file"] = r.outcome.data_file;
    if (!r.outcome.state.empty()) j["state_file"] = r.outcome.state_file;
  }
  ordered_json wire = wire_json(r);
  ordered_json& sizes = wire["written"];
  for (const char* size : {"model_bytes", "data_bytes", "external_data"}) j[size] = sizes[size];
  wire["verification"] = verification_json(r.outcome, wire["verified"]);
  for (ordered_json& s : wire["state"])  // JSON in a text; empty where it is long
    s["saved"] = s["saved"] == "" ? ordered_json() : ordered_json::parse(std::string(s["saved"]));
  if (wire["stopped_after"] == "") wire["stopped_after"] = nullptr;
  if (wire["lowest_opset"] == 0) wire["lowest_opset"] = nullptr;
  if (r.stop) wire["problems"].push_back(stop_json(*r.stop));
  // Told above, or another way.
  for (const char* internal : {"written", "data_file", "saved_state", "verified", "graph",
                               "exit_code", "stop", "stop_code"})
    wire.erase(internal);
  j.update(wire);
  return j;
}

}  // namespace oe::app
