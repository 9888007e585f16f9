// What came of each method that was asked for, and how all of it is told.
#include "app/results.h"

#include <algorithm>
#include <cstdint>

#include "app/document.h"
#include "app/verify_text.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

std::string heading(const Options& o, const std::string& text) {
  return o.load.methods.empty() || text.empty()
             ? text
             : safe_line("method " + o.load.method) + ":\n" + text;
}

size_t most(bool all) { return all ? kKeptMessage : kShownMessage; }

// `all`: with every place and all of each message, whatever -q says.
std::string problems_of_method(const Report& r, const Options& o, bool all) {
  const int opset = static_cast<int>(r.outcome.opset);
  std::string text;
  // -q keeps errors: a report without one has nothing to say.
  if (all || o.verbosity >= 0 || r.diagnostics.has_errors())
    text =
        render_text(r.diagnostics, opset, all || o.task == Task::Check ? SIZE_MAX : 3, most(all));
  if (all || o.verbosity >= 0) text += found_line(r.outcome);
  return heading(o, r.stop ? text + stop_text(*r.stop, most(all)) : text);
}

// f(report, options) of each, one after the other.
template <class F>
std::string each(const Results& r, const std::vector<Options>& methods, const F& f) {
  std::string text;
  for (size_t i = 0; i < std::min(r.reports.size(), methods.size()); ++i)
    text += f(r.reports[i], methods[i]);
  return text;
}

}  // namespace

void Results::end(Stop s, size_t methods) {
  if (methods > 1) {
    stop = std::move(s);
    return;
  }
  reports.resize(1);
  reports[0].stop = std::move(s);
}

ExitCode Results::exit_code() const {
  if (stop) return stop->exit_code;
  ExitCode code = ExitCode::Ok;
  for (const Report& r : reports) {
    if (!app::usable(r.exit_code())) return r.exit_code();
    if (r.exit_code() != ExitCode::Ok) code = r.exit_code();
  }
  return code;
}

std::string problem_text(const Results& r, const std::vector<Options>& methods, bool all) {
  return each(
             r, methods,
             [&](const Report& one, const Options& o) { return problems_of_method(one, o, all); }) +
         (r.stop ? stop_text(*r.stop, most(all)) : "");
}

std::string result_lines(const Results& r, const std::vector<Options>& methods) {
  return each(r, methods, [&](const Report& one, const Options& o) -> std::string {
    if (o.task == Task::Verify) return verify_text(one, o);
    if (o.task == Task::Convert) return r.usable() ? summary(one, o) + "\n" : "";
    const bool judged = !one.stop || one.stop->exit_code == ExitCode::Unsupported;
    if (!judged) return "";
    return verdict(one, o) + "\n" + (o.all_opsets && !one.stop ? opset_table(one.outcome) : "");
  });
}

std::string time_tables(const Results& r, const std::vector<Options>& methods) {
  return each(r, methods, [](const Report& one, const Options& o) {
    return heading(o, time_table(one.outcome));
  });
}

ordered_json document(const Results& r, const std::vector<Options>& methods) {
  constexpr const char* verbs[] = {"convert", "check", "verify"};
  const Options& o = methods.at(0);
  const RunFacts& f = r.facts;
  ordered_json j = document_head(verbs[static_cast<size_t>(o.task)]);
  const auto text = [](const std::string& s) {
    return s.empty() ? ordered_json() : ordered_json(s);
  };
  j["model"] = {{"path", o.load.model},
                {"bytes", f.model_bytes ? ordered_json(*f.model_bytes) : ordered_json()},
                {"sha256", text(f.model_sha256)}};
  j["options"] = {{"words", f.options}, {"sha256", text(f.options_sha256)}};
  if (o.task == Task::Verify) j["file"] = o.onnx_file;
  j["exit_code"] = static_cast<int>(r.exit_code());
  j["seconds"] = f.seconds;
  j["sandbox"] = r.sandbox ? sandbox_json(*r.sandbox) : ordered_json();
  const bool written = r.usable();
  if (methods.size() == 1) {
    ordered_json only = report_document(r.reports.at(0), o, written);
    only.erase("exit_code");
    j.update(only);
    return j;
  }
  j["methods"] = ordered_json::object();
  for (size_t i = 0; i < r.reports.size(); ++i)
    j["methods"][methods[i].load.method] = report_document(r.reports[i], methods[i], written);
  // Of the run as a whole; each method has its own.
  j["problems"] = ordered_json::array();
  if (r.stop) j["problems"].push_back(stop_json(*r.stop));
  return j;
}

std::string json_document(const Results& r, const std::vector<Options>& methods) {
  return dump(document(r, methods), 2) + "\n";
}

}  // namespace oe::app
