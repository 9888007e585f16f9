// The table of verbs, and how their arguments are read.
#include <array>
#include <filesystem>

#include "app/choices.h"
#include "app/verbs/batch.h"
#include "app/verbs/completion.h"
#include "app/verbs/diff.h"
#include "app/verbs/doctor.h"
#include "app/verbs/explain.h"
#include "app/verbs/inspect.h"
#include "app/verbs/lint.h"
#include "app/verbs/list_ops.h"
#include "app/verbs/man.h"
#include "app/verbs/model_verbs.h"
#include "app/verbs/verb.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

constexpr std::array kVerbs = {
    VerbEntry{"check", "List everything that blocks conversion, at one opset or at all",
              &make<Check>, true},
    VerbEntry{"verify", "Compare an ONNX file, made by any tool, with its TorchScript file",
              &make<Verify>, true},
    VerbEntry{"inspect", "Show the content of a file: methods, inputs, weights, modules, operators",
              &make<Inspect>, false, true},
    VerbEntry{"batch", "Convert many models, each in its own worker, with a journal and reports",
              &make<Batch>, true},
    VerbEntry{"lint", "Report errors and doubtful constructs in an ONNX model", &make<Lint>, false,
              true},
    VerbEntry{"diff", "Show the differences between two ONNX models", &make<Diff>, false, true},
    VerbEntry{"list-ops", "List operators, each with its lowest opset and its ONNX form",
              &make<ListOps>},
    VerbEntry{"explain", "Explain the code of a message, or the conversion of an operator",
              &make<Explain>},
    VerbEntry{"doctor", "Report which parts are installed: LibTorch, ONNX, ONNX Runtime",
              &make<Doctor>, false, true},
    VerbEntry{"completion", "Print a completion script for bash, zsh or fish", &make<Completion>},
    VerbEntry{"man", "Print the manual page: onnx-export man | man -l -", &make<Man>},
};

}  // namespace

std::span<const VerbEntry> verbs() { return kVerbs; }

const VerbEntry* find_verb(std::string_view word) {
  for (const VerbEntry& v : kVerbs)
    if (v.name == word) return &v;
  return nullptr;
}

void refuse_misspelt_verb(const Strings& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return;
  const std::string& word = arguments[0];
  std::error_code error;
  if (word == "convert" || find_verb(word) || std::filesystem::exists(word, error)) return;
  Strings known = {"convert"};
  for (const VerbEntry& v : kVerbs) known.emplace_back(v.name);
  const std::string hint = did_you_mean(word, known);
  if (!hint.empty()) usage("there is no verb and no file '" + word + "'", hint);
}

VerbLine::VerbLine(const VerbEntry& entry)
    : verb(entry.make()),
      app("onnx-export " + std::string(entry.name) + ": " + std::string(entry.what),
          "onnx-export " + std::string(entry.name)) {
  set_up(app);
  verb->options(app);
  if (entry.converts) return;
  if (entry.limited) add_limit_options(app, limits, "Safety and limits");
  app.add_option("--color", color, "Color messages: auto, always or never (default auto)")
      ->type_name("WHEN");
  app.add_flag("-h,--help", help, "Print this text");
}

std::unique_ptr<Verb> read_verb(const VerbEntry& entry, const Strings& arguments,
                                std::string& text) {
  VerbLine line(entry);
  parse_strictly(line.app, arguments, line.app.get_name() + " --help shows the usage");
  if (line.help) {
    text = help_text(line.app);
    return nullptr;
  }
  choose("--color", line.color);
  line.verb->limits = read_limits(line.limits);
  line.verb->read();
  return std::move(line.verb);
}

}  // namespace oe::app
