// Several methods of one file (--method a,b): what each of them is told. Standard library only.
#include "lib/options/methods.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe {
namespace {

namespace fs = std::filesystem;

// The part of the options that is one method's own.
class Share {
 public:
  Share(const Options& all, const std::string& method) : all_(all), method_(method) {}

  Options options() const {
    Options o = all_;
    o.load.method = method_;
    o.input.specs = specs("--input", all_.input.specs);
    o.input.alternatives.clear();
    for (const std::vector<InputSpec>& further : all_.input.alternatives)
      if (auto own = specs("--alt-input", further); !own.empty())
        o.input.alternatives.push_back(std::move(own));
    o.input.constants.clear();
    for (const std::string& name : all_.input.constants)
      if (const auto own = behind_method("--constant", name)) o.input.constants.push_back(*own);
    axes(o.input.dynamic_axes);
    o.verification.atol = tolerances("--atol", all_.verification.atol);
    o.verification.rtol = tolerances("--rtol", all_.verification.rtol);
    o.output = inserted(all_.output);
    o.state_file = inserted(all_.state_file, ".state.npz");
    if (!o.input.folder.empty()) o.input.folder = (fs::path(o.input.folder) / method_).string();
    if (!o.test_data.empty()) o.test_data = (fs::path(o.test_data) / method_).string();
    return o;
  }

 private:
  // "x" of "encode.x" and "" of "encode", where that is the method; nothing where it is another.
  std::optional<std::string> behind_method(const std::string& option,
                                           const std::string& path) const {
    const std::string first = path.substr(0, path.find('.'));
    if (std::ranges::find(all_.load.methods, first) == all_.load.methods.end()) {
      const std::string hint = did_you_mean(first, all_.load.methods);
      usage_error(
          "OE0236",
          option + (path.empty() ? ": a value without a name does not specify its method"
                                 : ": '" + path + "' does not begin with one of the methods " +
                                       join(all_.load.methods, ", ")),
          hint.empty()
              ? "write it as " + all_.load.methods[0] + "." + (path.empty() ? "NAME" : path)
              : hint);
    }
    if (first != method_) return std::nullopt;
    return path.size() == first.size() ? "" : path.substr(first.size() + 1);
  }

  std::vector<InputSpec> specs(const std::string& option, const std::vector<InputSpec>& all) const {
    std::vector<InputSpec> own;
    for (const InputSpec& s : all)
      if (const auto name = behind_method(option, s.name)) {
        own.push_back(s);
        own.back().name = *name;
      }
    return own;
  }

  std::vector<std::pair<std::string, double>> tolerances(
      const std::string& option, const std::vector<std::pair<std::string, double>>& all) const {
    std::vector<std::pair<std::string, double>> own;
    for (const auto& [output, value] : all)
      if (output.empty())
        own.emplace_back(output, value);
      else if (const auto name = behind_method(option, output))
        own.emplace_back(*name, value);
    return own;
  }

  void axes(AxesSpec& axes) const {
    axes.entries.clear();
    for (const auto& [key, names] : all_.input.dynamic_axes.entries) {
      if (key == "*") {
        axes.entries.emplace_back(key, names);
        continue;
      }
      const auto own = behind_method("--dynamic-axes", key);
      if (!own) continue;
      auto& [path, named] = axes.entries.emplace_back(*own, names);
      // Automatic names are made of the key.
      for (auto& [axis, name] : named)
        if (name.starts_with(key + "_dynamic_axes_")) name.erase(0, key.size() - path.size());
    }
  }

  // "codec.onnx": "codec.encode.onnx".
  std::string inserted(const std::string& file, std::string suffix = {}) const {
    if (suffix.empty()) suffix = fs::path(file).extension().string();
    return file.substr(0, file.size() - suffix.size()) + "." + method_ + suffix;
  }

  const Options& all_;
  const std::string& method_;
};

void require_meaning(const Options& o) {
  std::set<std::string> named;
  for (const std::string& method : o.load.methods)
    if (!named.insert(method).second)
      usage_error("OE0235", "--method: '" + method + "' is named twice");
  const std::pair<const char*, bool> refused[] = {{"--input-names", !o.input.names.empty()},
                                                  {"--output-names", !o.output_names.empty()},
                                                  {"--rename", !o.renames.empty()},
                                                  {"--inputs", !o.input.file.empty()},
                                                  {"-o -", o.output == "-"}};
  for (const auto& [option, given] : refused)
    if (given)
      usage_error("OE0237",
                  std::string(option) + " works for one method, and --method names " +
                      std::to_string(o.load.methods.size()),
                  "convert the methods one at a time");
}

}  // namespace

std::vector<Options> options_of_methods(const Options& o) {
  if (o.load.methods.size() < 2) return {o};
  require_meaning(o);
  std::vector<Options> each;
  for (const std::string& method : o.load.methods) each.push_back(Share(o, method).options());
  for (const Options& one : each)
    if (o.write.external_file == fs::path(one.output).filename() ||
        o.write.external_file == one.state_file)
      usage_error("OE0010", "--external-data-file: '" + o.write.external_file +
                                "' is the name of another file of " + one.load.method);
  return each;
}

}  // namespace oe
