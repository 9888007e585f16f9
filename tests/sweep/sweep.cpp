// sweep_tests: converts samples of PyTorch's operators (tests/sweep/make_samples.py) and compares.
//
//   sweep_tests FOLDER --opsets 9,18
//
// FOLDER has 0.pt, 1.pt, ... and values.pt with each one's inputs, results and results in float64.
// A line of JSON for each sample and opset goes to standard output. All samples share one child
// process; behind one that ends it, another child goes on.
#include <ATen/Parallel.h>
#include <ATen/ops/view_as_real.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "lib/onnx/onnx.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"
#include "lib/torch/inputs.h"
#include "lib/torch/unchecked.h"
#include "lib/verify/ort.h"
#include "tests/support/golden_convert.h"
#include "tests/sweep/judge.h"

namespace fs = std::filesystem;
using namespace oe;

namespace {

struct Arguments {
  fs::path folder;
  std::vector<int64_t> opsets;
  unsigned seconds = 60;  // for one sample
};

// What PyTorch in Python computed for a sample.
struct Sample {
  std::vector<c10::IValue> inputs;
  std::vector<at::Tensor> expected;
  std::vector<at::Tensor> exact;  // of the same, in float64; undefined: not of floats, or unknown
};

std::vector<Sample> read_samples(const fs::path& folder) {
  torch_io::ExampleFiles files;
  const c10::IValue all = files.saved((folder / "values.pt").string());
  std::vector<Sample> samples;
  for (const c10::IValue& one : all.toListRef()) {
    const auto& parts = one.toTupleRef().elements();
    Sample s;
    for (const c10::IValue& v : parts[0].toTupleRef().elements()) s.inputs.push_back(v);
    for (const c10::IValue& v : parts[1].toTupleRef().elements())
      s.expected.push_back(v.toTensor());
    for (const c10::IValue& v : parts[2].toTupleRef().elements())
      s.exact.push_back(v.isTensor() ? v.toTensor() : at::Tensor());
    samples.push_back(std::move(s));
  }
  return samples;
}

// A complex tensor is a pair of reals along a last axis.
TensorPtr host(const at::Tensor& t) { return torch_io::to_host(t); }

torch_io::ExampleInputs inputs_of(const Sample& s, const torch_io::Loaded& module) {
  torch_io::ExampleInputs e;
  const std::vector<torch_io::Argument> arguments = torch_io::arguments_of(module);
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const at::Tensor t = s.inputs[i].toTensor().clone();
    torch_io::InputLeaf leaf;
    leaf.name = leaf.path = arguments.at(i).name;
    leaf.value = t;
    leaf.axis_names.resize(t.dim());
    leaf.bounds.resize(t.dim(), {0, -1});
    leaf.differs.resize(t.dim());
    leaf.argument = i;
    e.arguments.push_back(t);
    e.leaves.push_back(std::move(leaf));
  }
  return e;
}

// "passed", "refused" (the converter says that it cannot), "unrun" (ONNX Runtime has no kernel),
// "in_float" (doubles that are right as float32 goes, and the converter said that it computes in
// that), "wrong".
struct Verdict {
  std::string result, detail;
};

Verdict not_converted(const std::string& error, const std::string& refusal) {
  return {refusal.empty() ? "wrong" : "refused", error};
}

class Walk {
 public:
  Walk(const Arguments& a, verify::Ort& ort) : arguments_(a), ort_(ort) {}

  std::map<int64_t, Verdict> judge(size_t index, const Sample& s) const {
    std::map<int64_t, Verdict> verdicts;
    try {
      LoadOptions o;
      o.model = (arguments_.folder / (std::to_string(index) + ".pt")).string();
      const torch_io::Loaded module = torch_io::load(o);
      torch_io::ExampleInputs inputs = inputs_of(s, module);
      Diagnostics d;
      const capture::Captured c = capture::capture(module, inputs, {}, lower::has_row, d);
      golden::throw_errors(d, -1);
      golden::throw_problems("the program", program::verify(c.program));
      for (auto& [opset, made] : golden::convert(c.program, arguments_.opsets))
        verdicts[opset] =
            made.model ? run(made, inputs, s) : not_converted(made.error, made.refusal);
    } catch (const std::exception& e) {
      for (const int64_t opset : arguments_.opsets)
        verdicts[opset] = not_converted(e.what(), golden::refusal_of(e));
    }
    return verdicts;
  }

 private:
  Verdict run(const golden::Converted& made, const torch_io::ExampleInputs& names,
              const Sample& s) const {
    const ir::Model& m = *made.model;
    const std::string refused = onnx::check(m);
    if (!refused.empty()) return {"wrong", "the ONNX checker refuses it: " + refused};
    try {
      const auto session = ort_.open_bytes(onnx::write_bytes(m), 1);
      std::map<std::string, TensorPtr> given;
      for (size_t i = 0; i < names.leaves.size(); ++i)
        given[names.leaves[i].name] = host(s.inputs[i].toTensor());
      std::vector<HostValue> inputs;
      for (const std::string& name : session->input_names())
        inputs.push_back({HostValue::Kind::Tensor, given.at(name), {}});
      return compare(session->run(inputs), s, made.warned.contains("OE5003"));
    } catch (const std::exception& e) {
      const std::string what = e.what();
      const bool no_kernel = what.find("NOT_IMPLEMENTED") != std::string::npos ||
                             what.find("Could not find an implementation") != std::string::npos;
      return {no_kernel ? "unrun" : "wrong", "ONNX Runtime: " + what};
    }
  }

  static Verdict compare(const std::vector<HostValue>& actual, const Sample& s, bool in_float) {
    if (actual.size() != s.expected.size())
      return {"wrong", plural(actual.size(), "output") + ", PyTorch has " +
                           std::to_string(s.expected.size())};
    Verdict verdict{"passed", ""};
    for (size_t i = 0; i < actual.size(); ++i) {
      const std::string which = "output " + std::to_string(i);
      if (actual[i].kind != HostValue::Kind::Tensor) return {"wrong", which + " is no tensor"};
      const TensorPtr expected = host(s.expected[i]),
                      exact = s.exact[i].defined() ? host(s.exact[i]) : nullptr;
      const std::string what = sweep::difference(*actual[i].tensor, *expected, exact.get());
      if (what.empty()) continue;
      const bool near = in_float && sweep::equal_in_float(*actual[i].tensor, *expected);
      verdict = {near ? "in_float" : "wrong", which + ": " + what};
      if (!near) break;
    }
    return verdict;
  }

  const Arguments& arguments_;
  verify::Ort& ort_;
};

void print_line(const nlohmann::json& line) {
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

// The samples from `first` on. The number of the one at work goes to `progress` before it begins.
void judge_from(const Arguments& a, size_t first, int progress) {
  at::set_num_threads(1);
  std::string why;
  const std::shared_ptr<verify::Ort> ort = verify::Ort::load("", why);
  if (!ort) throw std::runtime_error(why);
  torch_io::register_stub_operators();
  torch_io::check_kernels();
  const std::vector<Sample> samples = read_samples(a.folder);
  const Walk walk(a, *ort);
  for (size_t i = first; i < samples.size(); ++i) {
    if (write(progress, &i, sizeof i) != sizeof i) throw std::runtime_error("the parent is gone");
    alarm(a.seconds);
    for (const auto& [opset, v] : walk.judge(i, samples[i]))
      print_line({{"sample", i}, {"opset", opset}, {"result", v.result}, {"detail", v.detail}});
  }
}

// Judges in a child; gives the sample that ended it, if one did.
std::optional<size_t> judge_in_child(const Arguments& a, size_t first) {
  int channel[2];
  if (pipe(channel) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("cannot fork");
  if (pid == 0) {
    close(channel[0]);
    try {
      judge_from(a, first, channel[1]);
      _exit(0);
    } catch (const std::exception& e) {
      std::cerr << "error: " << e.what() << std::endl;
      _exit(2);
    }
  }
  close(channel[1]);
  std::optional<size_t> at;
  for (size_t i = 0; read(channel[0], &i, sizeof i) == sizeof i;) at = i;
  close(channel[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (!at || (WIFEXITED(status) && WEXITSTATUS(status) == 2))
    throw std::runtime_error("the samples cannot be judged");
  const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  const std::string how = late ? "took more than " + std::to_string(a.seconds) + " s"
                          : WIFSIGNALED(status)
                              ? std::string("ended with: ") + strsignal(WTERMSIG(status))
                              : "ended with exit code " + std::to_string(WEXITSTATUS(status));
  for (const int64_t opset : a.opsets)
    print_line({{"sample", *at}, {"opset", opset}, {"result", "crash"}, {"detail", how}});
  return at;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Converts samples of PyTorch's operators and compares");
  app.add_option("folder", a.folder, "what make_samples.py wrote")->required();
  app.add_option("--opsets", a.opsets, "such as 9,18")->delimiter(',')->required();
  app.add_option("--seconds", a.seconds, "a sample that takes longer is ended: a crash");
  CLI11_PARSE(app, argc, argv);
  try {
    for (size_t first = 0;;) {
      const std::optional<size_t> ended = judge_in_child(a, first);
      if (!ended) return 0;
      first = *ended + 1;
    }
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << std::endl;
    return 1;
  }
}
