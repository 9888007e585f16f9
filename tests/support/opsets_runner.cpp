// Cases of the ladder: ONNX text at one opset, the text legalize() makes of it, and the numbers.
//
// A file under tests/opsets (its grammar: tests/support/case_file.h) holds cases of this form
// (`out` may name another opset than N - 1):
//
//   ## name
//   -- in 18
//   g (float[N,3] x) => (float[N,3] y) { y = Mish(x) }
//   -- out 17
//   (the expected text; `error` lines where the step is refused)
//   -- inputs
//   N = 4
//   x = 1 2 3 ...            (flat values; `special` for NaN, infinities and zeros)
//
// Beyond the text every case goes down to every lower opset: the checker has to accept each model,
// and ONNX Runtime has to give the same numbers for it as for the newest one it can run.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "lib/onnx/onnx.h"
#include "lib/support/diagnostics.h"
#include "lib/verify/compare.h"
#include "lib/verify/ort.h"
#include "opsets/opsets.h"
#include "tests/support/case_file.h"

namespace {

using namespace oe;
namespace fs = std::filesystem;

constexpr int64_t kOldest = 7;

struct Case {
  std::string name, in, inputs;
  tests::Section out;
  int64_t from = 0, to = 0;
  std::string now;  // what stands in place of `out` when blessing
};

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \n"), b = s.find_last_not_of(" \n");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

Case read_case(const tests::CaseFile& file, const tests::TextCase& text) {
  Case c;
  c.name = text.name;
  for (const tests::Section& section : text.sections) {
    if (section.name == "in") {
      c.in = section.text;
      c.from = std::stoll(section.argument);
      c.to = c.from - 1;
    } else if (section.name == "out") {
      c.out = section;
      c.to = std::stoll(section.argument);
    } else if (section.name == "inputs") {
      c.inputs = section.text;
    } else {
      throw std::runtime_error(file.place(section.line) + ": unknown section '" + section.name +
                               "'");
    }
  }
  return c;
}

ir::Model parse(const Case& c) {
  return onnx::parse_text("<ir_version: " + std::string(c.from < 9 ? "3" : "8") +
                          ", opset_import: [\"\" : " + std::to_string(c.from) + "]>\n" + c.in);
}

// --- inputs

struct Given {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::string> values;
};

Given read_inputs(const std::string& text) {
  Given g;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = trimmed(line.substr(0, equals));
    const std::string value = trimmed(line.substr(equals + 1));
    g.values[name] = value;
    if (value.find_first_not_of("0123456789") == std::string::npos)
      g.sizes[name] = std::stoll(value);
  }
  return g;
}

template <class T>
TensorPtr filled(DType t, const std::vector<int64_t>& dims, const std::vector<double>& v) {
  std::vector<T> data;
  for (double d : v) data.push_back(static_cast<T>(d));
  return Tensor::of<T>(t, dims, data);
}

TensorPtr tensor(DType t, const std::vector<int64_t>& dims, const std::vector<double>& v) {
  switch (t) {
    case DType::Float:
      return filled<float>(t, dims, v);
    case DType::Double:
      return filled<double>(t, dims, v);
    case DType::Int8:
      return filled<int8_t>(t, dims, v);
    case DType::Int16:
      return filled<int16_t>(t, dims, v);
    case DType::Int32:
      return filled<int32_t>(t, dims, v);
    case DType::Int64:
      return filled<int64_t>(t, dims, v);
    case DType::UInt8:
    case DType::Bool:
      return filled<uint8_t>(t, dims, v);
    case DType::UInt16:
      return filled<uint16_t>(t, dims, v);
    case DType::UInt32:
      return filled<uint32_t>(t, dims, v);
    case DType::UInt64:
      return filled<uint64_t>(t, dims, v);
    default:
      throw std::runtime_error("no test inputs of type " + std::string(oe::name(t)));
  }
}

HostValue make_input(const ir::Value& v, const Given& given, std::mt19937_64& random) {
  const DType t = v.type.dtype;
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const Dim& d : *v.type.shape) {
    const auto known = given.sizes.find(d.symbol);
    dims.push_back(d.is_number() ? d.number : known != given.sizes.end() ? known->second : 3);
    count *= dims.back();
  }
  std::vector<double> values;
  const auto text = given.values.find(v.name);
  if (text != given.values.end() && text->second == "special") {
    const double inf = INFINITY, pattern[] = {1.5, NAN, inf, -inf, 0.0, -0.0, -2.5, 3e38};
    for (int64_t i = 0; i < count; ++i) values.push_back(pattern[(i * 5 + i / 8) % 8]);
  } else if (text != given.values.end()) {
    std::istringstream words(text->second);
    for (double d; words >> d;) values.push_back(d);
  } else {
    std::normal_distribution<double> normal(0, 1.5);
    std::uniform_int_distribution<int> integer(is_signed_integer(t) ? -9 : 0, 9);
    for (int64_t i = 0; i < count; ++i)
      values.push_back(t == DType::Bool ? integer(random) % 2
                       : is_float(t)    ? normal(random)
                                        : integer(random));
  }
  if (static_cast<int64_t>(values.size()) != count)
    throw std::runtime_error("input '" + v.name + "': expected " + std::to_string(count) +
                             " values");
  HostValue out;
  out.tensor = tensor(t, dims, values);
  return out;
}

// --- one case

std::string describe(const Diagnostics& d) {
  std::string text;
  for (const Diagnostic& x : d.all())
    text +=
        (x.severity == Severity::Error ? "error: " : "warning: ") + x.op + ": " + x.message + "\n";
  return text;
}

// Whether this is what describe() says of errors, and no model.
bool is_refusal(const std::string& text) {
  return text.starts_with("error: ") || text.find("\nerror: ") != std::string::npos;
}

using Outputs = std::vector<HostValue>;

std::string differ(const Outputs& actual, const Outputs& expected, verify::Tolerance tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& a = actual[i];
    const auto& e = expected[i];
    std::vector<TensorPtr> x = a.sequence, y = e.sequence;
    if (a.tensor) x.push_back(a.tensor);
    if (e.tensor) y.push_back(e.tensor);
    if (x.size() != y.size()) return "output " + std::to_string(i) + ": another number of elements";
    for (size_t k = 0; k < x.size(); ++k) {
      const auto c = verify::compare(*x[k], *y[k], tolerance);
      if (!c.ok) return "output " + std::to_string(i) + ": " + c.message;
    }
  }
  return "";
}

class Runner {
 public:
  Runner(std::shared_ptr<verify::Ort> ort, bool bless, bool allow_refusals, bool verbose)
      : ort_(std::move(ort)), bless_(bless), allow_refusals_(allow_refusals), verbose_(verbose) {}

  // Problems of the case, empty when it passes. Sets `now` when blessing.
  std::string run(Case& c) {
    std::string problems;
    {
      ir::Model m = parse(c);
      Diagnostics d;
      opsets::legalize(m, c.to, true, d);
      std::string text = describe(d);
      if (!d.has_errors()) text += ir::print(m);
      const bool newly_refused =
          d.has_errors() && !c.out.text.empty() && !is_refusal(c.out.text) && !allow_refusals_;
      if (bless_ && newly_refused)
        problems += "  it converted before: --allow-refusals blesses that it is refused:\n" + text;
      else if (bless_)
        c.now = text;
      else if (trimmed(text) != trimmed(c.out.text))
        problems += "  another text:\n" + tests::line_diff(trimmed(c.out.text), trimmed(text));
    }
    const Given given = read_inputs(c.inputs);
    std::mt19937_64 random(7);
    Outputs inputs;
    const ir::Model original = parse(c);
    for (const ir::Value* v : original.graph.inputs)
      inputs.push_back(make_input(*v, given, random));

    std::optional<Outputs> reference;
    opsets::Descent descent(parse(c), true);
    for (int64_t opset = std::min<int64_t>(c.from, ort_ ? ort_->newest_opset() : c.from);
         opset >= kOldest; --opset) {
      ir::Model m = parse(c);
      Diagnostics d;
      opsets::legalize(m, opset, true, d);
      if (d.has_errors()) {  // lower opsets are refused for the same reason
        if (verbose_) std::cout << "    opset " << opset << ": " << describe(d);
        break;
      }
      // A warning says so where ONNX Runtime lacks double and the step is computed in float.
      const bool in_float = describe(d).find("computed in float") != std::string::npos;
      const verify::Tolerance tolerance =
          in_float ? verify::Tolerance{1e-5, 1e-5} : verify::Tolerance{};
      const auto fail = [&](const std::string& what) {
        problems += "  opset " + std::to_string(opset) + ": " + what + "\n";
      };
      for (const std::string& p : ir::verify(m)) fail(p);
      if (Diagnostics once; ir::print(descent.at(opset, once)) != ir::print(m))
        fail("a walk that stopped further up gives another model");
      if (const std::string p = onnx::check(m); !p.empty()) fail(p);
      if (!ort_) continue;
      try {
        Outputs out = ort_->open_bytes(onnx::write_bytes(m), 1)->run(inputs);
        ++runs_;
        if (!reference)
          reference = std::move(out);
        else if (const std::string p = differ(out, *reference, tolerance); !p.empty())
          fail(p);
      } catch (const std::exception& e) {
        fail(e.what());
      }
    }
    return problems;
  }
  int runs() const { return runs_; }

 private:
  std::shared_ptr<verify::Ort> ort_;
  bool bless_, allow_refusals_, verbose_;
  int runs_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bool bless = false, allow_refusals = false, verbose = false;
  std::vector<fs::path> paths;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--bless")
      bless = true;
    else if (a == "--allow-refusals")
      allow_refusals = true;
    else if (a == "-v")
      verbose = true;
    else if (a.starts_with("--only="))
      only = a.substr(7);
    else
      paths.emplace_back(a);
  }
  if (paths.empty()) paths.push_back(fs::path(OPSETS_SOURCE_DIR) / "tests" / "opsets");
  const std::vector<fs::path> files = oe::tests::case_files(paths);

  std::string why;
  const auto ort = oe::verify::Ort::load("", why);
  if (!ort) std::cout << "without ONNX Runtime (" << why << "): numbers are not compared\n";
  Runner runner(ort, bless, allow_refusals, verbose);
  int passed = 0, failed = 0;
  for (const fs::path& path : files) {
    const oe::tests::CaseFile file = oe::tests::read_cases(path);
    std::vector<oe::tests::Edit> edits;
    for (const oe::tests::TextCase& text : file.cases) {
      Case c = read_case(file, text);
      if (!only.empty() && c.name.find(only) == std::string::npos) continue;
      std::string problems;
      try {
        problems = runner.run(c);
      } catch (const std::exception& e) {
        problems = std::string("  ") + e.what() + "\n";
      }
      if (!c.now.empty()) edits.push_back(oe::tests::edit(file, c.out, c.now));
      if (problems.empty()) {
        ++passed;
        if (verbose) std::cout << path.filename().string() << ": " << c.name << "\n";
      } else {
        ++failed;
        std::cout << "FAIL " << path.filename().string() << ": " << c.name << "\n"
                  << problems << "  repeat it: opsets_tests '--only=" << c.name << "' "
                  << path.string() << "\n";
      }
    }
    oe::tests::rewrite(file, std::move(edits));
  }
  std::cout << runner.runs() << " models run in ONNX Runtime\n";
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 ? 0 : 1;
}
