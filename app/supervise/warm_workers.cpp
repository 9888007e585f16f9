#include "app/supervise/warm_workers.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

#include "app/warm_protocol.h"
#include "lib/support/diagnostics.h"

namespace oe::app {

WarmWorkers::~WarmWorkers() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void WarmWorkers::ensure_running() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) return;
  pid_ = -1;
  requests_ = Descriptor();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  Descriptor ours(ends[0]), theirs(ends[1]);
  const Given given[] = {
      {STDERR_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}, {theirs.get(), kWarmFd}};
  try {
    pid_ = spawn_worker({to_text(libraries_), "warm"}, given);
  } catch (const Failure&) {
    return;  // each run reports it
  }
  requests_ = std::move(ours);
}

bool WarmWorkers::start(const std::vector<std::string>& arguments, std::span<const Given> given,
                        StartedWorker& w) const {
  if (!requests_) return false;
  const Descriptor words = words_file(arguments);
  int ends[2];
  if (!words || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  Descriptor ours(ends[0]), theirs(ends[1]);
  std::vector<int> sent = {words.get()};
  for (const Given& g : given) sent.push_back(g.descriptor);
  sent.push_back(theirs.get());
  if (!send_packet(requests_.get(), "f", sent)) return false;
  theirs = Descriptor();
  std::optional<Packet> p = receive_packet(ours.get(), sizeof(int));
  const std::optional<int> pid = number_of(p);
  if (!pid || *pid <= 0 || p->descriptors.empty()) return false;
  w.pid = *pid;
  w.process = std::move(p->descriptors[0]);
  w.end = std::move(ours);
  return true;
}

std::optional<int> reported_end(int socket, bool without_waiting) {
  const std::optional<Packet> p =
      receive_packet(socket, sizeof(int), without_waiting ? MSG_DONTWAIT : 0);
  if (!p && without_waiting && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  return number_of(p).value_or(SIGKILL);
}

}  // namespace oe::app
