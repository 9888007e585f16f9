// The words that options take.
#include "app/choices.h"

#include <map>

#include "lib/optimize/pass_list.h"

namespace oe::app {
namespace {

Strings pass_names() {
  Strings names;
  for (const optimize::PassInfo& p : optimize::kPasses) names.emplace_back(p.name);
  return names;
}

Strings print_points() {
  Strings points = {"after:capture",   "after:lower",      "after:optimize", "after:legalize",
                    "after:precision", "after:name",       "before:lower",   "before:optimize",
                    "before:legalize", "before:precision", "before:name"};
  for (const std::string& name : pass_names()) points.push_back("after:" + name);
  return points;
}

}  // namespace

const Strings& choices_of(std::string_view option) {
  static const std::map<std::string_view, Strings> all = {
      {"--checker", {"full", "basic", "off"}},
      {"--color", {"auto", "always", "never"}},
      {"--device", {"cpu", "cuda"}},
      {"--diag-format", {"text", "json", "sarif"}},
      {"--external-data", {"auto", "always", "never", "in-place"}},
      {"--format", {"text", "md", "json"}},
      {"--guess", {"auto", "off", "sure"}},
      {"--operator-export-type",
       {"onnx", "onnx-aten", "onnx-aten-fallback", "raw", "onnx-fallthrough"}},
      {"--optimize", {optimize::kLevelNames.begin(), optimize::kLevelNames.end()}},
      {"--disable-pass", pass_names()},
      {"--print-ir", print_points()},
      {"--keep-initializers-as-inputs", {"auto", "yes", "no"}},
      {"--mode", {"auto", "script", "trace"}},
      {"--provider", {"cpu", "cuda"}},
      {"--progress", {"auto", "always", "never"}},
      {"--sandbox", {"auto", "require", "off"}},
      {"--state", {"discard", "outputs", "io"}},
      {"--stop-after", {"load", "capture", "lower", "optimize", "legalize", "check"}},
      {"--target", {"ort", "onnx"}},
      {"--to", {"fp16", "bf16"}},
      {"--training", {"eval", "preserve", "train"}},
      {"--verify", {"ort", "off"}},
      {"SHELL", {"bash", "zsh", "fish"}}};
  static const Strings none;
  const auto it = all.find(option);
  return it == all.end() ? none : it->second;
}

size_t choose(const char* option, const std::string& text) {
  return choose(option, text, choices_of(option));
}

}  // namespace oe::app
