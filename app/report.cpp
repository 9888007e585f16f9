// The result of a conversion: as JSON between worker and supervisor (and for --json), and as text.
#include "app/report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "app/json.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

bool weights_outside(const Outcome& out, const Options& o) {
  return out.written.external || o.write.external == onnx::WriteOptions::External::InPlace;
}

using Strings = std::vector<std::string>;

constexpr const char* kSeverities[] = {"error", "warning", "note"};

OriginPtr origin_from(const ordered_json& j) {
  if (!j.is_object()) return nullptr;
  return std::make_shared<const Origin>(
      Origin{j.at("operator"), j.at("module"), j.at("file"), j.at("line"), j.at("text")});
}

ordered_json diagnostics_json(const Diagnostics& d) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& e : d.all()) list.push_back(problem_json(e));
  return list;
}

void diagnostics_from(const ordered_json& list, Diagnostics& d) {
  for (const ordered_json& j : list) {
    const auto* severity = std::find(std::begin(kSeverities), std::end(kSeverities),
                                     j.at("severity").get<std::string>());
    d.report({j.at("code"), static_cast<Severity>(severity - kSeverities), j.at("operator"),
              j.at("message"), j.at("hint"), origin_from(j.at("place")), j.at("needs_opset")});
  }
}

ordered_json coverage_json(const std::vector<verify::Covered>& coverage) {
  ordered_json list = ordered_json::array();
  for (const verify::Covered& c : coverage)
    list.push_back({{"construct", c.construct},
                    {"file", c.file},
                    {"line", c.line},
                    {"reached", c.reached},
                    {"unreached", c.unreached},
                    {"refused", c.refused}});
  return list;
}

ordered_json errors_json(const std::vector<verify::OutputErrors>& errors) {
  ordered_json list = ordered_json::array();
  for (const verify::OutputErrors& e : errors)
    list.push_back({{"output", e.name},
                    {"type", e.type},
                    {"largest", e.largest},
                    {"between", e.between},
                    {"of_libtorch", e.of_libtorch},
                    {"of_onnx_runtime", e.of_onnx_runtime}});
  return list;
}

ordered_json special_json(const std::vector<verify::SpecialRun>& special) {
  ordered_json list = ordered_json::array();
  for (const verify::SpecialRun& s : special)
    list.push_back({{"values", s.values}, {"ran", s.ran}, {"difference", s.difference}});
  return list;
}

std::vector<infer::FoundInput> found_from(const ordered_json& list) {
  std::vector<infer::FoundInput> found;
  for (const ordered_json& j : list) {
    found.push_back({j.at("name"),
                     j.at("spec"),
                     {},
                     j.at("rank"),
                     j.at("type"),
                     j.at("value"),
                     j.at("other_ranks"),
                     j.at("other_types"),
                     j.at("baked")});
    for (const ordered_json& a : j.at("axes"))
      found.back().axes.push_back({a.at("size"), a.at("free"), a.at("symbol"), a.at("reason")});
  }
  return found;
}

ordered_json state_json(const std::vector<StatePort>& state) {
  ordered_json list = ordered_json::array();
  for (const StatePort& s : state)
    list.push_back({{"attribute", s.attribute},
                    {"input", s.input},
                    {"output", s.output},
                    {"saved", s.saved.empty() ? ordered_json() : ordered_json::parse(s.saved)}});
  return list;
}

ordered_json opsets_json(const std::vector<AtOpset>& opsets) {
  ordered_json list = ordered_json::array();
  for (const AtOpset& at : opsets)
    list.push_back({{"opset", at.opset},
                    {"converts", at.converts},
                    {"obstacles", at.obstacles},
                    {"nodes", at.nodes}});
  return list;
}

ordered_json precision_json(const std::optional<precision::Summary>& s) {
  if (!s) return nullptr;
  ordered_json kept = ordered_json::array();
  for (const precision::Kept& k : s->kept)
    kept.push_back({{"operator", k.op}, {"nodes", k.nodes}, {"why", k.why}});
  return {{"type", name(s->half)}, {"nodes", s->nodes}, {"of", s->of}, {"kept", kept}};
}

std::optional<precision::Summary> precision_from(const ordered_json& j) {
  if (j.is_null()) return std::nullopt;
  precision::Summary s{
      dtype_from_name(j.at("type").get<std::string>()), j.at("nodes"), j.at("of"), {}};
  for (const ordered_json& k : j.at("kept"))
    s.kept.push_back({k.at("operator"), k.at("why"), k.at("nodes")});
  return s;
}

// "in float16: 53 of 60 nodes; kept in float32: 5 Softmax, 2 ReduceMean"
std::string precision_text(const precision::Summary& s) {
  std::string text = ", in " + std::string(name(s.half)) + ": " + std::to_string(s.nodes) + " of " +
                     plural(s.of, "node");
  std::map<std::string, size_t> count;
  for (const precision::Kept& k : s.kept) count[k.op] += k.nodes;
  std::vector<std::pair<std::string, size_t>> ops(count.begin(), count.end());
  std::ranges::stable_sort(ops, std::ranges::greater{}, [](const auto& o) { return o.second; });
  constexpr size_t shown = 8;
  size_t rest = 0;
  Strings kept;
  for (const auto& [op, nodes] : ops)
    if (kept.size() < shown)
      kept.push_back(std::to_string(nodes) + " " + op);
    else
      rest += nodes;
  if (rest > 0) kept.push_back(std::to_string(rest) + (rest == 1 ? " other" : " others"));
  return text + (kept.empty() ? "" : "; kept in float32: " + join(kept, ", "));
}

ordered_json report_json(const Report& r) {
  const Outcome& o = r.outcome;
  ordered_json j = {
      {"exit_code", static_cast<int>(r.exit_code())},
      {"opset", o.opset},
      {"ir_version", o.ir_version},
      {"stopped_after", o.stopped_after.empty() ? ordered_json() : ordered_json(o.stopped_after)},
      {"parameter_inputs", o.parameter_inputs},
      {"nodes", o.nodes},
      {"functions", o.functions ? ordered_json(*o.functions) : ordered_json()},
      {"precision", precision_json(o.precision)},
      {"parameter_bytes", o.parameter_bytes},
      {"model_bytes", o.written.model_bytes},
      {"data_bytes", o.written.data_bytes},
      {"external_data", o.written.external},
      {"data_file", o.data_file},
      {"inputs", o.inputs},
      {"outputs", o.outputs},
      {"state", state_json(o.state)},
      {"saved_state", o.state_file},
      {"inputs_found", found_json(o.found)},
      {"assumptions", o.assumptions},
      {"verification", o.verification},
      {"errors", errors_json(o.errors)},
      {"special_values", special_json(o.special)},
      {"coverage", coverage_json(o.coverage)},
      {"opsets", opsets_json(o.opsets)},
      {"lowest_opset", o.lowest_opset ? ordered_json(o.lowest_opset) : nullptr},
      {"diagnostics", diagnostics_json(r.diagnostics)}};
  j["seconds"] = j["peak_bytes"] = ordered_json::object();
  for (const StageTime& t : o.times) {
    j["seconds"][t.stage] = t.seconds;
    j["peak_bytes"][t.stage] = t.peak_bytes;
  }
  j["failure"] = r.stop ? stop_json(*r.stop) : ordered_json();
  return j;
}

// Throws ordered_json::exception where it is no report.
Report report_from(const ordered_json& j) {
  Report r;
  Outcome& o = r.outcome;
  o.exit_code = static_cast<ExitCode>(j.at("exit_code").get<int>());
  o.opset = j.at("opset");
  o.ir_version = j.at("ir_version");
  if (!j.at("stopped_after").is_null()) o.stopped_after = j.at("stopped_after");
  o.parameter_inputs = j.at("parameter_inputs");
  o.nodes = j.at("nodes");
  if (!j.at("functions").is_null()) o.functions = j.at("functions").get<size_t>();
  o.precision = precision_from(j.at("precision"));
  o.parameter_bytes = j.at("parameter_bytes");
  o.written = {j.at("external_data"), j.at("model_bytes"), j.at("data_bytes")};
  o.data_file = j.at("data_file");
  o.state_file = j.at("saved_state");
  o.inputs = j.at("inputs").get<Strings>();
  o.outputs = j.at("outputs").get<Strings>();
  for (const ordered_json& s : j.at("state"))
    o.state.push_back({s.at("attribute"), s.at("input"), s.at("output"),
                       s.at("saved").is_null() ? "" : s.at("saved").dump()});
  o.found = found_from(j.at("inputs_found"));
  o.assumptions = j.at("assumptions").get<Strings>();
  o.verification = j.at("verification");
  for (const ordered_json& e : j.at("errors"))
    o.errors.push_back({e.at("output"), e.at("type"), e.at("largest"), e.at("between"),
                        e.at("of_libtorch"), e.at("of_onnx_runtime"), 0});
  for (const ordered_json& s : j.at("special_values"))
    o.special.push_back({s.at("values"), s.at("ran"), s.at("difference")});
  for (const ordered_json& c : j.at("coverage"))
    o.coverage.push_back({c.at("construct"), c.at("file"), c.at("line"),
                          c.at("reached").get<Strings>(), c.at("unreached").get<Strings>(),
                          c.at("refused").get<Strings>()});
  diagnostics_from(j.at("diagnostics"), r.diagnostics);
  for (const auto& [stage, seconds] : j.at("seconds").items())
    o.times.push_back({stage, seconds.get<double>(), j.at("peak_bytes").at(stage)});
  for (const ordered_json& at : j.at("opsets"))
    o.opsets.push_back({at.at("opset"), at.at("converts"), at.at("obstacles"), at.at("nodes")});
  if (const ordered_json& lowest = j.at("lowest_opset"); !lowest.is_null()) o.lowest_opset = lowest;
  if (const ordered_json& f = j.at("failure"); f.is_object())
    r.stop = {o.exit_code, f.at("code"), f.at("message"), f.at("hint"), origin_from(f.at("place"))};
  return r;
}

std::string some_ports(const char* one, const Strings& list) {
  if (list.empty()) return {};
  constexpr size_t shown = 4;
  const Strings head(list.begin(),
                     list.begin() + static_cast<std::ptrdiff_t>(std::min(shown, list.size())));
  std::string text = std::string(", ") + one + (list.size() > 1 ? "s " : " ") + join(head, " ");
  if (list.size() > shown) text += " and " + std::to_string(list.size() - shown) + " more";
  return text;
}

std::string ports(const Outcome& out) {
  std::string text = some_ports("input", out.inputs);
  if (out.parameter_inputs > 0) text += " and " + plural(out.parameter_inputs, "parameter");
  return text + some_ports("output", out.outputs);
}

}  // namespace

ordered_json origin_json(const OriginPtr& o) {
  if (!o) return nullptr;
  return {{"operator", o->op},
          {"module", o->module_path},
          {"file", o->file},
          {"line", o->line},
          {"text", o->text}};
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

ordered_json found_json(const std::vector<infer::FoundInput>& found) {
  ordered_json list = ordered_json::array();
  for (const infer::FoundInput& in : found) {
    ordered_json axes = ordered_json::array();
    for (const infer::FoundAxis& a : in.axes)
      axes.push_back({{"size", a.size},
                      {"free", a.free},
                      {"grade", a.free ? "free" : "forced"},
                      {"symbol", a.symbol},
                      {"reason", a.reason}});
    list.push_back({{"name", in.name},
                    {"spec", in.spec},
                    {"axes", axes},
                    {"rank", in.rank},
                    {"type", in.type},
                    {"value", in.value},
                    {"rank_grade", infer::grade(in.other_ranks)},
                    {"other_ranks", in.other_ranks},
                    {"type_grade", infer::grade(in.other_types)},
                    {"other_types", in.other_types},
                    {"baked", in.baked}});
  }
  return list;
}

std::string dump(const ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

bool usable(ExitCode code) { return code == ExitCode::Ok || code == ExitCode::NotFullyVerified; }

std::string to_json(const std::vector<Report>& all) {
  ordered_json list = ordered_json::array();
  for (const Report& r : all) list.push_back(report_json(r));
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
  ordered_json j = {{"model", o.load.model}};
  j["output"] = nullptr;
  j["external_data_file"] = nullptr;
  j["state_file"] = nullptr;
  if (written && !o.dry_run) {
    j["output"] = o.output;
    if (weights_outside(r.outcome, o)) j["external_data_file"] = r.outcome.data_file;
    if (!r.outcome.state.empty()) j["state_file"] = r.outcome.state_file;
  }
  j.update(report_json(r));
  j.erase("data_file");  // named above, where they were written
  j.erase("saved_state");
  return j;
}

ordered_json stop_json(const Stop& s) {
  return {
      {"code", s.code}, {"message", s.message}, {"hint", s.hint}, {"place", origin_json(s.origin)}};
}

Stop stop_of(const Failure& f) {
  return {f.exit_code, f.diagnostic_code, f.what(), f.hint, f.origin};
}

std::string stop_text(const Stop& s, size_t most) {
  std::string text = "error: " + safe_block(cut_text(s.message, most));
  if (!s.code.empty()) text += "  [" + s.code + "]";
  text += "\n";
  if (s.origin && s.origin->line > 0)
    text += "      " +
            safe_line((s.origin->module_path.empty() ? "" : s.origin->module_path + "    ") +
                      s.origin->file + ":" + std::to_string(s.origin->line) + "    " +
                      cut_text(s.origin->text, kShownMessage)) +
            "\n";
  if (!s.hint.empty()) text += "hint: " + safe_block(cut_text(s.hint, most)) + "\n";
  return text;
}

std::string summary(const Report& r, const Options& o) {
  const Outcome& out = r.outcome;
  if (!out.stopped_after.empty())
    return safe_line("(not written) " + o.output + ": stopped after " + out.stopped_after);
  std::string text = (o.dry_run ? "(not written) " : "") + o.output + ": opset " +
                     std::to_string(out.opset) + ", " + plural(out.nodes, "node");
  if (out.functions) text += ", " + plural(*out.functions, "function");
  text += ", " + human_bytes(out.written.model_bytes + out.written.data_bytes);
  if (weights_outside(out, o)) text += " (weights in " + out.data_file + ")";
  text += ports(out);
  if (out.precision) text += precision_text(*out.precision);
  if (!out.state.empty()) text += ", saved state in " + out.state_file;
  if (!out.assumptions.empty()) text += ", " + plural(out.assumptions.size(), "assumption");
  if (!out.verification.empty()) text += ", " + out.verification;
  return safe_line(text);
}

std::string verdict(const Report& r, const Options& o) {
  const Outcome& out = r.outcome;
  std::string text = safe_line(
      o.load.model + (o.load.methods.empty() ? ": " : ", method " + o.load.method + ": "));
  if (r.stop)
    return text +
           "not known: the first obstacle ended the run, and what comes after it was not "
           "looked at";
  const auto lowest = [&] {
    return out.lowest_opset ? "; it does from opset " + std::to_string(out.lowest_opset) + " on"
                            : std::string();
  };
  const std::string opset = "at opset " + std::to_string(out.opset);
  if (!r.diagnostics.has_errors())
    return text + "converts " + opset + ", " + plural(out.nodes, "node") + safe_line(ports(out));
  return text + "does not convert " + opset + lowest();
}

std::string opset_table(const Outcome& o) {
  std::string text = "opset  converts  obstacles  nodes\n";
  for (const AtOpset& at : o.opsets) {
    char line[64];
    if (at.converts)
      std::snprintf(line, sizeof line, "%5d  yes       %9s  %5zu\n", static_cast<int>(at.opset), "",
                    at.nodes);
    else
      std::snprintf(line, sizeof line, "%5d  no        %9zu\n", static_cast<int>(at.opset),
                    at.obstacles);
    text += line;
  }
  return text +
         (o.lowest_opset ? "lowest opset that works: " + std::to_string(o.lowest_opset)
                         : "no opset works") +
         "\n";
}

std::string found_line(const Outcome& o) {
  if (o.found.empty()) return {};
  Strings texts;
  for (const infer::FoundInput& in : o.found) texts.push_back(infer::short_text(in));
  return safe_line("inputs found: " + join(texts, " ") + "; --input changes them") + "\n";
}

std::string time_table(const Outcome& o) {
  std::string text;
  StageTime total{"total", 0, 0};
  const auto row = [&](const StageTime& t) {
    char line[96];
    std::snprintf(line, sizeof line, "%-10s %8.3f s  %8s\n", safe_line(t.stage).c_str(), t.seconds,
                  human_bytes(t.peak_bytes).c_str());
    text += line;
  };
  for (const StageTime& t : o.times) {
    row(t);
    total.seconds += t.seconds;
    total.peak_bytes = std::max(total.peak_bytes, t.peak_bytes);
  }
  row(total);
  return text;
}

}  // namespace oe::app
