// The words that options take.
#include "app/choices.h"

#include <map>

namespace oe::app {

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
      {"--print-ir",
       {"after:capture", "after:lower", "after:optimize", "after:legalize", "after:precision",
        "after:name", "before:lower", "before:optimize", "before:legalize", "before:precision",
        "before:name"}},
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
