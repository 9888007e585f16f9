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
    VerbEntry{"check", "all that keeps a file from being converted, at one opset or at all",
              &make<Check>, true},
    VerbEntry{"verify",
              "whether an ONNX file, whoever made it, computes what a TorchScript file does",
              &make<Verify>, true},
    VerbEntry{"inspect", "what is in a file: methods, inputs, weights, modules, operators",
              &make<Inspect>, false, true},
    VerbEntry{"batch", "many models, each in a worker of its own, with a journal and reports",
              &make<Batch>, true},
    VerbEntry{"lint", "what is wrong, or doubtful, with an ONNX model", &make<Lint>, false, true},
    VerbEntry{"diff", "what differs between two ONNX models", &make<Diff>, false, true},
    VerbEntry{"list-ops", "every operator, from which opset it converts and what it becomes",
              &make<ListOps>},
    VerbEntry{"explain", "what a problem's code means, or what becomes of an operator",
              &make<Explain>},
    VerbEntry{"doctor", "which parts are there: LibTorch, ONNX, ONNX Runtime; what is missing",
              &make<Doctor>, false, true},
    VerbEntry{"completion", "what bash, zsh or fish needs to complete the command line",
              &make<Completion>},
    VerbEntry{"man", "the manual page: onnx-export man | man -l -", &make<Man>},
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
  app.add_option("--color", color, "auto, always or never (default auto)")->type_name("WHEN");
  app.add_flag("-h,--help", help, "this text");
}

std::unique_ptr<Verb> read_verb(const VerbEntry& entry, const Strings& arguments,
                                std::string& text) {
  VerbLine line(entry);
  parse_strictly(line.app, arguments, line.app.get_name() + " --help shows how to call it");
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
