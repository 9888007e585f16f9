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
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/lower/lowering.h"
#include "lib/support/files.h"
#include "lib/support/text.h"
#include "lib/torch/cuda.h"
#include "tests/support/golden_module.h"
#include "tests/support/golden_run.h"

namespace fs = std::filesystem;
using namespace oe;
using namespace oe::golden;

namespace {

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
  app.add_option(
      "--known", a.known,
      "a file that names cases that fail and do not run; with --alone they count as failed");
  app.add_option("--device", a.device, "where LibTorch runs the cases: cpu, cuda or cuda:N");
  app.add_option("--report", a.report, "write what came of every case to this JSON file");
  app.add_option("--work", work, "folder for intermediate files");
  CLI11_PARSE(app, argc, argv);
  if (a.scaled && a.opsets.empty()) a.opsets = "11,18";
  if (a.alone && a.opsets.empty()) a.opsets = "18";
  a.work = work;
  fs::create_directories(a.work);

  Totals t;
  try {
    if (a.device != "cpu") torch_io::open_cuda();  // once for all children
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
