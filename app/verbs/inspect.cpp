// `inspect FILE`: what is in a .pt or .onnx file.
#include "app/verbs/inspect.h"

#include "app/choices.h"
#include "app/document.h"
#include "app/report.h"
#include "app/verbs/archive_text.h"
#include "lib/archive/method_source.h"
#include "lib/archive/recognise.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

// "onnx-export net.pt --input x:1x4@f32": a command that converts.
std::string paste_line(const Inspect& verb, const std::vector<infer::FoundInput>& found) {
  std::string line = "onnx-export " + shell_word(verb.file);
  if (!verb.method.empty()) line += " --method " + shell_word(verb.method);
  for (const infer::FoundInput& in : found) line += " --input " + shell_word(in.spec);
  return line;
}

// "x:0,2 h:1": the axes that can have other sizes, as --dynamic-axes takes them.
std::string free_axes(const std::vector<infer::FoundInput>& found) {
  Strings inputs;
  for (const infer::FoundInput& in : found) {
    Strings axes;
    for (size_t i = 0; i < in.axes.size(); ++i)
      if (in.axes[i].free) axes.push_back(std::to_string(i));
    if (!axes.empty()) inputs.push_back(in.name + ":" + join(axes, ","));
  }
  return join(inputs, " ");
}

}  // namespace

void Inspect::options(CLI::App& app) {
  app.add_option("FILE", file, "TorchScript file or ONNX model")->type_name("");
  app.add_option("--guess", guess_,
                 "off: list the content of the file and run nothing; auto: also run the method in "
                 "LibTorch to infer its inputs (default off)")
      ->type_name("WHEN");
  app.add_option("--method", method, "Method whose inputs --guess=auto infers (default forward)")
      ->type_name("NAME");
  app.add_option("--source", source, "Print only the source of a method: forward, layer1.0.forward")
      ->type_name("METHOD");
  app.add_flag("--tensors", tensors, "List every tensor, not only totals (--json always does)");
  app.add_flag("--json", json, "Print one JSON document");
}

void Inspect::read() {
  if (file.empty()) usage("inspect: no FILE given", "onnx-export inspect model.pt");
  guess = !guess_.empty() && choose("--guess", guess_, {"auto", "off"}) == 0;
  onnx = archive::is_onnx(file);
  if (!source.empty() && json) usage("--source and --json contradict each other");
  if (onnx && !source.empty()) usage("--source: an ONNX model has no source");
  if (onnx && !method.empty()) usage("--method: an ONNX model has no methods");
  if (!method.empty() && !guess)
    usage("--method: specifies the method whose inputs --guess=auto infers", "add --guess=auto");
}

std::optional<ExitCode> Inspect::run(std::ostream& out) {
  if (onnx) return std::nullopt;
  archive::require_torchscript(file);
  const archive::Archive a(file);
  const archive::Summary s = archive::summarise(a);
  if (!source.empty()) {
    out << archive::method_source(a, s, source);
    return ExitCode::Ok;
  }
  if (json)
    document_ = archive_json(a, s);
  else
    out << archive_text(a, s, tensors)
        << (guess_.empty() ? labelled("inputs", {"--guess=auto runs the model to find them"}) : "")
        << std::flush;
  if (guess) return std::nullopt;
  if (json) out << dump(verb_document("inspect", document_, ExitCode::Ok), 2) << "\n";
  return ExitCode::Ok;
}

void Inspect::finish(Report& r, std::ostream& out) {
  if (onnx) return;
  const std::vector<infer::FoundInput>& found = r.outcome.found;
  const std::string problem = r.stop ? first_line(r.stop->message) : "";
  const std::string line = r.stop ? "" : paste_line(*this, found);
  if (json) {
    document_["inputs"] = {{"command", line},
                           {"problem", problem},
                           {"hint", r.stop ? r.stop->hint : ""},
                           {"list", found_json(found)}};
    out << dump(verb_document("inspect", document_, ExitCode::Ok), 2) << "\n";
  } else if (r.stop) {
    const std::string& hint = r.stop->hint;
    out << labelled("inputs", {"not found: " + problem + (hint.empty() ? "" : " (" + hint + ")")});
  } else {
    const std::string free = free_axes(found);
    Strings lines = {line};
    if (!free.empty()) lines.push_back("free axes, which --dynamic-axes makes dynamic: " + free);
    out << labelled("inputs", lines);
  }
  // What does not run can be inspected all the same.
  r.stop.reset();
  r.diagnostics = {};
  r.outcome.exit_code = ExitCode::Ok;
}

}  // namespace oe::app
