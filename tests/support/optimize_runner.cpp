// optimize_tests [--bless] PATH...: runs the optimizer's text cases (tests/optimize/README.md).
//
// A case is ONNX text before and after. The model is optimized twice: the text after the first run
// is compared, the second has to change nothing. Both models pass the checker, and where ONNX
// Runtime knows the opset both run on random inputs, with every named axis at several sizes.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "lib/ir/ir.h"
#include "lib/onnx/onnx.h"
#include "lib/optimize/optimize.h"
#include "lib/support/text.h"
#include "lib/verify/compare.h"
#include "lib/verify/ort.h"
#include "tests/support/case_file.h"

namespace {

using namespace oe;
namespace fs = std::filesystem;

struct Case {
  std::string name, before;
  tests::Section after;
  std::map<std::string, std::string> settings;  // tests/optimize/README.md

  bool any_text() const { return settings.contains("text"); }
};

Case read_case(const tests::CaseFile& file, const tests::TextCase& text) {
  Case c;
  c.name = text.name;
  for (const tests::Section& s : text.sections) {
    if (s.name == "before")
      c.before = s.text;
    else if (s.name == "after")
      c.after = s;
    else
      c.settings[s.name] = s.argument;
  }
  if (c.before.empty() || (c.after.end == 0) != c.any_text())
    throw std::runtime_error(file.place(text.line) +
                             ": a case needs '-- before', and '-- after' or '-- text any'");
  return c;
}

class Runner {
 public:
  explicit Runner(bool bless) : bless_(bless) {
    std::string why;
    ort_ = verify::Ort::load("", why);
    if (!ort_) std::cout << "models are not run: " << why << "\n";
  }

  void file(const fs::path& path) {
    const tests::CaseFile f = tests::read_cases(path);
    std::vector<tests::Edit> edits;
    for (const tests::TextCase& t : f.cases) {
      const Case c = read_case(f, t);
      std::string problem, text;
      try {
        problem = run(c, text);
      } catch (const std::exception& e) {
        problem = e.what();
      }
      problem.empty() ? ++passed_ : ++failed_;
      if (!problem.empty())
        std::cout << "FAIL " << f.place(t.line) << ": " << c.name << ": " << problem << "\n";
      if (!text.empty()) edits.push_back(tests::edit(f, c.after, text));
    }
    tests::rewrite(f, std::move(edits));
  }

  int summary() const {
    std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
    return failed_ ? 1 : 0;
  }

 private:
  const bool bless_;
  std::shared_ptr<verify::Ort> ort_;
  size_t passed_ = 0, failed_ = 0;

  static ir::Model model(const Case& c) {
    ir::Model m = onnx::parse_text(c.before);
    onnx::infer(m);
    return m;
  }

  static std::string setting(const Case& c, const std::string& key, const std::string& fallback) {
    auto it = c.settings.find(key);
    return it == c.settings.end() ? fallback : it->second;
  }

  static void optimize(ir::Model& m, const Case& c) {
    if (setting(c, "run", "optimize") == "cleanup") {
      optimize::cleanup(m);
      return;
    }
    optimize::Options o;
    o.constant_folding = setting(c, "folding", "on") == "on";
    o.change_weights = setting(c, "change_weights", "on") == "on";
    o.fold_limit = std::stoll(setting(c, "fold_limit", std::to_string(o.fold_limit)));
    optimize::optimize(m, o);
  }

  static std::string valid(const ir::Model& m, const std::string& when) {
    const auto problems = ir::verify(m);
    if (!problems.empty()) return when + ": " + problems[0];
    const std::string refused = onnx::check(m);
    return refused.empty() ? "" : when + ": " + refused;
  }

  // What went wrong, and the text to bless.
  std::string run(const Case& c, std::string& text) const {
    const ir::Model before = model(c);
    if (std::string p = valid(before, "before"); !p.empty()) return p;
    ir::Model after = model(c);
    optimize(after, c);
    if (std::string p = valid(after, "after"); !p.empty()) return p + "\n" + ir::print(after);
    const std::string printed = ir::print(after);
    optimize(after, c);
    if (ir::print(after) != printed)
      return "a second run changes the model\n" + printed + "---\n" + ir::print(after);
    if (std::string p = numbers(before, after, c); !p.empty()) return p + "\n" + printed;
    if (c.any_text()) return "";
    if (bless_)
      text = printed;
    else if (strip(c.after.text) != strip(printed))
      return "the text differs from what is expected:\n" + tests::line_diff(c.after.text, printed);
    return "";
  }

  std::string numbers(const ir::Model& before, const ir::Model& after, const Case& c) const {
    if (!ort_ || before.opset() > ort_->newest_opset()) return "";
    if (c.settings.contains("sizes") && setting(c, "sizes", "").empty()) return "";
    std::unique_ptr<verify::Ort::Session> first;
    try {
      first = ort_->open_bytes(onnx::write_bytes(before), 1);
    } catch (const std::exception&) {
      if (!c.any_text()) throw;
      return "";  // an optimization of ONNX Runtime fails on what was generated
    }
    auto second = ort_->open_bytes(onnx::write_bytes(after), 1);
    if (first->output_names() != second->output_names()) return "the outputs' names differ";
    std::istringstream sizes(setting(c, "sizes", "3 1 0"));
    bool ran = false;
    for (int64_t size; sizes >> size;) {
      std::vector<HostValue> inputs;
      std::mt19937 random(static_cast<unsigned>(size) + 1);
      std::map<std::string, int64_t> symbols;
      for (const ir::Value* v : before.graph.inputs)
        inputs.push_back({HostValue::Kind::Tensor, input(*v, size, symbols, random), {}});
      std::vector<HostValue> expected;
      try {
        expected = first->run(inputs);
      } catch (const std::exception&) {
        continue;  // the model has no result for this size
      }
      ran = true;
      const auto actual = second->run(inputs);
      for (size_t i = 0; i < expected.size(); ++i) {
        if (!expected[i].tensor || !actual[i].tensor) continue;
        const auto r = verify::compare(*actual[i].tensor, *expected[i].tensor);
        if (!r.ok)
          return "size " + std::to_string(size) + ", output " + first->output_names()[i] + ": " +
                 r.message;
      }
    }
    return ran ? "" : "ONNX Runtime ran the model at no size";
  }

  // Named axes differ from each other except at sizes 0 and 1.
  static TensorPtr input(const ir::Value& v, int64_t size, std::map<std::string, int64_t>& symbols,
                         std::mt19937& random) {
    std::vector<int64_t> dims;
    for (const Dim& d : v.type.shape.value_or(std::vector<Dim>{})) {
      if (d.is_number()) {
        dims.push_back(d.number);
        continue;
      }
      auto [it, fresh] = symbols.try_emplace(to_string(d), 0);
      if (fresh) it->second = size < 2 ? size : size + static_cast<int64_t>(symbols.size()) - 1;
      dims.push_back(it->second);
    }
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    auto tensor = [&](auto element, auto next) {
      using T = decltype(element);
      std::vector<T> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(next()));
      return Tensor::of<T>(v.type.dtype, dims, values);
    };
    std::uniform_real_distribution<double> real(-2, 2);
    std::uniform_int_distribution<int64_t> whole(1, 3);
    switch (v.type.dtype) {
      case DType::Float:
        return tensor(float{}, [&] { return real(random); });
      case DType::Double:
        return tensor(double{}, [&] { return real(random); });
      case DType::Int64:
        return tensor(int64_t{}, [&] { return whole(random); });
      case DType::Int32:
        return tensor(int32_t{}, [&] { return whole(random); });
      case DType::UInt8:
        return tensor(uint8_t{}, [&] { return whole(random); });
      case DType::Bool:
        return tensor(uint8_t{}, [&] { return whole(random) == 1; });
      default:
        throw std::runtime_error("no random input of type " + std::string(name(v.type.dtype)));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bool bless = false;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--bless") {
      bless = true;
    } else {
      paths.emplace_back(argument);
    }
  }
  if (paths.empty()) {
    std::cerr << "usage: optimize_tests [--bless] PATH...\n";
    return 2;
  }
  try {
    Runner runner(bless);
    for (const fs::path& f : tests::case_files(paths)) runner.file(f);
    return runner.summary();
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
