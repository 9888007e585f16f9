// Operators that LibTorch defines by others, as TorchScript.
#include "lib/capture/operators/composites.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "lib/support/text.h"
#include "lib/torch/devices.h"
#include "lib/torch/load.h"

namespace oe::capture {
namespace {

using torch::jit::Function;

// ops.quantized.add
struct OperatorNamespace : torch::jit::SugaredValue {
  std::string kind() const override { return "operators"; }
  std::shared_ptr<torch::jit::SugaredValue> attr(const torch::jit::SourceRange&,
                                                 torch::jit::GraphFunction&,
                                                 const std::string& name_space) override {
    return std::make_shared<torch::jit::BuiltinModule>(name_space);
  }
};

bool known_to_libtorch(const std::string& op) {
  const std::string base = op.substr(0, op.find('.'));
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(base)).empty();
}

// A file, compiled when one of its functions is asked for. Nothing writes to what is compiled.
class File {
 public:
  explicit File(const CompositeText& text) : text_(&text) {
    for (const std::string& line : oe::split(text.text, '\n')) {
      const auto [alias, of] = composite_alias(line);
      if (line.starts_with("def "))
        names_.push_back(line.substr(4, line.find('(') - 4));
      else if (!alias.empty())
        names_.push_back(alias), aliases_.emplace(alias, of);
      functions_ += (alias.empty() ? line : "") + "\n";  // each at its line
    }
  }
  const CompositeText& text() const { return *text_; }
  const std::vector<std::string>& names() const { return names_; }
  Function* function(const std::string& name);

 private:
  const CompositeText* text_;
  std::vector<std::string> names_;  // aliases too
  std::unordered_map<std::string, std::string> aliases_;
  std::string functions_;  // the text without aliases
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
};

std::vector<File>& files() {
  static std::vector<File> all = [] {
    torch_io::register_quantized_operators();
    std::vector<File> made;
    for (const CompositeText* text = kCompositeTexts; text->text; ++text) made.emplace_back(*text);
    return made;
  }();
  return all;
}

// What the files name: "torch", "ops", LibTorch's own classes, and what begins with _ in another.
struct Names : torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& f,
      const torch::jit::SourceRange& at) override {
    if (name == "ops") return std::make_shared<OperatorNamespace>();
    if (name.starts_with('_'))
      for (File& file : files())
        if (std::ranges::find(file.names(), name) != file.names().end())
          return std::make_shared<torch::jit::FunctionValue>(file.function(name));
    return NativeResolver::resolveValue(name, f, at);
  }
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange&) override {
    return torch::getCustomClass(name);
  }
};

Function* File::function(const std::string& name) {
  if (!unit_) {
    unit_ = std::make_shared<torch::jit::CompilationUnit>();
    unit_->define(std::nullopt, functions_, std::make_shared<Names>(), nullptr);
    torch_io::allocate_on_current(*unit_);
  }
  const auto alias = aliases_.find(name);
  return unit_->find_function(alias == aliases_.end() ? name : alias->second);
}

// Where the function for an operator is: aten::trapezoid.x is trapezoid__x.
struct Source {
  File* file;
  std::string name;
};
using Sources = std::unordered_map<std::string, Source>;
Sources sources_of(CompositeOf of) {
  Sources made;
  for (File& file : files()) {
    if (file.text().of != of) continue;
    for (const std::string& name : file.names()) {
      std::string op = std::string(file.text().name_space) + "::" + name;
      if (const size_t split = op.find("__"); split != std::string::npos) op.replace(split, 2, ".");
      if (!name.starts_with('_') || known_to_libtorch(op))
        made.emplace(std::move(op), Source{&file, name});
    }
  }
  return made;
}
const Sources& sources(CompositeOf of) {
  static const std::vector<Sources> all = [] {
    std::vector<Sources> made;
    for (const CompositeOf each : kCompositeOf) made.push_back(sources_of(each));
    return made;
  }();
  return all.at(static_cast<size_t>(of));
}

}  // namespace

std::pair<std::string, std::string> composite_alias(const std::string& line) {
  const size_t equals = line.find(" = ");
  if (equals == std::string::npos) return {};
  std::pair<std::string, std::string> names = {line.substr(0, equals), line.substr(equals + 3)};
  const auto is_name = [](const std::string& s) {
    return !s.empty() && std::ranges::all_of(s, [](char c) { return c == '_' || std::isalnum(c); });
  };
  return is_name(names.first) && is_name(names.second) ? names : decltype(names)();
}

std::vector<Composite> composites(CompositeOf of) {
  std::vector<Composite> all;
  for (const auto& [op, source] : sources(of))
    all.push_back({op, source.file->function(source.name)});
  return all;
}

std::vector<Composite> composites() {
  std::vector<Composite> all;
  for (const CompositeOf of : kCompositeOf)
    if (of != CompositeOf::Derivative)
      for (Composite& c : composites(of)) all.push_back(std::move(c));
  return all;
}

// Asked at every call of an operator: one search, no names made.
Function* composite_of(CompositeOf of, const std::string& op) {
  const Sources& in = sources(of);
  const auto it = in.find(op);
  return it == in.end() ? nullptr : it->second.file->function(it->second.name);
}

Function* composite(const std::string& op) { return composite_of(CompositeOf::Anything, op); }

}  // namespace oe::capture
