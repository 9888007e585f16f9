#include "app/batch/batch_report.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>

#include "app/document.h"
#include "app/folder.h"
#include "app/pages/batch_page.h"
#include "app/problems.h"
#include "app/report_files.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

std::string model_of(const ordered_json& d) {
  return d.contains("model") ? d.at("model").at("path") : d.at("file");
}

// Errors of all methods, what ended the run last.
std::vector<ordered_json> errors_of(const ordered_json& d) {
  std::vector<ordered_json> all;
  const auto add = [&](const ordered_json& problems) {
    std::ranges::copy_if(problems, std::back_inserter(all),
                         [](const ordered_json& p) { return p.at("severity") == "error"; });
  };
  if (d.contains("methods"))
    for (const auto& [name, method] : d.at("methods").items()) add(method.at("problems"));
  add(d.at("problems"));
  return all;
}

// Of the only method, or the sum over all.
uint64_t sum_of(const ordered_json& d, const char* key) {
  if (d.contains(key)) return d.at(key);
  uint64_t sum = 0;
  if (d.contains("methods"))
    for (const auto& [name, method] : d.at("methods").items()) sum += method.value(key, 0);
  return sum;
}

std::string problem_and_code(const ordered_json& p) {
  return short_problem(p) + " [" + std::string(p.at("code")) + "]";
}

void count(const std::set<std::string>& names, const std::string& model,
           std::map<std::string, Obstacle>& to) {
  for (const std::string& name : names) {
    Obstacle& o = to.try_emplace(name, Obstacle{name, 0, 0, model}).first->second;
    ++o.models;
    o.alone += names.size() == 1;
  }
}

std::vector<Obstacle> most_first(const std::map<std::string, Obstacle>& all) {
  std::vector<Obstacle> list;
  for (const auto& [name, o] : all) list.push_back(o);
  std::ranges::stable_sort(list, std::ranges::greater{},
                           [](const Obstacle& o) { return std::pair(o.models, o.alone); });
  return list;
}

std::string counts_text(const BatchTotals& t) {
  size_t all = 0;
  std::vector<std::string> parts;
  for (const auto& [status, n] : t.count) {
    all += n;
    parts.push_back(std::to_string(n) + " " + name_of(status));
  }
  if (!t.not_run.empty()) parts.push_back(std::to_string(t.not_run.size()) + " not run");
  return plural(all + t.not_run.size(), "model") + ": " + join(parts, ", ");
}

// Text between tags, and in attributes. Control characters are visible: XML has none.
std::string xml(const std::string& text) { return safe_line(text, TextTarget::Html); }
std::string md(const std::string& text) { return safe_line(text, TextTarget::Markdown); }

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", s);
  return text;
}

void write_junit(const EachDocument& each, const BatchTotals& t, std::ostream& out) {
  const auto of = [&](ItemStatus s) { return t.count.contains(s) ? t.count.at(s) : 0; };
  size_t tests = t.not_run.size();
  for (const auto& [status, n] : t.count) tests += n;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      << "  <testsuite name=\"onnx-export\" tests=\"" << tests << "\" failures=\""
      << of(ItemStatus::Failed) << "\" errors=\"0\" skipped=\""
      << of(ItemStatus::Skipped) + t.not_run.size() << "\" time=\"" << seconds_text(t.seconds)
      << "\">\n";
  each([&](const ordered_json& d) {
    const fs::path model = model_of(d);
    out << "    <testcase classname=\"" << xml(model.parent_path().string()) << "\" name=\""
        << xml(model.filename().string()) << "\" file=\"" << xml(model.string()) << "\" time=\""
        << seconds_text(d.value("seconds", 0.0)) << "\"";
    const ItemStatus status = status_in(d);
    const std::vector<ordered_json> errors = errors_of(d);
    if (status == ItemStatus::Skipped) {
      out << "><skipped message=\"" << (errors.empty() ? "" : xml(problem_and_code(errors.back())))
          << "\"/></testcase>\n";
    } else if (status == ItemStatus::Failed) {
      out << ">\n      <failure type=\""
          << (errors.empty() ? "" : xml(errors.back().at("code").get<std::string>()))
          << "\" message=\"" << (errors.empty() ? "" : xml(problem_and_code(errors.back())))
          << "\">";
      for (const ordered_json& e : errors) {
        out << xml(problem_and_code(e)) << "\n";
        const ordered_json& place = e.at("place");
        if (place.is_object() && place.at("line") > 0)
          out << "    " << xml(place.at("file")) << ":" << place.at("line") << "    "
              << xml(place.at("text")) << "\n";
        if (e.at("hint") != "") out << "hint: " << xml(e.at("hint")) << "\n";
      }
      out << "</failure>\n    </testcase>\n";
    } else {
      out << "/>\n";
    }
  });
  for (const std::string& model : t.not_run)
    out << "    <testcase name=\"" << xml(model)
        << "\"><skipped message=\"not run\"/></testcase>\n";
  out << "  </testsuite>\n</testsuites>\n";
}

void write_markdown(const EachDocument& each, const BatchTotals& t, std::ostream& out) {
  out << "# onnx-export batch\n\n" << md(counts_text(t)) << ".\n";
  const auto table = [&](const char* title, const char* what, const std::vector<Obstacle>& all) {
    if (all.empty()) return;
    out << "\n## " << title << "\n\n| " << what << " | models | only this | for example |\n"
        << "|---|---|---|---|\n";
    for (const Obstacle& o : all)
      out << "| " << md(o.name) << " | " << o.models << " | " << o.alone << " | " << md(o.first)
          << " |\n";
  };
  table("Operators that block models", "operator", t.operators);
  table("Failures by cause", "code", t.causes);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out << "\n## " << title << "\n\n";
    for (const std::string& line : lines) out << "- " << md(line) << "\n";
  };
  list("Worse than the baseline", t.worse);
  list("Not run", t.not_run);
  out << "\n## Models\n\n| model | status | opset | nodes | bytes | largest error | seconds | "
         "problem |\n|---|---|---|---|---|---|---|---|\n";
  each([&](const ordered_json& d) {
    const std::vector<ordered_json> errors = errors_of(d);
    const ordered_json v = d.value("verification", ordered_json());
    out << "| " << md(model_of(d)) << " | " << name_of(status_in(d)) << " | " << sum_of(d, "opset")
        << " | " << sum_of(d, "nodes") << " | "
        << sum_of(d, "model_bytes") + sum_of(d, "data_bytes") << " | "
        << (v.is_object() ? v.at("largest_error").dump() : "") << " | "
        << seconds_text(d.value("seconds", 0.0)) << " | "
        << (errors.empty() ? "" : md(problem_and_code(errors.back()))) << " |\n";
  });
}

void write_sarif(const BatchLine& line, const EachDocument& each, const BatchTotals& t,
                 std::ostream& out) {
  std::vector<SarifProblem> all;
  each([&](const ordered_json& d) {
    if (d.contains("methods"))
      for (const auto& [name, method] : d.at("methods").items())
        for (ordered_json p : method.at("problems")) {
          p["method"] = name;
          all.push_back({std::move(p), model_of(d)});
        }
    for (const ordered_json& p : d.at("problems")) all.push_back({p, model_of(d)});
  });
  out << sarif_document(all, static_cast<int>(t.exit_code), line.root);
}

void write_documents(const EachDocument& each, bool lines, std::ostream& out) {
  const char* between = lines ? "" : "[\n";
  each([&](const ordered_json& d) {
    out << between << dump(d, -1) << (lines ? "\n" : "");
    between = lines ? "" : ",\n";
  });
  if (!lines) out << (*between == '[' ? "[]\n" : "\n]\n");
}

}  // namespace

BatchTotals totals_of(const EachDocument& each) {
  BatchTotals t;
  std::map<std::string, Obstacle> operators, causes;
  each([&](const ordered_json& d) {
    const ItemStatus status = status_in(d);
    ++t.count[status];
    t.seconds += d.value("seconds", 0.0);
    if (const ordered_json lowest = d.value("lowest_opset", ordered_json()); lowest.is_number())
      ++t.lowest_opsets[lowest];
    if (status != ItemStatus::Failed) return;
    std::set<std::string> ops, codes;
    for (const ordered_json& e : errors_of(d)) {
      if (const std::string op = e.at("operator"); !op.empty()) ops.insert(op);
      codes.insert(e.at("code").get<std::string>());
    }
    count(ops, model_of(d), operators);
    count(codes, model_of(d), causes);
  });
  t.operators = most_first(operators);
  t.causes = most_first(causes);
  return t;
}

std::string totals_text(const BatchTotals& t, bool check) {
  std::string text = counts_text(t) + "\n";
  constexpr size_t kShown = 10;
  const size_t shown = check ? SIZE_MAX : kShown;
  const auto list = [&](const std::string& title, const std::vector<Obstacle>& all) {
    if (all.empty()) return;
    text += title + "\n";
    for (size_t i = 0; i < std::min(shown, all.size()); ++i)
      text += safe_line("  " + all[i].name + "  " + plural(all[i].models, "model") +
                        (all[i].alone ? ", in " + std::to_string(all[i].alone) + " nothing else"
                                      : std::string())) +
              "\n";
    if (all.size() > shown) text += "  and " + std::to_string(all.size() - shown) + " more\n";
  };
  list("operators that block models:", t.operators);
  list("causes (onnx-export explain CODE):", t.causes);
  if (check)
    for (const auto& [opset, models] : t.lowest_opsets)
      text +=
          "convert from opset " + std::to_string(opset) + " on: " + plural(models, "model") + "\n";
  for (const std::string& line : t.worse) text += safe_line("worse: " + line) + "\n";
  return text;
}

void write_reports(const BatchLine& line, const EachDocument& each, const BatchTotals& t) {
  for (const std::string& file : line.reports)
    write_report(file, [&](std::ostream& out) {
      const std::string ending = fs::path(file).extension();
      if (ending == ".md")
        write_markdown(each, t, out);
      else if (ending == ".html")
        write_batch_page(line, file, each, t, out);
      else if (ending == ".xml")
        write_junit(each, t, out);
      else if (ending == ".sarif")
        write_sarif(line, each, t, out);
      else
        write_documents(each, ending == ".jsonl", out);
    });
}

}  // namespace oe::app
