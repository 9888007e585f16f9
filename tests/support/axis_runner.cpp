// axis_tests: every operator with an axis rule, each argument constant in turn; declared shapes are
// held against real ones at other sizes.
//
//   axis_tests [--jobs N] [--only aten::NAME] [-v]
//
// For each overload arguments are drawn by the types of its schema (tests/axes/samples.h) until
// LibTorch has taken a handful. Overloads are dealt out to child processes, because a kernel may
// end its process on a wrong argument: another child goes on behind that step.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "lib/capture/operators/axes/axes.h"
#include "lib/torch/load.h"
#include "lib/torch/unchecked.h"
#include "tests/axes/function.h"
#include "tests/axes/samples.h"

using namespace oe;
using namespace oe::axes;
using nlohmann::json;

namespace {

constexpr int kDraws = 400;       // for one overload
constexpr size_t kKept = 6;       // samples of it
constexpr size_t kAlike = 3;      // of these with the same ranks and element types as another one
constexpr size_t kSizes = 8;      // other sizes that LibTorch takes, for one variant
constexpr int kProblems = 3;      // told of an overload
constexpr unsigned kSeconds = 8;  // for one step

struct Settings {
  size_t jobs = 2;
  std::string only;
  bool verbose = false;
};

struct Overload {
  std::string name;
  std::shared_ptr<torch::jit::Operator> op;
};

// What happened where, in memory that a crash leaves.
struct Position {
  size_t overload, step;
};

uint64_t seed_of(const std::string& text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

class Judge {
 public:
  // `skipped`: the steps of this overload that ended a process.
  Judge(const Overload& o, const std::set<size_t>& skipped, Position& position)
      : overload_(o), schema_(o.op->schema()), skipped_(skipped), position_(position) {}

  json run(bool verbose) {
    verbose_ = verbose;
    for (const Sample& s : samples()) {
      if (verbose) result_["samples"].push_back(text(s));
      ++count("samples");
      for (const Variant& v : variants(s)) judge(s, v);
    }
    return result_;
  }

 private:
  // Whether the step may run.
  bool step() {
    position_.step = ++steps_;
    alarm(kSeconds);
    return !skipped_.contains(steps_);
  }
  int64_t& count(const char* what) {
    if (!counts_.contains(what)) counts_[what] = 0;
    return *counts_[what].get_ptr<int64_t*>();
  }

  // What LibTorch gives; nothing where it refuses.
  std::optional<std::vector<c10::IValue>> call(const Sample& s, const std::vector<Role>& roles,
                                               const Base& base) {
    if (!step()) return std::nullopt;
    try {
      torch::jit::Stack stack = arguments(s, roles, base);
      overload_.op->getOperation()(stack);
      return stack;
    } catch (const c10::Error& e) {  // what() of it looks every function of the stack up
      last_refusal_ = e.what_without_backtrace();
    } catch (const std::exception& e) {
      last_refusal_ = e.what();
    }
    return std::nullopt;
  }

  static bool gives_dense_tensor(const std::vector<c10::IValue>& results) {
    const auto dense = [](const at::Tensor& t) {
      return t.defined() && t.layout() == c10::kStrided && !t.is_quantized();
    };
    return std::ranges::any_of(results, [&](const c10::IValue& v) {
      if (v.isTensor()) return dense(v.toTensor());
      return v.isTensorList() && std::ranges::all_of(v.toTensorVector(), dense);
    });
  }

  // Ranks, element types, and which arguments are there.
  static std::string kind_of(const Sample& s) {
    std::string out;
    for (const Value& v : s) {
      if (v.kind == Value::Kind::Fixed) out += v.fixed.isNone() ? "-" : ".";
      if (v.kind == Value::Kind::List) out += "[" + std::to_string(v.items.size()) + "]";
    }
    for (const Value* v : leaves(s))
      if (v->kind == Value::Kind::Tensor)
        out += std::to_string(v->tensor.shape.size()) +
               std::to_string(static_cast<int>(v->tensor.dtype));
    return out;
  }

  bool accepts(const Sample& s) {
    const auto results = call(s, std::vector<Role>(leaves(s).size(), Role::Constant), kBase);
    return results && gives_dense_tensor(*results);
  }

  std::vector<Sample> samples() {
    std::vector<Sample> kept, alike;
    for (const Written& w : written())
      if (w.overload == overload_.name) {
        kept.push_back(parse(schema_, w.arguments));
        if (!accepts(kept.back()))
          wrong("LibTorch refuses the written arguments", kept.back(), last_refusal_);
      }
    std::set<std::string> kinds;
    Random random(seed_of(overload_.name));
    const size_t most = kept.size() + kKept;
    const int draws = may_be_drawn(overload_.name) ? kDraws : 0;
    for (int i = 0; i < draws && kept.size() < most; ++i) {
      Sample s = drawn(schema_, random);
      ++count("draws");
      if (!accepts(s)) continue;
      if (kinds.insert(kind_of(s)).second)
        kept.push_back(std::move(s));
      else if (alike.size() < kAlike)
        alike.push_back(std::move(s));
    }
    for (Sample& s : alike)
      if (kept.size() < most) kept.push_back(std::move(s));
    return kept;
  }

  void judge(const Sample& s, const Variant& v) {
    ++count("variants");
    struct World {
      bool alone;
      Capture capture;
    };
    std::deque<World> programs;
    for (const bool alone : {false, true}) {
      if (!step()) continue;
      Capture c = captured(*overload_.op, s, v, alone);
      if (c.kind == Capture::Kind::OtherOverload) {
        ++count("other_overload");
        return;
      }
      if (c.kind == Capture::Kind::Wrong) wrong(v.name, s, c.detail);
      if (c.kind == Capture::Kind::Refused) ++count("refused");
      if (c.kind == Capture::Kind::Program) programs.push_back({alone, std::move(c)});
    }
    if (programs.empty()) return;
    size_t run = 0;
    for (const Base& base : other_bases(s, v)) {
      const auto results = call(s, v.roles, base);
      if (!results) continue;
      for (const World& w : programs) {
        const std::string d = difference(w.capture.program, *results, s, v, base, w.alone);
        if (d.empty()) continue;
        std::string at;
        for (const int64_t n : base) at += (at.empty() ? "" : ",") + std::to_string(n);
        wrong(v.name + (w.alone ? ", captured at one size" : ""), s, d + " at " + at);
        if (verbose_) result_["problems"].push_back(":\n" + program::print(w.capture.program));
        return;
      }
      if (++run == kSizes) break;
    }
    ++count(run == 0 ? "at_no_other_size" : run == 1 ? "at_one_other_size" : "compared");
  }

  void wrong(const std::string& what, const Sample& s, const std::string& why) {
    ++count("wrong");
    const std::string line = why.substr(0, why.find('\n'));
    result_["problems"].push_back("(" + text(s) + "), " + what + ": " + line);
  }

  const Overload& overload_;
  const c10::FunctionSchema& schema_;
  const std::set<size_t>& skipped_;
  Position& position_;
  size_t steps_ = 0;
  bool verbose_ = false;
  std::string last_refusal_;
  json result_ = {{"overload", overload_.name}, {"counts", json::object()}};
  json& counts_ = result_["counts"];
};

std::vector<Overload> overloads(const std::string& only, std::map<std::string, int>& out) {
  std::vector<Overload> all;
  for (const auto& table : capture::axis_tables())
    for (const capture::AxisRow& row : table) {
      const std::string name(row.name);
      if (!name.starts_with("aten::") || (!only.empty() && name != only)) continue;
      ++out["operators"];
      for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
        const std::string reason = outside(op->schema());
        const std::string& overload = op->schema().overload_name();
        if (reason.empty())
          all.push_back({overload.empty() ? name : name + "." + overload, op});
        else
          ++out["overloads that " + reason];
      }
    }
  return all;
}

// A child that judges every `jobs`th overload, and what it has told so far.
class Shard {
 public:
  Shard(const Settings& s, const std::vector<Overload>& all, size_t number)
      : settings_(s), all_(all), next_(number) {
    void* memory =
        mmap(nullptr, sizeof(Position), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    position_ = static_cast<Position*>(memory);
    start();
  }

  int channel() const { return channel_; }
  bool done() const { return channel_ < 0; }

  // Takes what the child has written; gives whole lines.
  std::vector<std::string> receive() {
    char buffer[65536];
    const ssize_t n = read(channel_, buffer, sizeof buffer);
    if (n > 0) {
      text_.append(buffer, static_cast<size_t>(n));
    } else {
      close(channel_);
      channel_ = -1;
      ended();
    }
    std::vector<std::string> lines;
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1))
      lines.push_back(text_.substr(0, end));
    return lines;
  }

  std::vector<std::string> crashes;

 private:
  void start() {
    std::cout.flush();  // else the child might write it too
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("cannot fork");
    if (pid == 0) {
      close(ends[0]);
      try {
        work(ends[1]);
        _exit(0);
      } catch (const std::exception& e) {
        std::cerr << "error: " << e.what() << std::endl;
        _exit(2);
      }
    }
    close(ends[1]);
    pid_ = pid;
    channel_ = ends[0];
  }

  void work(int channel) {
    at::set_num_threads(1);
    const at::NoGradGuard no_grad;
    for (size_t i = next_; i < all_.size(); i += settings_.jobs) {
      *position_ = {i, 0};
      const auto line = Judge(all_[i], skipped_[i], *position_).run(settings_.verbose);
      const std::string out = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
      if (write(channel, out.data(), out.size()) != static_cast<ssize_t>(out.size()))
        throw std::runtime_error("the parent is gone");
    }
  }

  void ended() {
    int status = 0;
    waitpid(pid_, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
      throw std::runtime_error("the operators cannot be judged");
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit";
    crashes.push_back(all_[position_->overload].name + " (" + how + ")");
    if (crashes.size() > 500) throw std::runtime_error("too many crashes");
    skipped_[position_->overload].insert(position_->step);
    next_ = position_->overload;
    start();
  }

  const Settings& settings_;
  const std::vector<Overload>& all_;
  size_t next_;
  Position* position_ = nullptr;
  pid_t pid_ = -1;
  int channel_ = -1;
  std::string text_;
  std::map<size_t, std::set<size_t>> skipped_;
};

class Report {
 public:
  explicit Report(const Settings& s) : settings_(s) {
    for (const Unsampled& u : unsampled()) reasons_.emplace(u.overload, u.reason);
  }

  void add(const std::string& line) {
    const json result = json::parse(line);
    const std::string name = result["overload"];
    ++overloads;
    for (const auto& [what, n] : result["counts"].items()) counts[what] += n.get<int64_t>();
    for (const auto& s : result.value("samples", json::array()))
      std::cout << name << "(" << s.get<std::string>() << ")\n";
    const auto problems = result.value("problems", json::array());
    for (size_t i = 0; i < problems.size() && (settings_.verbose || i < kProblems); ++i)
      std::cout << "FAIL " << name << problems[i].get<std::string>() << "\n";
    const bool sampled = result["counts"].contains("samples");
    const auto reason = reasons_.find(name);
    if (!sampled && reason == reasons_.end())
      std::cout << "FAIL " << name << ": LibTorch took no arguments that were drawn: write some\n";
    if (sampled && reason != reasons_.end())
      std::cout << "FAIL " << name << ": it has samples, against its row\n";
    if (sampled && !result["counts"].contains("compared")) {
      ++not_compared;
      if (settings_.verbose) std::cout << name << ": compared at two other sizes nowhere\n";
    }
    without_samples += sampled ? 0 : 1;
    (problems.empty() && sampled == (reason == reasons_.end()) ? passed : failed) += 1;
  }

  int64_t overloads = 0, without_samples = 0, not_compared = 0, passed = 0, failed = 0;
  std::map<std::string, int64_t> counts;

 private:
  const Settings& settings_;
  std::map<std::string_view, std::string_view> reasons_;
};

Report judge_all(const Settings& s, const std::vector<Overload>& all,
                 std::vector<std::string>& crashes) {
  Report report(s);
  std::vector<std::unique_ptr<Shard>> shards;
  for (size_t i = 0; i < s.jobs; ++i) shards.push_back(std::make_unique<Shard>(s, all, i));
  for (;;) {
    std::vector<pollfd> wait;
    std::vector<Shard*> of;
    for (const auto& shard : shards)
      if (!shard->done()) {
        wait.push_back({shard->channel(), POLLIN, 0});
        of.push_back(shard.get());
      }
    if (wait.empty()) break;
    if (poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR)
      throw std::runtime_error("poll failed");
    for (size_t i = 0; i < wait.size(); ++i)
      if (wait[i].revents)
        for (const std::string& line : of[i]->receive()) report.add(line);
  }
  for (const auto& shard : shards)
    crashes.insert(crashes.end(), shard->crashes.begin(), shard->crashes.end());
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Holds declared shapes against real ones, operator by operator");
  app.add_option("--jobs", s.jobs, "child processes");
  app.add_option("--only", s.only, "one operator: aten::repeat_interleave");
  app.add_flag("-v,--verbose", s.verbose, "every sample and every problem");
  CLI11_PARSE(app, argc, argv);
  try {
    torch_io::register_stub_operators();
    torch_io::check_kernels();  // which replaces some operators
    std::map<std::string, int> out;
    const std::vector<Overload> all = overloads(s.only, out);
    std::vector<std::string> crashes;
    const Report r = judge_all(s, all, crashes);
    std::map<std::string, int> ended;
    for (const std::string& c : crashes) ++ended[c];
    for (const auto& [what, n] : ended)
      std::cout << "LibTorch ended the process " << n << " times in " << what << "\n";
    for (const auto& [what, n] : out) std::cout << n << " " << what << "\n";
    std::cout << r.overloads << " overloads, " << r.without_samples << " of them without a sample, "
              << r.not_compared << " never compared at two other sizes\n";
    for (const auto& [what, n] : r.counts) std::cout << n << " " << what << "\n";
    std::cout << r.passed << " passed, " << r.failed << " failed\n";
    return r.failed ? 1 : 0;
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << std::endl;
    return 1;
  }
}
