// One golden case: captured, lowered and walked down once, then checked, run and compared per
// opset.
#include "tests/support/golden_case.h"

#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "lib/onnx/onnx.h"
#include "lib/options/option_text.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"
#include "lib/torch/inputs.h"
#include "lib/torch/reference.h"
#include "lib/torch/state.h"
#include "lib/verify/compare.h"
#include "lib/verify/stated.h"
#include "tests/support/golden_convert.h"

namespace oe::golden {
namespace {

// One set of inputs with LibTorch's results, shaped like the model's outputs.
struct Run {
  std::string what;  // "seed 1", "also 5x3"
  std::map<std::string, TensorPtr> inputs;
  std::vector<HostValue> expected;
};

bool is_literal(const std::string& value) {
  return !value.empty() && std::string("[-0123456789tf\"").find(value[0]) != std::string::npos;
}

// The example's SPECs with those of a `-- also` run put over them.
std::vector<InputSpec> replaced(std::vector<InputSpec> base, const std::vector<std::string>& run) {
  for (size_t i = 0; i < run.size(); ++i) {
    const InputSpec spec = parse_input_spec(run[i]);
    InputSpec* target = i < base.size() ? &base[i] : nullptr;
    if (!spec.name.empty()) {
      target = nullptr;
      for (InputSpec& b : base)
        if (b.name == spec.name) target = &b;
    }
    if (!target)
      throw std::runtime_error("-- also names an input the case does not have: " + run[i]);
    if (spec.shape) {
      target->shape = spec.shape;
      // Values that were written out belong to the old shape; generators go on.
      if (is_literal(target->value)) target->value.clear();
    } else if (!spec.value.empty()) {
      target->shape.reset();
    }
    if (spec.dtype != DType::Undefined) target->dtype = spec.dtype;
    if (!spec.value.empty()) target->value = spec.value;
  }
  return base;
}

TensorPtr host(const c10::IValue& v) {
  if (v.isTensor()) {
    const TensorPtr shared = torch_io::to_host(v.toTensor());
    // A copy: the model may write to the storage later.
    return Tensor::from_bytes(shared->dtype(), shared->dims(), shared->data(), shared->nbytes());
  }
  if (v.isBool()) return Tensor::of<uint8_t>(DType::Bool, {}, {v.toBool()});
  if (v.isInt()) return Tensor::of<int64_t>(DType::Int64, {}, {v.toInt()});
  if (v.isDouble()) return Tensor::of<double>(DType::Double, {}, {v.toDouble()});
  throw std::runtime_error("a result of type " + v.tagKind() + " cannot be compared");
}

// The model's result like the program's outputs.
std::vector<HostValue> expected(const c10::IValue& result, const capture::Captured& c,
                                const torch::jit::Module& module) {
  return torch_io::flatten(result, {c.program.results, {}}, module);
}

// One run; where state is carried, three calls in a row, each from what LibTorch's last one left.
void make_runs_of(const std::string& what, const Options& o, const torch_io::Loaded& loaded,
                  const capture::Captured& c, const std::vector<std::string>& state,
                  std::vector<Run>& runs) {
  torch::jit::Module module = loaded.module.deepcopy();
  const torch::jit::GraphOptimizerEnabledGuard optimizer(
      !torch_io::differentiates(module.get_method(loaded.method).function()));
  for (int call = 0; call < (state.empty() ? 1 : 3); ++call) {
    Run run{what + (call ? ", call " + std::to_string(call + 1) : ""), {}, {}};
    // Other storages and another module: forward may write to both.
    torch_io::ExampleInputs given = torch_io::make_inputs(o.input, loaded);
    torch_io::ExampleInputs fresh = torch_io::make_inputs(o.input, loaded);
    torch_io::add_state(module, state, given);
    for (const torch_io::InputLeaf& leaf : given.leaves)
      run.inputs[leaf.name] = host(torch_io::as_input(leaf, leaf.value));
    run.expected = expected(module.get_method(loaded.method)(std::move(fresh.arguments)).deepcopy(),
                            c, module);
    runs.push_back(std::move(run));
  }
}

std::vector<Run> make_runs(const Case& c, const Options& base, const torch_io::Loaded& loaded,
                           const capture::Captured& captured,
                           const std::vector<std::string>& state) {
  std::vector<Run> runs;
  const auto add = [&](const std::string& what, const std::vector<InputSpec>& specs) {
    for (uint64_t seed = 0; seed < (c.seeds ? 2 : 1); ++seed) {
      Options o = base;
      o.input.specs = specs;
      o.input.seed = seed;
      const std::string label = what + ", seed " + std::to_string(seed);
      try {
        make_runs_of(label, o, loaded, captured, state, runs);
      } catch (const std::exception& e) {
        throw std::runtime_error("LibTorch does not run the case (" + label + "): " + e.what());
      }
    }
  };
  add("the example", base.input.specs);
  for (const auto& run : c.also) add("also " + join(run, " "), replaced(base.input.specs, run));
  return runs;
}

std::string compare_value(const HostValue& actual, const HostValue& expected, verify::Tolerance t) {
  using Kind = HostValue::Kind;
  if (actual.kind != expected.kind) return "one is a tensor, a sequence or None, the other is not";
  if (expected.kind == Kind::Tensor)
    return verify::compare(*actual.tensor, *expected.tensor, t).message;
  if (actual.sequence.size() != expected.sequence.size()) {
    return "a sequence of " + std::to_string(actual.sequence.size()) + " instead of " +
           std::to_string(expected.sequence.size());
  }
  for (size_t i = 0; i < actual.sequence.size(); ++i) {
    const verify::Comparison r = verify::compare(*actual.sequence[i], *expected.sequence[i], t);
    if (!r.ok) return "element " + std::to_string(i) + ": " + r.message;
  }
  return {};
}

// The dims the file states for its outputs hold in this run: numbers, and names that an input has.
void check_dims(const ir::Model& m, const Run& run) {
  verify::NamedSizes sizes;
  for (const ir::Value* v : m.graph.inputs)
    if (const auto it = run.inputs.find(v->name); it != run.inputs.end())
      verify::add_sizes(v->type.shape, *it->second, sizes);
  for (size_t i = 0; i < m.graph.outputs.size(); ++i) {
    const ir::Value& v = *m.graph.outputs[i];
    if (!run.expected[i].tensor) continue;
    const std::string wrong = verify::not_as_stated(*run.expected[i].tensor, v.type.shape, sizes);
    if (!wrong.empty())
      throw std::runtime_error("'" + v.name + "': " + wrong + " (" + run.what + ")");
  }
}

void run_and_compare(const Case& c, const ir::Model& m, verify::Ort::Session& session,
                     const std::vector<Run>& runs) {
  const verify::Tolerance tolerance{c.atol, c.rtol};
  for (const Run& run : runs) {
    std::vector<HostValue> inputs;
    for (const std::string& name : session.input_names()) {
      const auto it = run.inputs.find(name);
      if (it == run.inputs.end())
        throw std::runtime_error("the model wants an input '" + name + "'");
      inputs.push_back({HostValue::Kind::Tensor, it->second, {}});
    }
    const std::vector<HostValue> actual = session.run(inputs);
    if (actual.size() != run.expected.size()) {
      throw std::runtime_error(std::to_string(actual.size()) + " outputs, LibTorch has " +
                               std::to_string(run.expected.size()));
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      const std::string wrong = compare_value(actual[i], run.expected[i], tolerance);
      if (!wrong.empty()) {
        throw std::runtime_error("output " + std::to_string(i) + " is wrong (" + run.what +
                                 "): " + wrong);
      }
    }
    check_dims(m, run);
  }
}

// Problems by their text, with the opsets they occur at: most are the same at many opsets.
class Failures {
 public:
  void add(int64_t opset, const std::string& text) {
    auto [it, fresh] = at_.try_emplace(text);
    if (fresh) order_.push_back(text);
    it->second.push_back(opset);
  }
  bool empty() const { return order_.empty(); }
  std::string text() const {
    std::string all;
    for (const std::string& t : order_) {
      std::string opsets;
      for (int64_t o : at_.at(t)) opsets += (opsets.empty() ? "" : ",") + std::to_string(o);
      all += "opset " + opsets + ": " + t + "\n";
    }
    return all;
  }

 private:
  std::map<std::string, std::vector<int64_t>> at_;
  std::vector<std::string> order_;
};

const ExpectedError* expected_error(const Case& c, int64_t opset) {
  for (const ExpectedError& e : c.errors)
    if (e.opsets.holds(opset)) return &e;
  return nullptr;
}

bool left_out(const Case& c, int64_t opset) {
  for (const OpsetRange& r : c.no_ort)
    if (r.holds(opset)) return true;
  return false;
}

// The highest N of "needs opset N" in a message of the ladder; 0 when there is none.
int64_t needed_opset(const std::string& message) {
  static const std::string kNeeds = "needs opset ";
  int64_t highest = 0;
  for (size_t at = message.find(kNeeds); at != std::string::npos;
       at = message.find(kNeeds, at + 1)) {
    highest = std::max<int64_t>(highest, std::atoll(message.c_str() + at + kNeeds.size()));
  }
  return highest;
}

constexpr int64_t kSameGraphOpset = 18;  // any would do; text is stable there

class Runner {
 public:
  Runner(const Case& c, const torch_io::Loaded& module, const Settings& s)
      : case_(c), module_(module), settings_(s), options_(options_of(c)) {}

  Outcome run() {
    Converted no_program;
    try {
      Diagnostics d;
      torch_io::ExampleInputs inputs = torch_io::make_inputs(options_.input, module_);
      keep_types(inputs);
      captured_ = capture::capture(module_, inputs, options_.capture, lower::has_row, d);
      for (const torch_io::AttributeArgument& a : inputs.state) state_.push_back(a.path);
      throw_errors(d, -1);
      throw_problems("the program", program::verify(captured_->program));
      add_calls(captured_->program.body, outcome_.seen.calls);
    } catch (const std::exception& e) {
      captured_.reset();
      no_program.error = e.what();
      no_program.refusal = refusal_of(e);
    }
    std::map<int64_t, Converted> results;
    if (captured_) results = convert(captured_->program, settings_.opsets, settings_.optimize);
    for (int64_t opset : settings_.opsets) judge(opset, captured_ ? results.at(opset) : no_program);
    if (captured_) judge_levels();
    if (captured_ && !case_.dynamic.empty() && !expected_error(case_, kSameGraphOpset))
      compare_examples();
    if (settings_.bless) bless_errors();
    if (!failures_.empty()) {
      outcome_.kind = Outcome::Kind::Failed;
      outcome_.message = failures_.text();
      if (!only_refused_) outcome_.refusal.clear();
    } else if (converted_ > 0 && !settings_.ort) {
      outcome_.kind = Outcome::Kind::Skipped;  // checked, but not run
    }
    return std::move(outcome_);
  }

 private:
  // Other values keep the example's element types: [1,2] for a float input is no int tensor.
  void keep_types(const torch_io::ExampleInputs& inputs) {
    for (size_t i = 0; i < options_.input.specs.size(); ++i) {
      InputSpec& spec = options_.input.specs[i];
      for (size_t k = 0; k < inputs.leaves.size(); ++k) {
        const torch_io::InputLeaf& leaf = inputs.leaves[k];
        if ((spec.name.empty() ? k == i : spec.name == leaf.name) && leaf.value.isTensor())
          spec.dtype = torch_io::to_dtype(leaf.value.toTensor().scalar_type());
      }
    }
  }

  void fail(int64_t opset, const std::string& message, const std::string& refusal = {}) {
    failures_.add(opset, level_ ? "level " + level_->name + ": " + message : message);
    outcome_.refusal = refusal;
    only_refused_ = only_refused_ && !refusal.empty();
  }

  void judge_levels() {
    for (const Level& level : settings_.levels) {
      level_ = &level;
      const auto results = convert(captured_->program, level.opsets, level.options);
      for (const auto& [opset, result] : results) judge(opset, result);
    }
    level_ = nullptr;
  }

  // Text is pinned of the default alone.
  bool is_default() const { return !level_ && settings_.optimize == optimize::Options{}; }

  void judge(int64_t opset, const Converted& r) {
    const ExpectedError* expected = expected_error(case_, opset);
    if (settings_.bless && (!expected || is_generated(*expected))) {
      const int64_t needed = r.model ? 0 : needed_opset(r.error);
      if (needed && !expected && !settings_.allow_refusals) {
        fail(opset, r.error + "\nit is not blessed: --allow-refusals takes an opset from users");
        return;
      }
      if (needed) needed_[opset] = needed;
      if (needed) return;
      expected = nullptr;
    }
    if (!r.model) {
      // An older opset wants a number where nothing folds what computes it, such as TopK's k.
      if (!is_default() && needed_opset(r.error)) return;
      if (!expected)
        fail(opset, r.error, r.refusal);
      else if (r.error.find(expected->text) == std::string::npos)
        fail(opset, "expected an error with '" + expected->text + "', got: " + r.error);
      else if (!level_ && opset == settings_.opsets.back())
        add_refusals(r.error, outcome_.seen);
      return;
    }
    if (expected) {
      fail(opset, "converted, expected an error with '" + expected->text + "'");
      return;
    }
    try {
      compare_pinned(opset, *r.model);
      const std::string refused = onnx::check(*r.model);
      if (!refused.empty()) throw std::runtime_error("the ONNX checker refuses it: " + refused);
      run_model(opset, *r.model);
      if (!level_) add_model(opset, *r.model, outcome_.seen);
    } catch (const std::exception& e) {
      fail(opset, e.what());
    }
  }

  // Nothing of the example's sizes may be in the file: exported from the sizes of an `-- also` run
  // it is the same text.
  void compare_examples() {
    const torch_io::ExampleInputs first = torch_io::make_inputs(options_.input, module_);
    for (const auto& run : case_.also) {
      Options o = options_;
      o.input.specs = replaced(options_.input.specs, run);
      try {
        torch_io::ExampleInputs other = torch_io::make_inputs(o.input, module_);
        if (!has_other_sizes(other, first)) continue;
        Diagnostics d;
        const capture::Captured again =
            capture::capture(module_, other, o.capture, lower::has_row, d);
        // One that reaches less says what it assumes.
        if (again.assumptions.size() > captured_->assumptions.size()) continue;
        const std::string was = ir::print(convert_at(captured_->program, kSameGraphOpset));
        const std::string now = ir::print(convert_at(again.program, kSameGraphOpset));
        if (was != now) {
          fail(kSameGraphOpset, "exported from " + join(run, " ") + " the graph is another one:\n" +
                                    tests::line_diff(was, now));
        }
      } catch (const std::exception& e) {
        fail(kSameGraphOpset, "exported from " + join(run, " ") + ": " + e.what());
      }
      return;
    }
  }

  // Some dynamic axis has another size, and all of them are larger than 1.
  static bool has_other_sizes(const torch_io::ExampleInputs& e,
                              const torch_io::ExampleInputs& first) {
    bool other = false;
    for (size_t i = 0; i < e.leaves.size(); ++i) {
      const torch_io::InputLeaf& leaf = e.leaves[i];
      for (size_t axis = 0; axis < leaf.axis_names.size(); ++axis) {
        if (leaf.axis_names[axis].empty()) continue;
        const int64_t size = leaf.value.toTensor().size(static_cast<int64_t>(axis));
        if (size < 2) return false;
        other = other || size != first.leaves[i].value.toTensor().size(static_cast<int64_t>(axis));
      }
    }
    return other;
  }

  // Neighbouring opsets with the same need are one line.
  void bless_errors() {
    std::vector<ExpectedError> errors;
    for (const auto& [opset, needed] : needed_) {
      const std::string text = "needs opset " + std::to_string(needed);
      const int64_t low = opset == settings_.opsets.front() ? 0 : opset;  // written as "..8"
      if (!errors.empty() && errors.back().text == text && errors.back().opsets.high == opset - 1)
        errors.back().opsets.high = opset;
      else
        errors.push_back({{low, opset}, text, 0});
    }
    const auto same = [](const ExpectedError& a, const ExpectedError& b) {
      return a.text == b.text && a.opsets.low == b.opsets.low && a.opsets.high == b.opsets.high;
    };
    std::vector<ExpectedError> now;
    std::copy_if(case_.errors.begin(), case_.errors.end(), std::back_inserter(now), is_generated);
    if (!std::equal(now.begin(), now.end(), errors.begin(), errors.end(), same))
      outcome_.blessed.errors.emplace_back(case_, std::move(errors));
  }

  void compare_pinned(int64_t opset, const ir::Model& m) {
    if (!is_default()) return;
    for (const Pinned& p : case_.pinned) {
      if (p.opset != opset) continue;
      const std::string now = ir::print(m);
      if (strip(now) == strip(p.section.text)) continue;
      if (settings_.bless)
        outcome_.blessed.pinned.emplace_back(p, now);
      else
        throw std::runtime_error(
            "the text differs from what is pinned:\n" +
            tests::line_diff(std::string(strip(p.section.text)), std::string(strip(now))));
    }
  }

  void run_model(int64_t opset, const ir::Model& m) {
    ++converted_;
    if (!settings_.ort || opset > settings_.ort->newest_opset()) return;
    std::string now = meaning(m);
    if (ran_.count(now)) return;  // ONNX Runtime would run the same kernels again
    const auto session = settings_.ort->open_bytes(onnx::write_bytes(m), 1);
    if (left_out(case_, opset)) return;  // it loads all the same
    if (runs_.empty()) runs_ = make_runs(case_, options_, module_, *captured_, state_);
    run_and_compare(case_, m, *session, runs_);
    if (!now.empty()) ran_.insert(std::move(now));
  }

  const Case& case_;
  const torch_io::Loaded& module_;
  const Settings& settings_;
  Options options_;
  std::optional<capture::Captured> captured_;
  std::vector<std::string> state_;  // attributes that are inputs
  std::vector<Run> runs_;
  std::set<std::string> ran_;     // meaning() of the models that ran
  const Level* level_ = nullptr;  // that is judged; null: the settings' own
  Failures failures_;
  Outcome outcome_;
  bool only_refused_ = true;
  int converted_ = 0;
  std::map<int64_t, int64_t> needed_;  // opset -> the one the ladder asks for
};

}  // namespace

Outcome run_case(const Case& c, const torch_io::Loaded& module, const Settings& s) {
  try {
    return Runner(c, module, s).run();
  } catch (const std::exception& e) {
    return {Outcome::Kind::Failed, e.what(), {}, {}, {}};
  }
}

}  // namespace oe::golden
