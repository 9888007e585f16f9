// Runs the worker and waits for its report, for its death, or for a signal to ourselves.
#include "app/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lib/support/diagnostics.h"
#include "lib/support/trial.h"

extern char** environ;

namespace oe::app {
namespace {

// Times the kernel ran out of memory and killed something, since it was started.
long out_of_memory_kills() {
  std::ifstream in("/proc/vmstat");
  std::string key;
  long value = 0;
  while (in >> key >> value)
    if (key == "oom_kill") return value;
  return 0;
}

// Those that end us by default and that nobody told us to ignore (nohup, a background job).
sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now;
    sigaction(s, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, s);
  }
  return set;
}

pid_t start(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            int report_fd, int trial_fd) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, report_fd, kReportFd);
  posix_spawn_file_actions_adddup2(&actions, trial_fd, kTrialFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  // Threads that spin while they wait made a conversion ten times slower on a busy machine.
  setenv("OMP_WAIT_POLICY", "PASSIVE", /*overwrite=*/0);
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw Failure(ExitCode::Internal, "OE0002",
                  "cannot start " + program.string() + ": " + std::strerror(error),
                  "it belongs beside onnx-export");
  return pid;
}

// The memory in which the worker notes what it tries.
class TrialMemory {
 public:
  TrialMemory() : fd_(memfd_create("trial", MFD_CLOEXEC)) {
    if (fd_ < 0 || ftruncate(fd_, sizeof(TrialNote)) != 0)
      throw Failure(ExitCode::Internal, "OE0002", std::strerror(errno));
  }
  ~TrialMemory() { close(fd_); }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  int descriptor() const { return fd_; }
  // What a dead worker left: text of its own making, ended here.
  LeftOut read() const {
    TrialNote n{};
    if (pread(fd_, &n, sizeof n, 0) != sizeof n) return {};
    n.sizes[sizeof n.sizes - 1] = n.op[sizeof n.op - 1] = 0;
    return {n.sizes, n.op};
  }

 private:
  int fd_;
};

// Takes whole lines off `buffer`.
void read_lines(std::string& buffer, WorkerResult& r, const WorkerListener& listener) {
  constexpr std::string_view stage = "stage ", versions = "versions ";
  for (size_t end; (end = buffer.find('\n')) != std::string::npos;) {
    const std::string line = buffer.substr(0, end);
    buffer.erase(0, end + 1);
    if (line.starts_with(stage)) {
      r.stage = line.substr(stage.size());
      if (listener.stage) listener.stage(r.stage);
    } else if (line.starts_with(versions)) {
      if (listener.versions) listener.versions(line.substr(versions.size()));
    } else {
      r.report = line;
    }
  }
}

}  // namespace

void hold_ending_signals() {
  const sigset_t ending = ending_signals();
  sigprocmask(SIG_BLOCK, &ending, nullptr);
}

WorkerResult run_worker(const std::vector<std::string>& arguments, const WorkerListener& listener) {
  constexpr int kWait = 250;  // milliseconds between two calls of the listener
  WorkerResult r;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "onnx-export-worker";
  const long kills_before = out_of_memory_kills();
  const sigset_t ending = ending_signals();
  const int signals = signalfd(-1, &ending, SFD_CLOEXEC);
  int ends[2];
  if (signals < 0 || pipe2(ends, O_CLOEXEC) != 0)
    throw Failure(ExitCode::Internal, "OE0002", std::strerror(errno));
  const TrialMemory trial;
  const pid_t pid = start(program, arguments, ends[1], trial.descriptor());
  close(ends[1]);

  std::string buffer;
  for (bool open = true; open && !r.our_signal;) {
    pollfd watched[2] = {{ends[0], POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(watched, 2, listener.waiting ? kWait : -1) < 0 && errno != EINTR) break;
    if (listener.waiting) listener.waiting();
    if (watched[1].revents & POLLIN) {
      signalfd_siginfo info;
      if (read(signals, &info, sizeof info) == sizeof info)
        r.our_signal = static_cast<int>(info.ssi_signo);
    } else if (watched[0].revents) {
      char chunk[65536];
      const ssize_t n = read(ends[0], chunk, sizeof chunk);
      if (n > 0)
        buffer.append(chunk, static_cast<size_t>(n));
      else if (n == 0 || errno != EINTR)
        open = false;
      read_lines(buffer, r, listener);
    }
  }
  if (r.our_signal) kill(pid, SIGKILL);
  close(ends[0]);
  close(signals);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) r.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  r.trial = trial.read();
  r.out_of_memory = r.signal == SIGKILL && out_of_memory_kills() > kills_before;
  return r;
}

Stop stop_of(const WorkerResult& w) {
  const std::string where = w.stage.empty() ? "" : " in stage " + w.stage;
  if (w.out_of_memory)
    return {ExitCode::Limit, "OE0801", "the worker ran out of memory" + where, {}, nullptr};
  const char* name = w.signal ? sigabbrev_np(w.signal) : nullptr;
  const std::string how =
      w.signal ? "was ended by SIG" + std::string(name ? name : "?")
               : "exited with status " + std::to_string(w.exit_status) + " without a report";
  return {ExitCode::Crashed, "OE0901", "the worker " + how + where,
          w.signal == SIGKILL ? "somebody killed it, or a memory limit did"
                              : "this is a bug in onnx-export or LibTorch, please report it with "
                                "the model",
          nullptr};
}

void end_by(int number) {
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  _exit(128 + number);
}

}  // namespace oe::app
