// Runs the worker within its limits and waits for its report, for its death, or for a signal to
// ourselves.
#include "app/supervise/run_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "app/supervise/start.h"
#include "app/supervise/warm_workers.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using Clock = std::chrono::steady_clock;

// Times the kernel ran out of memory and killed something, since it was started.
long out_of_memory_kills() {
  std::ifstream in("/proc/vmstat");
  std::string key;
  long value = 0;
  while (in >> key >> value)
    if (key == "oom_kill") return value;
  return 0;
}

// Bytes of memory of a process; 0 of a process that is gone.
struct MemoryUse {
  uint64_t own = 0;            // neither shared nor of a file
  uint64_t address_space = 0;  // the most until now
};
MemoryUse memory_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  MemoryUse use;
  std::string line;
  while (std::getline(in, line)) {
    const auto kib = [&](std::string_view key) -> uint64_t {
      return line.starts_with(key) ? std::strtoull(line.c_str() + key.size(), nullptr, 10) << 10
                                   : 0;
    };
    use.own += kib("RssAnon:") + kib("RssShmem:");
    use.address_space += kib("VmPeak:");
  }
  return use;
}

// Forwards the worker's output to our own stream, up to a limit: a program must not fill the disk
// or the terminal.
class Forwarded {
 public:
  Forwarded(std::ostream& to, uint64_t most) : below_(to), to_(to), left_(most) {}
  void add(std::string_view text) {
    if (held_) {
      // Only the loader of libraries prints this early, and a line of its is enough.
      kept_ += text.substr(0, std::min<size_t>(text.size(), kMostHeld - kept_.size()));
      return;
    }
    to_.write(text.data(), static_cast<std::streamsize>(std::min<uint64_t>(text.size(), left_)));
    if (left_ > 0 && text.size() >= left_)
      to_ << "\n(the worker printed more than the limit; the rest is left out)\n";
    left_ -= std::min<uint64_t>(left_, text.size());
    below_.flush();
  }
  // Until release(), nothing is printed.
  void hold() { held_ = true; }
  void release() {
    held_ = false;
    add(std::exchange(kept_, {}));
  }
  const std::string& kept() const { return kept_; }

 private:
  static constexpr size_t kMostHeld = 4096;
  std::ostream& below_;
  SafeStream to_;  // text of a worker that was taken over, perhaps
  uint64_t left_;
  bool held_ = false;
  std::string kept_;
};

class Run {
 public:
  Run(const WorkerJob& job, const WorkerListener& listener)
      : job_(job),
        listener_(listener),
        worker_(start_worker(arguments(job), trial_, job.warm)),
        signals_(signal_descriptor()),
        process_(worker_.process ? worker_.process.release()
                                 : static_cast<int>(syscall(SYS_pidfd_open, worker_.pid, 0))) {
    errors_.hold();
  }
  ~Run() {
    if (worker_.pid <= 0) return;
    end();
    ended(0);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  WorkerResult wait() {
    const long kills_before = out_of_memory_kills();
    while (!ended(WNOHANG) && !r_.our_signal && r_.crossed == WorkerResult::Crossed::Nothing)
      step();
    if (worker_.pid > 0) end();
    ended(0);
    drain();
    const int status = status_;
    if (WIFEXITED(status)) r_.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) r_.signal = WTERMSIG(status);
    r_.start_error = safe_line(strip(errors_.kept()));
    r_.trial = trial_.read();
    r_.out_of_memory = r_.signal == SIGKILL && r_.crossed == WorkerResult::Crossed::Nothing &&
                       out_of_memory_kills() > kills_before;
    return std::move(r_);
  }

 private:
  static std::vector<std::string> arguments(const WorkerJob& job) {
    std::vector<std::string> all = {to_text(job.launch)};
    all.insert(all.end(), job.arguments.begin(), job.arguments.end());
    return all;
  }
  static Descriptor signal_descriptor() {
    const sigset_t ending = ending_signals();
    return Descriptor(signalfd(-1, &ending, SFD_CLOEXEC));
  }

  void end() const {
    // A process that is no child of ours may be gone, and its number another's.
    if (worker_.end)
      syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    else
      kill(worker_.pid, SIGKILL);
  }

  bool ended(int flags) {
    if (worker_.pid <= 0) return true;
    if (worker_.end) {
      const std::optional<int> status = reported_end(worker_.end.get(), flags == WNOHANG);
      if (!status) return false;
      status_ = *status;
      worker_.pid = -1;
      return true;
    }
    pid_t which = 0;
    while ((which = waitpid(worker_.pid, &status_, flags)) < 0 && errno == EINTR) {
    }
    if (which == 0) return false;
    worker_.pid = -1;
    return true;
  }

  void step() {
    // Milliseconds between two looks at time and memory; the worker's end wakes us where the kernel
    // has descriptors of processes.
    const int tick = report_open_ || process_ ? 50 : 1;
    const WorkerPipes& p = worker_.pipes;
    pollfd watched[] = {{signals_.get(), POLLIN, 0},
                        {report_open_ ? p.report.get() : -1, POLLIN, 0},
                        {output_open_ ? p.output.get() : -1, POLLIN, 0},
                        {errors_open_ ? p.errors.get() : -1, POLLIN, 0},
                        {files_open_ ? p.files.get() : -1, POLLIN, 0},
                        {process_.get(), POLLIN, 0}};
    poll(watched, std::size(watched), tick);
    if (listener_.waiting) listener_.waiting();
    if (watched[0].revents & POLLIN) take_signal();
    if (watched[2].revents) output_open_ = forward(p.output, output_);
    if (watched[3].revents) errors_open_ = forward(p.errors, errors_);
    if (watched[4].revents) files_open_ = answer();
    if (watched[1].revents) report_open_ = read_report();
    look_at_limits();
  }

  void look_at_limits() {
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> passed = now - job_.start;
    if (passed.count() >= job_.launch.limits.seconds) r_.crossed = WorkerResult::Crossed::Time;
    if (now < next_look_) return;
    next_look_ = now + std::chrono::milliseconds(20);
    const MemoryUse use = memory_of(worker_.pid);
    r_.address_space = std::max(r_.address_space, use.address_space);
    if (use.own > job_.launch.limits.memory) r_.crossed = WorkerResult::Crossed::Memory;
  }

  void take_signal() {
    signalfd_siginfo info;
    if (read(signals_.get(), &info, sizeof info) == sizeof info)
      r_.our_signal = static_cast<int>(info.ssi_signo);
  }

  // False at the end of the worker's stream.
  static bool forward(const Descriptor& from, Forwarded& to) {
    char chunk[65536];
    const ssize_t n = read(from.get(), chunk, sizeof chunk);
    if (n > 0) to.add({chunk, static_cast<size_t>(n)});
    return n > 0 || (n < 0 && errno == EINTR);
  }

  bool answer() {
    const std::optional<FileRequest> request = receive_request(worker_.pipes.files.get());
    if (!request) return false;
    const FileAnswer a = job_.files ? job_.files->answer(*request) : FileAnswer{EACCES, -1};
    const Descriptor sent(a.descriptor);
    return send_answer(worker_.pipes.files.get(), a);
  }

  // False at its end.
  bool read_report() {
    char chunk[65536];
    const ssize_t n = read(worker_.pipes.report.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0 || buffer_.size() > kLongestReport) return false;
    buffer_.append(chunk, static_cast<size_t>(n));
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
      take_line(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
    }
    return true;
  }

  void take_line(const std::string& line) {
    constexpr std::string_view stage = "stage ", versions = "versions ", sandbox = "sandbox ";
    if (line.starts_with(stage)) {
      r_.stage = safe_line(line.substr(stage.size(), kShownMessage));
      if (listener_.stage) listener_.stage(r_.stage);
    } else if (line.starts_with(versions)) {
      if (listener_.environment)
        listener_.environment(safe_line(line.substr(versions.size(), kShownMessage)));
    } else if (line.starts_with(sandbox)) {
      errors_.release();
      const ordered_json j = ordered_json::parse(line.substr(sandbox.size()), nullptr, false);
      try {
        r_.sandbox = sandbox_from(j);
        if (listener_.environment) listener_.environment("sandbox " + sandbox_text(*r_.sandbox));
      } catch (const ordered_json::exception&) {
        // A worker that was taken over writes anything.
      }
    } else {
      r_.report = line;
    }
  }

  // Forwards the output that the worker left in its pipes when it ended.
  void drain() {
    const int flags = O_NONBLOCK;
    for (const auto& [from, to] :
         {std::pair{&worker_.pipes.output, &output_}, std::pair{&worker_.pipes.errors, &errors_}}) {
      fcntl(from->get(), F_SETFL, flags);
      while (forward(*from, *to)) {
      }
    }
    fcntl(worker_.pipes.report.get(), F_SETFL, flags);
    while (read_report()) {
    }
  }

  static constexpr uint64_t kMostOutput = uint64_t{1} << 30, kMostErrors = 1 << 20;
  static constexpr size_t kLongestReport = size_t{256} << 20;

  const WorkerJob& job_;
  const WorkerListener& listener_;
  const TrialMemory trial_;
  Forwarded output_{std::cout, kMostOutput}, errors_{std::cerr, kMostErrors};
  // Nothing after it allocates: the destructor, which ends the worker, needs a complete object.
  StartedWorker worker_;
  const Descriptor signals_, process_;
  int status_ = 0;
  bool report_open_ = true, output_open_ = true, errors_open_ = true, files_open_ = true;
  Clock::time_point next_look_{};
  std::string buffer_;
  WorkerResult r_;
};

// The limit on address space that the caller's shell set (ulimit -v); nothing: none.
std::optional<uint64_t> outer_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// Whether the worker came near the limit of the shell. A thread's stack and a tensor are asked for
// at once, so that half of the limit is near.
bool met_outer_limit(const WorkerResult& w) {
  const std::optional<uint64_t> limit = outer_limit();
  return limit && w.address_space > *limit / 2;
}

Stop memory_stop(const std::string& message, const WorkerResult& w, const WorkerJob& job) {
  Stop s{ExitCode::Limit, "OE0801", message, {}, nullptr};
  name_memory_limit(s, w, job);
  return s;
}

}  // namespace

WorkerResult run_worker(const WorkerJob& job, const WorkerListener& listener) {
  return Run(job, listener).wait();
}

void name_memory_limit(Stop& s, const WorkerResult& w, const WorkerJob& job) {
  if (s.code != "OE0801") return;
  const std::optional<uint64_t> outer = outer_limit();
  if (outer && (met_outer_limit(w) || *outer < job.launch.limits.memory))
    s.hint = "the shell's limit is " + human_bytes(*outer) + " of address space (ulimit -v)";
  else
    s.hint = "the limit is " + human_bytes(job.launch.limits.memory) +
             "; raise it with --max-memory, or convert at smaller example sizes";
}

Stop stop_of(const WorkerResult& w, const WorkerJob& job) {
  const std::string where = w.stage.empty() ? "" : " in stage " + w.stage;
  if (w.crossed == WorkerResult::Crossed::Time || w.signal == SIGXCPU)
    return {ExitCode::Limit, "OE0802",
            "the run took longer than " + duration_text(job.launch.limits.seconds) + where,
            "raise the limit with --max-time, or convert at smaller example sizes", nullptr};
  if (w.crossed == WorkerResult::Crossed::Memory)
    return memory_stop("the worker needed more than " + human_bytes(job.launch.limits.memory) +
                           " of memory" + where,
                       w, job);
  if (w.out_of_memory) return memory_stop("the machine ran out of memory" + where, w, job);
  // Libraries that get no memory for a thread's stack call exit().
  if (outer_limit() && (met_outer_limit(w) || !w.sandbox || !w.signal))
    return memory_stop("the worker ran out of memory" + where, w, job);
  const std::string crashed =
      std::string("report it with the model: ") +
      (job.launch.onnxruntime ? "onnx-export, LibTorch or ONNX Runtime failed"
                              : "onnx-export or LibTorch failed");
  const char* name = w.signal ? sigabbrev_np(w.signal) : nullptr;
  const std::string how =
      w.signal ? "was killed by SIG" + std::string(name ? name : "?")
               : "exited with status " + std::to_string(w.exit_status) + " without a report";
  return {ExitCode::Crashed, "OE0901",
          "the worker " + how + where + (w.start_error.empty() ? "" : ": " + w.start_error),
          w.signal == SIGKILL ? "another process killed it, or a memory limit did" : crashed,
          nullptr};
}

}  // namespace oe::app
