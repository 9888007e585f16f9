// A file of golden cases: which of its cases run, and how.
#include "tests/support/golden_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <set>

#include "lib/infer/infer.h"
#include "lib/onnx/schema.h"
#include "lib/options/option_text.h"
#include "lib/support/files.h"
#include "lib/support/text.h"
#include "lib/torch/cuda.h"
#include "lib/torch/load.h"
#include "lib/torch/unchecked.h"
#include "tests/support/golden_convert.h"
#include "tests/support/golden_module.h"
#include "tests/support/golden_scaled.h"

namespace fs = std::filesystem;

namespace oe::golden {
namespace {

// "passed", "skipped", "refused" (the converter says that it cannot), "wrong" (anything else).
std::string result_of(const Outcome& o) {
  if (o.kind == Outcome::Kind::Passed) return "passed";
  if (o.kind == Outcome::Kind::Skipped) return "skipped";
  return o.refusal.empty() ? "wrong" : "refused";
}

std::vector<int64_t> opsets_of(const std::string& list) {
  std::vector<int64_t> opsets;
  if (list.empty()) {
    for (int64_t o = kOldestOpset; o <= onnx::newest_opset(); ++o) opsets.push_back(o);
  }
  for (const std::string& o : split(list, ','))
    if (!o.empty()) opsets.push_back(std::stoll(o));
  return opsets;
}

// A spread over the ladder: its ends, the default, and where axes, sequences and types changed.
constexpr std::array<int64_t, 7> kSemanticsOpsets = {7, 9, 11, 13, 18, 21, 26};  // and the newest

// The ladder is the subject of tests/ops and tests/opsets. A case of tests/semantics runs at some
// of it, and at the opsets that it names itself.
std::vector<int64_t> some_opsets(const Case& c) {
  std::set<int64_t> opsets(kSemanticsOpsets.begin(), kSemanticsOpsets.end());
  opsets.insert(onnx::newest_opset());
  for (const Pinned& p : c.pinned) opsets.insert(p.opset);
  for (const ExpectedError& e : c.errors)
    for (const int64_t edge : {e.opsets.low - 1, e.opsets.low, e.opsets.high, e.opsets.high + 1})
      if (edge >= kOldestOpset && edge <= onnx::newest_opset()) opsets.insert(edge);
  return {opsets.begin(), opsets.end()};
}

// Lines a child writes as it goes: what it is at, what came of it, what it reached.
class Journal {
 public:
  explicit Journal(const std::string& path) {
    if (!path.empty()) out_.open(path, std::ios::trunc);
  }
  void write(const std::string& key, const std::string& value) {
    if (out_.is_open()) out_ << key << " " << value << std::endl;  // flushed: a crash may follow
  }

 private:
  std::ofstream out_;
};

torch_io::Loaded module_of(const Arguments& a, const Case& c, const fs::path& made, size_t index) {
  torch_io::Loaded m = c.python ? load_python_module(made, index) : define_module(c);
  if (a.device != "cpu") torch_io::move_to_device(c10::Device(a.device), m);
  return m;
}

std::vector<std::string> known_failures(const Arguments& a) {
  return a.known.empty() ? std::vector<std::string>{} : split(read_whole_file(a.known), '\n');
}

// The outcome of a case at four times its sizes.
Outcome scaled_outcome(const fs::path& file, const Case& c, const torch_io::Loaded& module,
                       const std::vector<int64_t>& opsets, Journal& journal) {
  const Scaled r = run_scaled(c, module, opsets);
  if (r.kind == Scaled::Kind::Grows && c.grows.empty())
    return {Outcome::Kind::Failed, r.message, {}, {}, {}};
  if (r.kind != Scaled::Kind::Grows && !c.grows.empty())
    return {Outcome::Kind::Failed, "'-- grows' is not so: it has as many nodes", {}, {}, {}};
  if (r.kind == Scaled::Kind::Unscaled) {
    journal.write("unscaled", "");
    std::cout << "not scaled: " << label(file, c) << std::endl;
  }
  return {Outcome::Kind::Passed, {}, {}, {}, {}};
}

// The case with nothing but the inputs that are found for its module.
Case found_alone(Case c, const torch_io::Loaded& module) {
  c.inputs.clear();
  c.also.clear();
  c.pinned.clear();
  c.dynamic.clear();
  torch_io::ExampleFiles files;
  const infer::Found found = infer::find_inputs(options_of(c).input, module, files, {});
  if (!found.problem.empty()) throw std::runtime_error("no inputs were found: " + found.problem);
  for (const InputSpec& spec : found.specs) c.inputs.push_back(spec_text(spec));
  return c;
}

// --optimize full also folds batch norms, which the default leaves so that the text shows them.
optimize::Options optimize_options(const Arguments& a, std::string_view level) {
  optimize::Options o;
  if (!a.disabled.empty()) o.disabled = split(a.disabled, ',');
  o.change_weights = level == "full";
  if (const auto at = std::ranges::find(optimize::kLevelNames, level);
      at != optimize::kLevelNames.end())
    o.level = static_cast<optimize::Level>(at - optimize::kLevelNames.begin());
  o.constant_folding = o.level != optimize::Level::None;
  return o;
}

// The levels besides the default at the opsets of --also-levels that the case runs at.
std::vector<Level> other_levels(const Arguments& a, const Case& c) {
  std::vector<Level> levels;
  if (a.also_levels.empty()) return levels;
  std::vector<int64_t> opsets = opsets_of(a.also_levels);
  std::erase_if(opsets, [&](int64_t opset) { return !c.opsets.holds(opset); });
  for (const std::string_view name : optimize::kLevelNames)
    levels.push_back({std::string(name), optimize_options(a, name), opsets});
  return levels;
}

}  // namespace

nlohmann::json report_of(const fs::path& file, const Case& c, const Outcome& o) {
  return {{"file", file.string()},  {"line", c.line},       {"name", c.name},
          {"result", result_of(o)}, {"refusal", o.refusal}, {"message", o.message}};
}

std::string label(const fs::path& file, const Case& c) {
  return file.filename().string() + ":" + std::to_string(c.line) + ": " + c.name;
}

std::string lineless_label(const fs::path& file, const std::string& name) {
  return file.filename().string() + ": " + name;
}

bool wanted(const Arguments& a, const fs::path& file, const Case& c) {
  return a.filter.empty() || label(file, c).find(a.filter) != std::string::npos;
}

std::string how_to_repeat(const Arguments& a, const fs::path& file, const Case& c) {
  std::string command =
      "repeat it: golden_tests --filter '" + label(file, c) + "' " + file.string();
  if (!a.opsets.empty()) command += " --opsets " + a.opsets;
  if (!a.optimize.empty()) command += " --optimize " + a.optimize;
  if (!a.disabled.empty()) command += " --disable-pass " + a.disabled;
  if (!a.also_levels.empty()) command += " --also-levels " + a.also_levels;
  if (a.device != "cpu") command += " --device " + a.device;
  if (a.scaled) command += " --scaled";
  if (a.alone > 0) command += " --alone " + std::to_string(a.alone);
  return command;
}

fs::path made_folder(const Arguments& a, const fs::path& file) {
  return a.work / (file.parent_path().filename() / file.stem());
}

Totals run_file(const Arguments& a, const fs::path& file) {
  torch_io::use_device(a.device);
  Totals t;
  Journal journal(a.results);
  const std::vector<Case> cases = parse(file);
  Settings s;
  const std::vector<int64_t> all_opsets = opsets_of(a.opsets);
  s.bless = a.bless;
  s.allow_refusals = a.allow_refusals;
  s.optimize = optimize_options(a, a.optimize);
  std::string why;
  s.ort = verify::Ort::load(a.ort_lib, why);
  torch_io::register_stub_operators();
  torch_io::check_kernels();
  const fs::path made = made_folder(a, file);
  const bool at_some = a.opsets.empty() && !a.bless && file.parent_path().filename() == "semantics";
  const std::vector<std::string> known = known_failures(a);
  Blessing blessed;
  for (size_t i = a.from; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (!wanted(a, file, c) || (a.alone > 0 && !c.errors.empty())) continue;
    if (!can_be_made(c)) {
      ++t.skipped;
      journal.write("skipped", "");
      continue;
    }
    if (std::ranges::find(known, lineless_label(file, c.name)) != known.end()) {
      if (a.alone == 0) continue;
      ++t.failed;
      journal.write("failed", "");
      continue;
    }
    const std::vector<int64_t> asked = at_some ? some_opsets(c) : all_opsets;
    s.opsets = asked;
    std::erase_if(s.opsets, [&](int64_t opset) { return !c.opsets.holds(opset); });
    if (s.opsets.empty()) continue;
    journal.write("at", std::to_string(i));
    s.levels = other_levels(a, c);
    alarm(a.seconds);
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome;
    try {
      const torch_io::Loaded module = module_of(a, c, made, i);
      outcome = a.scaled ? scaled_outcome(file, c, module, s.opsets, journal)
                         : run_case(a.alone > 0 ? found_alone(c, module) : c, module, s);
    } catch (const std::exception& e) {
      outcome = {Outcome::Kind::Failed, e.what(), {}, {}, {}};
    }
    outcome.seen.label = label(file, c);
    outcome.seen.opsets = asked;
    if (!a.scaled) journal.write("seen", to_json(outcome.seen));
    nlohmann::json report = report_of(file, c, outcome);
    report["seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    journal.write("case", report.dump(-1, ' ', false, kReplace));
    std::ranges::move(outcome.blessed.pinned, std::back_inserter(blessed.pinned));
    std::ranges::move(outcome.blessed.errors, std::back_inserter(blessed.errors));
    if (outcome.kind == Outcome::Kind::Passed) {
      ++t.passed;
      journal.write("passed", "");
    } else if (outcome.kind == Outcome::Kind::Skipped) {
      ++t.skipped;
      journal.write("skipped", "");
    } else {
      ++t.failed;
      journal.write("failed", "");
      std::cout << (a.alone ? "not so: " : "FAIL ") << label(file, c) << "\n"
                << strip(outcome.message) << "\n"
                << how_to_repeat(a, file, c) << std::endl;
    }
  }
  journal.write("done", "");
  if (!blessed.empty()) bless(file, blessed);
  return t;
}

}  // namespace oe::golden
