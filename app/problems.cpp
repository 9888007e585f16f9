// The problems of a run in the formats that other programs read (--diag-format).
#include "app/problems.h"

#include <algorithm>
#include <filesystem>

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

// Below `root` the path from there, so that a forge finds the file.
std::string below(const std::string& path, const std::string& root) {
  if (root.empty() || path.empty()) return path;
  namespace fs = std::filesystem;
  const fs::path relative = fs::absolute(path).lexically_normal().lexically_relative(
      fs::absolute(root).lexically_normal());
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

ordered_json location(const ordered_json& place, const std::string& model,
                      const std::string& root) {
  const bool known = place.is_object() && place["line"] > 0 && place["file"] != "";
  const std::string file = known ? place["file"].get<std::string>() : model;
  ordered_json physical = {{"artifactLocation", {{"uri", uri(below(file, root))}}}};
  if (known)
    physical["region"] = {{"startLine", place["line"]}, {"snippet", {{"text", place["text"]}}}};
  ordered_json all = {{"physicalLocation", physical}};
  if (place.is_object() && place["module"] != "")
    all["logicalLocations"] =
        ordered_json::array({{{"fullyQualifiedName", place["module"]}, {"kind", "module"}}});
  return all;
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

// Everything that was reported, what ended the run last; with the method, where there are several.
std::vector<ordered_json> problems_of(const Results& r, const std::vector<Options>& methods) {
  std::vector<ordered_json> all;
  const auto add = [&](ordered_json problem, const std::string& method) {
    if (!method.empty()) problem["method"] = method;
    all.push_back(std::move(problem));
  };
  for (size_t i = 0; i < r.reports.size(); ++i) {
    const std::string method = methods.size() > 1 ? methods.at(i).load.method : "";
    for (const Diagnostic& d : r.reports[i].diagnostics.all()) add(problem_json(d), method);
    if (const auto& s = r.reports[i].stop) add(stop_json(*s), method);
  }
  if (r.stop) add(stop_json(*r.stop), "");
  return all;
}

ordered_json result(const SarifProblem& p, size_t rule_index, const std::string& root) {
  const ordered_json& d = p.problem;
  const std::string op = d.at("operator"), hint = d.at("hint");
  std::string text = (op.empty() ? "" : op + ": ") + d.at("message").get<std::string>();
  if (!hint.empty()) text += "\n" + hint;
  ordered_json j = {{"ruleId", d.at("code")},
                    {"ruleIndex", rule_index},
                    {"level", d.at("severity")},
                    {"message", {{"text", text}}},
                    {"locations", ordered_json::array()},
                    {"properties", {{"operator", op}, {"needs_opset", d.at("needs_opset")}}}};
  if (d.contains("method")) j["properties"]["method"] = d["method"];
  // A command line that cannot be read names no model.
  if (!p.model.empty()) j["locations"].push_back(location(d.at("place"), p.model, root));
  return j;
}

}  // namespace

std::string problem_lines(const Results& r, const std::vector<Options>& methods) {
  std::string out;
  for (const ordered_json& problem : problems_of(r, methods)) out += dump(problem, -1) + "\n";
  return out;
}

std::string sarif_document(const Results& r, const std::vector<Options>& methods) {
  std::vector<SarifProblem> all;
  for (ordered_json& problem : problems_of(r, methods))
    all.push_back({std::move(problem), methods.at(0).load.model});
  return sarif_document(all, static_cast<int>(r.exit_code()), methods.at(0).root);
}

std::string sarif_document(const std::vector<SarifProblem>& problems, int exit_code,
                           const std::string& root) {
  ordered_json rules = ordered_json::array(), results = rules;
  std::vector<std::string> codes;
  for (const SarifProblem& p : problems) {
    const std::string code = p.problem.at("code");
    const auto known = std::ranges::find(codes, code);
    const auto index = static_cast<size_t>(known - codes.begin());
    if (known == codes.end()) {
      codes.push_back(code);
      rules.push_back(rule(code));
    }
    results.push_back(result(p, index, root));
  }
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
