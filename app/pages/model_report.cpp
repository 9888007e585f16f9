#include "app/pages/model_report.h"

#include <filesystem>

#include "app/pages/page.h"
#include "app/report_files.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

std::string md(const std::string& text) { return safe_line(text, TextTarget::Markdown); }

ordered_json graphs_of(const ModelRun& run) {
  ordered_json graphs = ordered_json::object();
  for (size_t i = 0; i < run.results.reports.size(); ++i)
    graphs[run.line.methods.at(i).load.method] = graph_json(run.results.reports[i].outcome.graph);
  return graphs;
}

void write_ports(const char* title, const std::vector<Port>& ports, std::ostream& out) {
  if (ports.empty()) return;
  out << "\n## " << title << "\n\n";
  for (const Port& p : ports) out << "- " << md(to_string(p)) << "\n";
}

void write_markdown(const ModelRun& run, std::ostream& out) {
  const Results& r = run.results;
  out << "# " << md(run.line.options.load.model) << "\n\nExit code "
      << static_cast<int>(r.exit_code()) << ".\n";
  for (size_t i = 0; i < r.reports.size(); ++i) {
    const Report& one = r.reports[i];
    const Options& o = run.line.methods.at(i);
    if (r.reports.size() > 1) out << "\n# Method " << md(o.load.method) << "\n";
    out << "\n" << md(one.stop ? one.stop->message : summary(one, o)) << "\n";
    write_ports("Inputs", one.outcome.inputs, out);
    write_ports("Outputs", one.outcome.outputs, out);
    if (!one.outcome.verification.empty())
      out << "\n## Verification\n\n" << md(one.outcome.verification) << "\n";
    if (!one.outcome.assumptions.empty()) out << "\n## Assumptions\n\n";
    for (const std::string& a : one.outcome.assumptions) out << "- " << md(a) << "\n";
    if (!one.diagnostics.all().empty()) out << "\n## Problems\n\n";
    for (const Diagnostic& d : one.diagnostics.all())
      out << "- " << d.code << ": " << md((d.op.empty() ? "" : d.op + ": ") + d.message)
          << (d.origin && d.origin->line > 0
                  ? " (" + md(d.origin->file) + ":" + std::to_string(d.origin->line) + ")"
                  : "")
          << "\n";
  }
  if (r.stop) out << "\n" << r.stop->code << ": " << md(r.stop->message) << "\n";
}

}  // namespace

void write_model_reports(const ModelRun& run) {
  for (const std::string& file : run.line.options.reports) {
    const std::string ending = std::filesystem::path(file).extension();
    write_report(file, [&](std::ostream& out) {
      if (ending == ".md") return write_markdown(run, out);
      const ordered_json document = app::document(run.results, run.line.methods);
      if (ending == ".json") {
        out << dump(document, 2) << "\n";
        return;
      }
      const std::string model =
          std::filesystem::path(run.line.options.load.model).filename().string();
      write_page(PageKind::Model, model + " - onnx-export",
                 {{"document", document}, {"graphs", graphs_of(run)}}, out);
    });
  }
}

}  // namespace oe::app
