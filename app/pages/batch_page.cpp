#include "app/pages/batch_page.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/batch/plan.h"
#include "app/document.h"
#include "app/pages/page.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

// Calls with the document, and with the part of each method where there are several.
template <class F>
void each_method(const ordered_json& d, const F& f) {
  f(d);
  if (d.contains("methods"))
    for (const auto& [name, method] : d.at("methods").items()) f(method);
}

ordered_json obstacles(const std::vector<Obstacle>& all) {
  ordered_json list = ordered_json::array();
  for (const Obstacle& o : all)
    list.push_back(
        {{"name", o.name}, {"models", o.models}, {"alone", o.alone}, {"first", o.first}});
  return list;
}

std::string link_of(const BatchLine& line, const std::string& file, const std::string& id) {
  if (line.pages.empty()) return {};
  const fs::path page = page_of(line, id);
  std::error_code error;
  if (!fs::exists(page, error)) return {};
  return fs::absolute(page, error)
      .lexically_relative(fs::absolute(fs::path(file), error).parent_path())
      .generic_string();
}

ordered_json row_of(const ordered_json& d) {
  uint64_t nodes = 0, bytes = 0, opset = 0, peak = 0;
  ordered_json error, verdict, latency, problem, used = ordered_json::array();
  std::set<std::string> operators, codes;
  each_method(d, [&](const ordered_json& m) {
    nodes += m.value("nodes", 0);
    bytes += m.value("model_bytes", 0) + m.value("data_bytes", 0);
    opset = std::max<uint64_t>(opset, m.value("opset", 0));
    if (m.contains("stages"))
      for (const ordered_json& s : m.at("stages"))
        peak = std::max(peak, s.at("peak_bytes").get<uint64_t>());
    if (const ordered_json v = m.value("verification", ordered_json()); v.is_object()) {
      verdict = v.at("verdict");
      error = v.at("largest_error");
      latency = v.value("latency_ms", ordered_json());
    }
    if (m.contains("operators"))
      for (const auto& [op, count] : m.at("operators").items()) used.push_back(op);
    for (const ordered_json& p : m.at("problems")) {
      if (p.at("severity") != "error") continue;
      if (const std::string op = p.at("operator"); !op.empty()) operators.insert(op);
      codes.insert(p.at("code").get<std::string>());
      problem = p.at("message");
    }
  });
  return {{"model", d.contains("model") ? d.at("model").at("path") : d.at("file")},
          {"status", name_of(status_in(d))},
          {"opset", opset},
          {"nodes", nodes},
          {"bytes", bytes},
          {"seconds", d.value("seconds", 0.0)},
          {"peak", peak},
          {"verdict", verdict},
          {"error", error},
          {"latency", latency},
          {"lowest", d.value("lowest_opset", ordered_json())},
          {"blocked_by", operators},
          {"codes", codes},
          {"operators", used},
          {"problem", problem}};
}

}  // namespace

void write_batch_page(const BatchLine& line, const std::string& file, const EachDocument& each,
                      const BatchTotals& t, std::ostream& out) {
  ordered_json rows = ordered_json::array(), counts = ordered_json::object();
  each([&](const ordered_json& d) {
    rows.push_back(row_of(d));
    rows.back()["page"] = link_of(line, file, d.at("batch").at("id"));
  });
  for (const auto& [status, n] : t.count) counts[name_of(status)] = n;
  write_page(PageKind::Batch, "Batch - onnx-export",
             {{"head", document_head("batch")},
              {"counts", counts},
              {"seconds", t.seconds},
              {"exit_code", static_cast<int>(t.exit_code)},
              {"baseline", line.baseline},
              {"worse", t.worse},
              {"not_run", t.not_run},
              {"obstacles", obstacles(t.operators)},
              {"causes", obstacles(t.causes)},
              {"rows", rows}},
             out);
}

}  // namespace oe::app
