#include "app/worker/warm.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>

#include "app/launch.h"
#include "app/warm_protocol.h"

namespace oe::app {
namespace {

// In the order of WarmWorkers::start(), behind the words.
constexpr int kNumbers[] = {STDOUT_FILENO, STDERR_FILENO, kReportFd, kTrialFd, kFilesFd};
constexpr size_t kInRequest = std::size(kNumbers) + 2;

sigset_t ended_children() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Makes of a forked process what an executed worker begins as.
std::vector<std::string> become_worker(pid_t parent, const Packet& request) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::vector<std::string> words = words_from(request.descriptors[0].get());
  // The numbers may be taken by descriptors of the request.
  constexpr int kFirstFree = kFilesFd + 1;
  int moved[std::size(kNumbers)];
  for (size_t i = 0; i < std::size(kNumbers); ++i)
    moved[i] = fcntl(request.descriptors[i + 1].get(), F_DUPFD, kFirstFree);
  for (size_t i = 0; i < std::size(kNumbers); ++i)
    if (dup2(moved[i], kNumbers[i]) < 0) _exit(1);
  close_range(kFirstFree, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  return words;
}

class Warm {
 public:
  Warm() {
    const sigset_t set = ended_children();
    sigprocmask(SIG_BLOCK, &set, nullptr);
    children_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  std::vector<std::string> serve() {
    for (;;) {
      std::vector<pollfd> watched = {{kWarmFd, POLLIN, 0}, {children_.get(), POLLIN, 0}};
      for (const auto& [pid, end] : running_) watched.push_back({end.get(), 0, 0});
      if (poll(watched.data(), watched.size(), -1) < 0) continue;
      // A supervisor that is gone wants no result.
      for (size_t i = 2; const auto& [pid, end] : running_)
        if (watched[i++].revents & (POLLHUP | POLLERR)) kill(pid, SIGKILL);
      if (watched[1].revents) report_ended();
      if (!watched[0].revents) continue;
      std::optional<Packet> request = receive_packet(kWarmFd, 1);
      if (!request) _exit(0);
      if (request->descriptors.size() != kInRequest) continue;
      const pid_t parent = getpid(), pid = fork();
      if (pid == 0) {
        std::vector<std::string> words = become_worker(parent, *request);
        // They are closed already, under numbers that are others' now.
        for (Descriptor& d : request->descriptors) d.release();
        for (auto& [other, end] : running_) end.release();
        children_.release();
        return words;
      }
      Descriptor& end = request->descriptors.back();
      const Descriptor process(pid < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
      if (!process || !send_number(end.get(), pid, std::array{process.get()})) {
        if (pid > 0) kill(pid, SIGKILL);
        continue;
      }
      running_.emplace(pid, std::move(end));
    }
  }

 private:
  void report_ended() {
    signalfd_siginfo info;
    while (read(children_.get(), &info, sizeof info) == sizeof info) {
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (const auto it = running_.find(pid); it != running_.end()) {
        send_number(it->second.get(), status);
        running_.erase(it);
      }
  }

  Descriptor children_;
  std::map<pid_t, Descriptor> running_;  // with the socket for its end
};

}  // namespace

std::vector<std::string> wait_for_work() { return Warm().serve(); }

}  // namespace oe::app
