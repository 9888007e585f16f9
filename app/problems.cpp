// The problems of a run in the formats that other programs read (--diag-format).
#include "app/problems.h"

#include <algorithm>

#include "app/json.h"
#include "app/version.h"
#include "lib/support/error_codes.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

// A path as a URI reference: all that such a reference may not hold is escaped.
std::string uri(const std::string& path) {
  constexpr std::string_view kept = "-._~/!$&'()*+,;=@";
  constexpr const char* digits = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : path) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (letter || kept.find(static_cast<char>(c)) != std::string_view::npos)
      out += static_cast<char>(c);
    else
      out += {'%', digits[c >> 4], digits[c & 15]};
  }
  return out;
}

ordered_json location(const Diagnostic& d, const std::string& model) {
  const Origin* o = d.origin.get();
  const bool known = o && o->line > 0 && !o->file.empty();
  ordered_json physical = {{"artifactLocation", {{"uri", uri(known ? o->file : model)}}}};
  if (known) physical["region"] = {{"startLine", o->line}, {"snippet", {{"text", o->text}}}};
  ordered_json place = {{"physicalLocation", physical}};
  if (o && !o->module_path.empty())
    place["logicalLocations"] =
        ordered_json::array({{{"fullyQualifiedName", o->module_path}, {"kind", "module"}}});
  return place;
}

ordered_json rule(const std::string& code) {
  const auto codes = error_codes();
  const auto known = std::ranges::find(codes, code, &ErrorCode::code);
  ordered_json r = {{"id", code}};
  if (known != codes.end()) {
    r["shortDescription"] = {{"text", known->meaning}};
    r["help"] = {{"text", known->cure}};
  }
  return r;
}

// With the method it is of, where there are several.
struct Problem : Diagnostic {
  std::string method;
};

Problem problem_of(const Stop& s, const std::string& method) {
  return {{s.code, Severity::Error, "", s.message, s.hint, s.origin, 0}, method};
}

// Everything that was reported, what ended the run last.
std::vector<Problem> problems_of(const Results& r, const std::vector<Options>& methods) {
  std::vector<Problem> all;
  for (size_t i = 0; i < r.reports.size(); ++i) {
    const std::string method = methods.size() > 1 ? methods.at(i).load.method : "";
    for (const Diagnostic& d : r.reports[i].diagnostics.all()) all.push_back({d, method});
    if (const auto& s = r.reports[i].stop) all.push_back(problem_of(*s, method));
  }
  if (r.stop) all.push_back(problem_of(*r.stop, ""));
  return all;
}

ordered_json result(const Problem& d, size_t rule_index, const std::string& model) {
  constexpr const char* levels[] = {"error", "warning", "note"};
  std::string text = (d.op.empty() ? "" : d.op + ": ") + d.message;
  if (!d.hint.empty()) text += "\n" + d.hint;
  ordered_json j = {{"ruleId", d.code},
                    {"ruleIndex", rule_index},
                    {"level", levels[static_cast<size_t>(d.severity)]},
                    {"message", {{"text", text}}},
                    {"locations", ordered_json::array()},
                    {"properties", {{"operator", d.op}, {"needs_opset", d.needs_opset}}}};
  if (!d.method.empty()) j["properties"]["method"] = d.method;
  // A command line that cannot be read names no model.
  if (!model.empty()) j["locations"].push_back(location(d, model));
  return j;
}

}  // namespace

std::string problem_lines(const Results& r, const std::vector<Options>& methods) {
  std::string out;
  for (const Problem& d : problems_of(r, methods)) {
    ordered_json line = problem_json(d);
    if (!d.method.empty()) line["method"] = d.method;
    out += dump(line, -1) + "\n";
  }
  return out;
}

std::string sarif_document(const Results& r, const std::vector<Options>& methods) {
  ordered_json rules = ordered_json::array(), results = rules;
  std::vector<std::string> codes;
  for (const Problem& d : problems_of(r, methods)) {
    const auto known = std::ranges::find(codes, d.code);
    const auto index = static_cast<size_t>(known - codes.begin());
    if (known == codes.end()) {
      codes.push_back(d.code);
      rules.push_back(rule(d.code));
    }
    results.push_back(result(d, index, methods.at(0).load.model));
  }
  const int exit_code = static_cast<int>(r.exit_code());
  const ordered_json driver = {{"name", "onnx-export"}, {"version", kVersion}, {"rules", rules}};
  const ordered_json invocation = {{"executionSuccessful", exit_code == 0},
                                   {"exitCode", exit_code}};
  const ordered_json run = {{"tool", {{"driver", driver}}},
                            {"invocations", ordered_json::array({invocation})},
                            {"results", results}};
  return dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", ordered_json::array({run})}},
              2) +
         "\n";
}

}  // namespace oe::app
