// golden_tests: runs the cases of tests/ops and tests/semantics (tests/ops/README.md).
//
// All cases of a file share one process; with several files each gets a process of its own, so that
// a crash costs one case: the file is taken up again behind it.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lib/infer/infer.h"
#include "lib/lower/lowering.h"
#include "lib/onnx/schema.h"
#include "lib/options/option_text.h"
#include "lib/support/files.h"
#include "lib/support/text.h"
#include "lib/torch/load.h"
#include "lib/torch/unchecked.h"
#include "tests/support/golden_case.h"
#include "tests/support/golden_convert.h"
#include "tests/support/golden_module.h"
#include "tests/support/golden_scaled.h"

extern char** environ;

namespace fs = std::filesystem;
using namespace oe;
using namespace oe::golden;

namespace {

struct Arguments {
  std::vector<std::string> paths;
  std::string filter, python, opsets, ort_lib;
  fs::path work;  // of this run: models made by Python, results of children
  int jobs = 1;
  unsigned seconds = 600;  // for one case
  size_t from = 0;         // a child that takes up a file behind a crash
  std::string results;     // a child writes what it did here
  std::string report;      // JSON: what came of every case
  bool bless = false;
  bool allow_refusals = false;
  bool scaled = false;             // count nodes at four times the sizes, and nothing else
  std::string optimize, disabled;  // level and passes left out, as on the command line
  std::string also_levels;         // opsets at which the other levels run as well
  int alone = 0;                   // percent that have to pass with inputs that are found
  std::string known;               // file: cases that fail then, which do not run
};

struct Totals {
  size_t passed = 0, failed = 0, skipped = 0;
  size_t unscaled = 0;     // cases that run at no other size
  std::vector<Seen> seen;  // by each case
  nlohmann::json cases = nlohmann::json::array();
};

// Messages quote what a program printed: not all of it has to be UTF-8.
constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

// "passed", "skipped", "refused" (the converter says that it cannot), "wrong" (anything else).
std::string result_of(const Outcome& o) {
  if (o.kind == Outcome::Kind::Passed) return "passed";
  if (o.kind == Outcome::Kind::Skipped) return "skipped";
  return o.refusal.empty() ? "wrong" : "refused";
}

nlohmann::json report_of(const fs::path& file, const Case& c, const Outcome& o) {
  return {{"file", file.string()},  {"line", c.line},       {"name", c.name},
          {"result", result_of(o)}, {"refusal", o.refusal}, {"message", o.message}};
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

std::string label(const fs::path& file, const Case& c) {
  return file.filename().string() + ":" + std::to_string(c.line) + ": " + c.name;
}

// As --known names it: without its line.
std::string lineless_label(const fs::path& file, const std::string& name) {
  return file.filename().string() + ": " + name;
}

bool wanted(const Arguments& a, const fs::path& file, const Case& c) {
  return a.filter.empty() || label(file, c).find(a.filter) != std::string::npos;
}

// The command that runs this case alone, in the same way.
std::string how_to_repeat(const Arguments& a, const fs::path& file, const Case& c) {
  std::string command =
      "repeat it: golden_tests --filter '" + label(file, c) + "' " + file.string();
  if (!a.opsets.empty()) command += " --opsets " + a.opsets;
  if (!a.optimize.empty()) command += " --optimize " + a.optimize;
  if (!a.disabled.empty()) command += " --disable-pass " + a.disabled;
  if (!a.also_levels.empty()) command += " --also-levels " + a.also_levels;
  if (a.scaled) command += " --scaled";
  if (a.alone > 0) command += " --alone " + std::to_string(a.alone);
  return command;
}

// Where the modules of a file's `-- python` cases lie.
fs::path made_folder(const Arguments& a, const fs::path& file) {
  return a.work / (file.parent_path().filename() / file.stem());
}

// --- a child: one file

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

torch_io::Loaded module_of(const Case& c, const fs::path& made, size_t index) {
  return c.python ? load_python_module(made, index) : define_module(c);
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

Totals run_file(const Arguments& a, const fs::path& file) {
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
      const torch_io::Loaded module = module_of(c, made, i);
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

// --- the parent: a process a file

struct Child {
  fs::path file, results, output;
  size_t from = 0;
};

class Parent {
 public:
  Parent(const Arguments& a, const std::vector<fs::path>& files) : a_(a) {
    for (const fs::path& f : files) waiting_.push_back({f, {}, {}, 0});
    // The longest first: alone at the end, it would keep one core busy.
    std::ranges::stable_sort(waiting_, std::ranges::greater{},
                             [](const Child& c) { return fs::file_size(c.file); });
  }

  Totals run() {
    make_python_cases();
    // Several processes share the cores: their threads must not spin while they wait.
    setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
    while (!waiting_.empty() || !running_.empty()) {
      while (!waiting_.empty() && running_.size() < static_cast<size_t>(a_.jobs)) start();
      int status = 0;
      const pid_t pid = waitpid(-1, &status, 0);
      if (pid < 0) throw std::runtime_error("waitpid failed");
      const Child child = running_.at(pid);
      running_.erase(pid);
      finish(child, status);
    }
    return std::move(totals_);
  }

 private:
  void make_python_cases() const {
    std::vector<PythonCases> files;
    for (const Child& c : waiting_) {
      try {
        const std::vector<Case> cases = parse(c.file);
        if (std::ranges::any_of(cases,
                                [&](const Case& x) { return x.python && wanted(a_, c.file, x); }))
          files.push_back({c.file, made_folder(a_, c.file)});
      } catch (const std::exception&) {
        // The file's own child says what is wrong with it.
      }
    }
    make_python_modules(a_.python, files);
  }

  void start() {
    Child c = waiting_.front();
    waiting_.pop_front();
    const std::string stem = c.file.parent_path().filename().string() + "_" +
                             c.file.stem().string() + "_" + std::to_string(c.from);
    c.results = a_.work / (stem + ".results");
    c.output = a_.work / (stem + ".out");
    std::cout.flush();
    // A fork has LibTorch loaded already. No thread runs yet that it would lose.
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("cannot start a process");
    if (pid == 0) run_child(c);
    running_.emplace(pid, c);
  }

  [[noreturn]] void run_child(const Child& c) const {
    const int output = open(c.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(output, 1);
    dup2(output, 2);
    Arguments a = a_;
    a.from = c.from;
    a.results = c.results.string();
    int code = 0;
    try {
      run_file(a, c.file);
    } catch (const std::exception& e) {
      std::cerr << "error: " << e.what() << "\n";
      code = 1;
    }
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  }

  void finish(const Child& c, int status) {
    std::ifstream in(c.results);
    bool done = false;
    long at = -1;
    for (std::string line; std::getline(in, line);) {
      const size_t blank = line.find(' ');
      const std::string key = line.substr(0, blank), value = line.substr(blank + 1);
      if (key == "at")
        at = std::stol(value);
      else if (key == "passed")
        ++totals_.passed;
      else if (key == "failed")
        ++totals_.failed;
      else if (key == "skipped")
        ++totals_.skipped;
      else if (key == "unscaled")
        ++totals_.unscaled;
      else if (key == "case")
        totals_.cases.push_back(nlohmann::json::parse(value));
      else if (key == "seen")
        totals_.seen.push_back(seen_from_json(value));
      else if (key == "done")
        done = true;
    }
    std::ifstream output(c.output);
    std::cout << output.rdbuf();
    std::cout.clear();  // an empty output sets failbit
    if (done) return;
    ++totals_.failed;
    const std::string how = WIFSIGNALED(status)
                                ? "signal " + std::to_string(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
    if (at < 0) {
      std::cout << "FAIL " << c.file.string() << ": ended before its first case with " << how
                << std::endl;
      return;
    }
    const std::vector<Case> cases = parse(c.file);
    std::cout << "FAIL " << label(c.file, cases.at(at)) << "\nthe process ended with " << how
              << "\n"
              << how_to_repeat(a_, c.file, cases.at(at)) << std::endl;
    totals_.cases.push_back(
        report_of(c.file, cases.at(at),
                  {Outcome::Kind::Failed, "the process ended with " + how, {}, {}, {}}));
    if (static_cast<size_t>(at) + 1 < cases.size())
      waiting_.push_back({c.file, {}, {}, static_cast<size_t>(at) + 1});
  }

  const Arguments& a_;
  std::deque<Child> waiting_;
  std::map<pid_t, Child> running_;
  Totals totals_;
};

// Rows of the lowering tables that no case reached. Only asked when every operator file ran.
std::vector<std::string> unreached_rows(const std::vector<Seen>& all) {
  std::set<std::string> reached;
  for (const Seen& s : all) reached.insert(s.calls.begin(), s.calls.end());
  std::vector<std::string> rows;
  for (const lower::Table& table : lower::tables()) {
    for (const lower::Lowering& row : table) {
      for (std::string_view name : row.names)
        if (!reached.count(std::string(name))) rows.emplace_back(name);
    }
  }
  for (const lower::Table& table : lower::complex_tables())
    for (const lower::Lowering& row : table)
      for (std::string_view name : row.names)
        if (!reached.count(complex_call(name))) rows.push_back(complex_call(name));
  return rows;
}

// The lines of opsets/operators.tsv that are not what the cases showed, with the reason; --bless
// writes it, unless a case failed: the table would lose what that case shows. What was seen at some
// opsets alone says nothing of the others.
std::vector<std::string> stale_lines(const Arguments& a, const std::vector<Seen>& all,
                                     bool failed) {
  const fs::path path = GOLDEN_SOURCE_DIR "/opsets/operators.tsv";
  const std::string now = operator_table(all);
  if (a.bless && !failed) std::ofstream(path) << now;
  const std::string was = read_whole_file(path);
  if (was == now) return {};
  if (without_measures(was) != without_measures(now)) return {"the list of operators"};
  if (a.bless) return {"measures"};
  return a.opsets.empty() ? contradicted(was, all) : std::vector<std::string>{};
}

std::vector<std::string> failures(const nlohmann::json& cases) {
  std::vector<std::string> names;
  for (const nlohmann::json& c : cases)
    if (c.at("result") != "passed")
      names.push_back(lineless_label(c.at("file").get<std::string>(), c.at("name")));
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  a.python = GOLDEN_SOURCE_DIR "/.deps/venv/bin/python3";
  std::string work = (fs::temp_directory_path() / ("golden_" + std::to_string(getpid()))).string();
  CLI::App app("Runs golden cases: every opset, ONNX Runtime against LibTorch");
  app.add_option("paths", a.paths, "files, or folders of .test files")->required();
  app.add_option("--filter", a.filter, "only cases whose label contains this text");
  app.add_option("--opsets", a.opsets, "such as 9,18; default: all");
  app.add_option("--jobs", a.jobs, "files at a time");
  app.add_option("--seconds", a.seconds, "a case that takes longer is ended, and has failed");
  app.add_option("--python", a.python, "interpreter for `-- python` cases");
  app.add_option("--ort-lib", a.ort_lib, "ONNX Runtime's library");
  app.add_flag("--bless", a.bless, "rewrite the pinned text");
  app.add_flag("--allow-refusals", a.allow_refusals,
               "with --bless: also that an opset needs a newer one where the case says nothing");
  app.add_flag(
      "--scaled", a.scaled,
      "only count: at four times its sizes a case has as many nodes (default: opsets 11,18)");
  app.add_option(
      "--alone", a.alone,
      "the inputs that are found for a case's module instead of its own; so many percent "
      "have to pass");
  app.add_option("--optimize", a.optimize, "none, basic or full; pinned text is not compared")
      ->check(CLI::IsMember({"none", "basic", "full"}));
  app.add_option("--also-levels", a.also_levels,
                 "at these opsets the levels none, basic and full run as well; no text is pinned");
  app.add_option("--disable-pass", a.disabled, "PASS,...; pinned text is not compared");
  app.add_option("--known", a.known,
                 "with --alone: a file that names cases that fail; they do not run");
  app.add_option("--report", a.report, "write what came of every case to this JSON file");
  app.add_option("--work", work, "folder for intermediate files");
  CLI11_PARSE(app, argc, argv);
  if (a.scaled && a.opsets.empty()) a.opsets = "11,18";
  if (a.alone && a.opsets.empty()) a.opsets = "18";
  a.work = work;
  fs::create_directories(a.work);

  Totals t;
  try {
    if (a.bless && !(a.opsets + a.also_levels).empty())
      throw std::runtime_error("--bless needs every opset: leave --opsets and --also-levels out");
    const std::vector<fs::path> files = tests::case_files({a.paths.begin(), a.paths.end()});
    t = Parent(a, files).run();
    const auto whole = [&](const char* folder) {
      return std::ranges::any_of(a.paths, [&](const fs::path& p) {
        return fs::is_directory(p) && fs::canonical(p).filename() == folder;
      });
    };
    const bool every_case =
        a.filter.empty() && !a.scaled && !a.alone && a.optimize.empty() && a.disabled.empty();
    if (every_case && whole("ops") && whole("semantics")) {
      for (const std::string& row : unreached_rows(t.seen)) {
        ++t.failed;
        std::cout << "FAIL " << row << ": no case reaches this row of the lowering tables\n";
      }
      const std::vector<std::string> stale = stale_lines(a, t.seen, t.failed > 0);
      if (!stale.empty()) {
        ++t.failed;
        std::cout << "FAIL opsets/operators.tsv is out of date (" << join(stale, ", ")
                  << "): run scripts/bless" << (a.bless ? " once the other cases pass\n" : "\n");
      }
    }
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << "\n";
    ++t.failed;
  }
  if (!a.report.empty()) std::ofstream(a.report) << t.cases.dump(1, ' ', false, kReplace) << "\n";
  if (!std::getenv("GOLDEN_KEEP")) fs::remove_all(a.work);
  if (std::getenv("ONNX_EXPORT_TESTS_REQUIRE_ALL")) {
    std::string why;
    if (!verify::Ort::load(a.ort_lib, why)) {
      std::cout << "FAIL ONNX Runtime is absent: " << why << "\n";
      ++t.failed;
    }
  }
  if (a.scaled)
    std::cout << t.unscaled << " of these cases run at no other size that was tried" << std::endl;
  if (a.alone) {  // one test: enough of them
    std::cout << "inputs found: " << t.passed << " of " << t.passed + t.failed
              << " cases convert and verify" << std::endl;
    bool enough = 100 * t.passed >= static_cast<size_t>(a.alone) * (t.passed + t.failed);
    if (!a.known.empty()) {
      for (const std::string& name : failures(t.cases)) {
        std::cout << "FAIL " << name << ": does not convert and verify, and " << a.known
                  << " does not name it\n";
        enough = false;
      }
    }
    t.passed = enough;
    t.failed = !enough;
  }
  std::cout << t.passed << " passed, " << t.failed << " failed";
  if (t.skipped) std::cout << ", " << t.skipped << " skipped";
  std::cout << std::endl;
  return t.failed ? 1 : 0;
}
