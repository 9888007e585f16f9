// TorchScript modules out of golden cases: compiled in C++, or made by a Python step.
#include "tests/support/golden_module.h"

#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "lib/options/option_text.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"
#include "lib/torch/graph_check.h"
#include "lib/torch/values.h"

namespace oe::golden {
namespace {

using torch::jit::GraphFunction;
using torch::jit::SourceRange;
using torch::jit::SugaredValue;
using SugaredPtr = std::shared_ptr<SugaredValue>;

// torch.ops.NAMESPACE.f
struct OpsModule : SugaredValue {
  std::string kind() const override { return "module torch.ops"; }
  SugaredPtr attr(const SourceRange&, GraphFunction&, const std::string& field) override {
    return std::make_shared<torch::jit::BuiltinModule>(field);
  }
};

// torch.special.f, torch.linalg.f, torch.fft.f: their operators are called special_f, ...
struct PrefixModule : SugaredValue {
  explicit PrefixModule(std::string name) : name(std::move(name)) {}
  std::string kind() const override { return "module torch." + name; }
  SugaredPtr attr(const SourceRange&, GraphFunction&, const std::string& field) override {
    return std::make_shared<torch::jit::BuiltinFunction>(
        c10::Symbol::fromQualString("aten::" + name + "_" + field), std::nullopt);
  }
  std::string name;
};

// math.f is the operator on numbers; math.pi and its like are constants.
struct MathModule : torch::jit::BuiltinModule {
  MathModule() : BuiltinModule("aten") {}
  SugaredPtr attr(const SourceRange& loc, GraphFunction& m, const std::string& field) override {
    static const std::map<std::string, double> constants = {
        {"pi", 3.14159265358979323846},
        {"e", 2.71828182845904523536},
        {"tau", 6.28318530717958647693},
        {"inf", std::numeric_limits<double>::infinity()},
        {"nan", std::numeric_limits<double>::quiet_NaN()}};
    if (auto it = constants.find(field); it != constants.end())
      return std::make_shared<torch::jit::SimpleValue>(m.graph()->insertConstant(it->second, loc));
    return BuiltinModule::attr(loc, m, field == "remainder" ? "mathremainder" : field);
  }
};

// torch.jit.annotate
struct JitModule : SugaredValue {
  std::string kind() const override { return "module torch.jit"; }
  SugaredPtr attr(const SourceRange& loc, GraphFunction&, const std::string& field) override {
    if (field == "annotate") return torch::jit::SpecialFormValue::create(c10::prim::annotate);
    throw torch::jit::ErrorReport(loc) << "torch.jit." << field << " is not known to golden cases";
  }
};

// `torch` as a model's source knows it: the operators, dtypes, torch.ops and torch.jit.annotate.
struct TorchModule : torch::jit::BuiltinModule {
  TorchModule() : BuiltinModule("aten") {}
  SugaredPtr attr(const SourceRange& loc, GraphFunction& m, const std::string& field) override {
    static const std::map<std::string, c10::ScalarType> dtypes = {
        {"uint8", c10::kByte},
        {"int8", c10::kChar},
        {"int16", c10::kShort},
        {"short", c10::kShort},
        {"int32", c10::kInt},
        {"int", c10::kInt},
        {"int64", c10::kLong},
        {"long", c10::kLong},
        {"float16", c10::kHalf},
        {"half", c10::kHalf},
        {"float32", c10::kFloat},
        {"float", c10::kFloat},
        {"float64", c10::kDouble},
        {"double", c10::kDouble},
        {"bool", c10::kBool},
        {"bfloat16", c10::kBFloat16},
        {"complex64", c10::kComplexFloat},
        {"complex128", c10::kComplexDouble}};
    if (field == "ops") return std::make_shared<OpsModule>();
    if (field == "special" || field == "linalg" || field == "fft")
      return std::make_shared<PrefixModule>(field);
    if (field == "inf" || field == "nan" || field == "pi") return MathModule().attr(loc, m, field);
    if (field == "jit") return std::make_shared<JitModule>();
    if (auto it = dtypes.find(field); it != dtypes.end()) {
      return std::make_shared<torch::jit::SimpleValue>(
          m.graph()->insertConstant(static_cast<int64_t>(it->second), loc));
    }
    return BuiltinModule::attr(loc, m, field);
  }
};

struct Resolver : torch::jit::Resolver {
  SugaredPtr resolveValue(const std::string& name, GraphFunction&, const SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchModule>();
    if (name == "math") return std::make_shared<MathModule>();
    return nullptr;
  }
};

c10::IValue json_value(const nlohmann::json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return j.get<std::string>();
  if (!j.is_array()) throw std::runtime_error("an attribute is a number, bool, string or list");
  bool integers = true;
  for (const auto& e : j) integers = integers && e.is_number_integer();
  if (integers) return c10::IValue(j.get<std::vector<int64_t>>());
  return c10::IValue(j.get<std::vector<double>>());
}

class Builder {
 public:
  explicit Builder(torch::jit::Module& top) : top_(top) {}

  void add(const Case::Member& member, uint64_t seed) {
    const size_t dot = member.name.rfind('.');
    torch::jit::Module m = dot == std::string::npos ? top_ : submodule(member.name.substr(0, dot));
    const std::string name = dot == std::string::npos ? member.name : member.name.substr(dot + 1);
    if (member.kind == Case::Member::Kind::Attribute) {
      c10::IValue v = json_value(nlohmann::json::parse(member.spec));
      m.register_attribute(name, v.type(), v);
      return;
    }
    torch_io::ExampleFiles files;
    const c10::IValue v = torch_io::make_value(
        parse_input_spec(member.spec), c10::TensorType::get(), {}, member.name, seed, files);
    m.register_parameter(name, v.toTensor(), member.kind == Case::Member::Kind::Buffer);
  }

 private:
  torch::jit::Module submodule(const std::string& path) {
    if (auto it = made_.find(path); it != made_.end()) return it->second;
    const size_t dot = path.rfind('.');
    torch::jit::Module parent = dot == std::string::npos ? top_ : submodule(path.substr(0, dot));
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    torch::jit::Module child(c10::QualifiedName("__torch__.Part_" + std::to_string(made_.size())),
                             top_._ivalue()->compilation_unit());
    parent.register_module(name, child);
    made_.emplace(path, child);
    return child;
  }

  torch::jit::Module& top_;
  std::map<std::string, torch::jit::Module> made_;
};

}  // namespace

bool can_be_made(const Case& c) {
  return std::ranges::all_of(c.needs, [](const std::string& op) {
    return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(op)).empty();
  });
}

torch_io::Loaded define_module(const Case& c) {
  torch::jit::Module m("__torch__.Golden");
  Builder builder(m);
  uint64_t seed = 1;
  for (const Case::Member& member : c.members) builder.add(member, seed++);
  m.define(c.source, std::make_shared<Resolver>());
  torch_io::GraphCheck("the case").check(*m._ivalue()->compilation_unit());
  m.eval();
  torch_io::Loaded loaded;
  loaded.module = m;
  loaded.method = "forward";
  return loaded;
}

void make_python_modules(const std::filesystem::path& python,
                         const std::vector<PythonCases>& files) {
  if (files.empty()) return;
  std::string command =
      "'" + python.string() + "' '" GOLDEN_SOURCE_DIR "/tests/support/script_cases.py'";
  for (const PythonCases& f : files) {
    std::filesystem::create_directories(f.directory);
    command += " '" + f.file.string() + "' '" + f.directory.string() + "'";
  }
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

torch_io::Loaded load_python_module(const std::filesystem::path& directory, size_t index) {
  const std::filesystem::path model = directory / (std::to_string(index) + ".pt");
  if (!std::filesystem::exists(model)) {
    std::ifstream in(directory / (std::to_string(index) + ".error"));
    std::ostringstream text;
    text << in.rdbuf();
    throw std::runtime_error("Python could not make the model: " + text.str());
  }
  LoadOptions o;
  o.model = model.string();
  return torch_io::load(o);
}

}  // namespace oe::golden
