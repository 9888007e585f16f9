// A library for --custom-op-lib whose operator hostile::act does what code does that took over the
// worker: it tries to reach files, processes and the network, and prints what it got.
#include <ATen/core/Tensor.h>
#include <ATen/ops/clone.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <torch/library.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

extern char** environ;

namespace {

constexpr int kFilesFd = 5;  // the socket of app/launch.h

void report(const std::string& name, long result, int error) {
  if (result >= 0)
    std::fprintf(stderr, "hostile: %s ALLOWED\n", name.c_str());
  else
    std::fprintf(stderr, "hostile: %s refused: %s\n", name.c_str(), std::strerror(error));
}

long ask_supervisor(char kind, const std::string& path) {
  const std::string message = kind + path;
  if (send(kFilesFd, message.data(), message.size(), MSG_NOSIGNAL) < 0) return -1;
  int answer = 0;
  iovec part{&answer, sizeof answer};
  char control[256];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  if (recvmsg(kFilesFd, &header, 0) < 0) return -1;
  errno = answer;
  return answer == 0 ? 0 : -1;
}

// `path`: a file of the user; `secret`: one whose bytes must not be seen.
void try_all(const std::string& path, const std::string& secret) {
  const std::string beside = path + ".new";
  const char *p = path.c_str(), *b = beside.c_str();
  const pid_t parent = getppid();
  const std::string memory = "/proc/" + std::to_string(parent) + "/mem";
  char bytes[16] = {};
  iovec local{bytes, sizeof bytes}, remote{bytes, sizeof bytes};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  char shell[] = "/bin/true";
  char* const words[] = {shell, nullptr};
  union bpf_attr attributes {};
  io_uring_params ring{};
  const std::pair<const char*, std::function<long()>> acts[] = {
      {"open to write", [&] { return open(p, O_WRONLY); }},
      {"open to append", [&] { return open(p, O_WRONLY | O_APPEND); }},
      {"create", [&] { return open(b, O_WRONLY | O_CREAT, 0600); }},
      {"creat", [&] { return syscall(SYS_creat, b, 0600); }},
      {"open a secret", [&] { return open(secret.c_str(), O_RDONLY); }},
      {"open a folder", [&] { return open("/", O_RDONLY | O_DIRECTORY); }},
      {"open the environment", [&] { return open("/proc/self/environ", O_RDONLY); }},
      {"open the parent's memory", [&] { return open(memory.c_str(), O_RDWR); }},
      {"open by a descriptor of /proc", [&] { return open("/proc/self/fd/1", O_WRONLY); }},
      {"truncate", [&] { return truncate(p, 0); }},
      {"unlink", [&] { return unlink(p); }},
      {"rename", [&] { return rename(p, b); }},
      {"link", [&] { return link(p, b); }},
      {"symlink", [&] { return symlink(p, b); }},
      {"mkdir", [&] { return mkdir(b, 0700); }},
      {"chmod", [&] { return chmod(p, 0777); }},
      {"chown", [&] { return chown(p, 1, 1); }},
      {"utimes", [&] { return syscall(SYS_utimensat, AT_FDCWD, p, nullptr, 0); }},
      {"xattr", [&] { return syscall(SYS_setxattr, p, "user.a", "b", 1, 0); }},
      {"chdir", [&] { return chdir("/"); }},
      {"chroot", [&] { return chroot("/"); }},
      {"mount", [&] { return mount("none", "/mnt", "tmpfs", 0, nullptr); }},
      {"unshare", [&] { return unshare(CLONE_NEWUSER); }},
      {"socket", [&] { return socket(AF_INET, SOCK_STREAM, 0); }},
      {"unix socket", [&] { return socket(AF_UNIX, SOCK_STREAM, 0); }},
      {"netlink", [&] { return socket(AF_NETLINK, SOCK_RAW, 0); }},
      {"connect",
       [&] { return connect(kFilesFd, reinterpret_cast<sockaddr*>(&address), sizeof address); }},
      {"exec", [&] { return execve(shell, words, environ); }},
      {"execveat", [&] { return syscall(SYS_execveat, AT_FDCWD, shell, words, environ, 0); }},
      {"fork", [&] { return syscall(SYS_fork); }},
      {"clone", [&] { return syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
      {"ptrace", [&] { return ptrace(PTRACE_ATTACH, parent, nullptr, nullptr); }},
      {"kill the parent", [&] { return kill(parent, 0); }},
      {"kill all", [&] { return kill(-1, 0); }},
      {"read another process", [&] { return process_vm_readv(parent, &local, 1, &remote, 1, 0); }},
      {"pidfd_open", [&] { return syscall(SYS_pidfd_open, parent, 0); }},
      {"io_uring", [&] { return syscall(SYS_io_uring_setup, 4, &ring); }},
      {"bpf", [&] { return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes); }},
      {"userfaultfd", [&] { return syscall(SYS_userfaultfd, 0); }},
      {"perf_event_open", [&] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
      {"keyctl", [&] { return syscall(SYS_keyctl, 0, -3, 0, 0, 0); }},
      {"open_by_handle_at", [&] { return syscall(SYS_open_by_handle_at, AT_FDCWD, bytes, 0); }},
      {"raise the file limit",
       [&] {
         rlimit more{RLIM_INFINITY, RLIM_INFINITY};
         return setrlimit(RLIMIT_FSIZE, &more);
       }},
      {"ask for a secret", [&] { return ask_supervisor('r', secret); }},
      {"ask for /etc/passwd", [&] { return ask_supervisor('r', "/etc/passwd"); }},
      {"ask for a file above", [&] { return ask_supervisor('r', "../" + secret); }},
      {"ask to write", [&] { return ask_supervisor('w', path); }},
      {"ask to append", [&] { return ask_supervisor('a', path); }},
      {"ask for a folder", [&] { return ask_supervisor('m', beside); }},
      {"ask with a NUL", [&] { return ask_supervisor('r', std::string("m.pt\0x", 6)); }},
  };
  for (const auto& [name, act] : acts) {
    errno = 0;
    const long result = act();
    report(name, result, errno);
  }
  for (int fd = kFilesFd + 1; fd < 64; ++fd) {
    struct stat s {};
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
      report("descriptor " + std::to_string(fd) + " for writing", 0, 0);
  }
  for (char** v = environ; *v; ++v)
    if (std::strstr(*v, "SECRET")) report(std::string("environment ") + *v, 0, 0);
}

at::Tensor act(const at::Tensor& x, const std::string& path, const std::string& secret) {
  static bool done = false;
  if (!std::exchange(done, true)) try_all(path, secret);
  return at::clone(x);
}

}  // namespace

TORCH_LIBRARY(hostile, m) { m.def("act(Tensor x, str path, str secret) -> Tensor", act); }
