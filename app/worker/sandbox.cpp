// Landlock takes away every path, seccomp every system call that is not needed to compute.
// https://docs.kernel.org/userspace-api/landlock.html
// https://docs.kernel.org/userspace-api/seccomp_filter.html
#include "app/worker/sandbox.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

// The kernel's interface at its newest version: Debian's header is older. A kernel takes as many
// bytes as it knows, so versions are asked for first.
struct LandlockRules {
  uint64_t files, network, scopes;
};
struct LandlockPath {
  uint64_t allowed;
  int32_t folder;
} __attribute__((packed));
constexpr uint64_t kExecute = 1, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3,
                   kDeviceIoctl = 1 << 15;

int landlock_version() {
  constexpr unsigned kAskVersion = 1;
  const long v = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return v < 0 ? 0 : static_cast<int>(v);
}

LandlockRules all_rules(int version) {
  // Bits of file rights that each version knows: 13, then one more with 2, 3 and 5.
  const int bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  LandlockRules r{(uint64_t{1} << bits) - 1, 0, 0};
  if (version >= 4) r.network = 3;  // bind and connect of TCP
  if (version >= 6) r.scopes = 3;   // abstract sockets and signals to processes outside
  return r;
}

std::set<std::string> folders_of_libraries() {
  std::set<std::string> folders;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        const std::filesystem::path library(info->dlpi_name);
        if (library.is_absolute())
          static_cast<std::set<std::string>*>(to)->insert(library.parent_path());
        return 0;
      },
      &folders);
  return folders;
}

// CUDA opens its devices when the first kernel runs, and libraries when the first operator needs
// them.
void allow_for_cuda(int rules, int version) {
  const uint64_t reading = kExecute | kReadFile | kReadFolder;
  const uint64_t device = reading | kWriteFile | (version >= 5 ? kDeviceIoctl : 0);
  std::map<std::string, uint64_t> allowed = {{"/dev", device}};
  for (const char* path : {"/proc", "/sys", "/usr", "/lib", "/lib64", "/opt"})
    allowed[path] = reading;
  for (const std::string& path : folders_of_libraries()) allowed[path] = reading;
  for (const auto& [path, rights] : allowed) {
    const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) continue;
    const LandlockPath rule{rights, fd};
    constexpr int kPathBeneath = 1;
    syscall(SYS_landlock_add_rule, rules, kPathBeneath, &rule, 0);
    close(fd);
  }
}

bool enter_landlock(int version, bool gpu) {
  const LandlockRules rules = all_rules(version);
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const long fd = syscall(SYS_landlock_create_ruleset, &rules, size, 0);
  if (fd < 0) return false;
  if (gpu) allow_for_cuda(static_cast<int>(fd), version);
  const bool done = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
  close(static_cast<int>(fd));
  return done;
}

// Memory, files that are open, threads, time and the process itself. Everything else fails with
// ENOSYS, as on a kernel without it, so that libraries fall back to what they did before.
constexpr int kAllowed[] = {
    // memory
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(munmap),
    SCMP_SYS(madvise), SCMP_SYS(mincore), SCMP_SYS(msync), SCMP_SYS(mlock), SCMP_SYS(munlock),
    SCMP_SYS(mbind), SCMP_SYS(get_mempolicy), SCMP_SYS(set_mempolicy), SCMP_SYS(membarrier),
    SCMP_SYS(memfd_create), SCMP_SYS(pkey_alloc), SCMP_SYS(pkey_mprotect), SCMP_SYS(pkey_free),
    // descriptors that are open
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64),
    SCMP_SYS(pwrite64), SCMP_SYS(preadv), SCMP_SYS(pwritev), SCMP_SYS(lseek), SCMP_SYS(close),
    SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
    SCMP_SYS(copy_file_range), SCMP_SYS(sendfile), SCMP_SYS(fadvise64), SCMP_SYS(dup),
    SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(pipe2), SCMP_SYS(eventfd2), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(sendmsg), SCMP_SYS(sendto),
    SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),
    // facts about files and the process: Landlock and the kernel's permissions stay
    SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(statfs),
    SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd), SCMP_SYS(getpid), SCMP_SYS(getppid),
    SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrusage), SCMP_SYS(times), SCMP_SYS(getrlimit),
    SCMP_SYS(getcpu), SCMP_SYS(capget),
    // threads
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list),
    SCMP_SYS(set_tid_address), SCMP_SYS(rseq), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(sched_get_priority_max), SCMP_SYS(sched_get_priority_min), SCMP_SYS(getpriority),
    SCMP_SYS(arch_prctl), SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
    // signals of our own
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack),
    // time and chance
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom)};

// Refused with EACCES, as Landlock refuses them.
constexpr int kOpening[] = {
    SCMP_SYS(open),     SCMP_SYS(openat),   SCMP_SYS(openat2),   SCMP_SYS(creat),
    SCMP_SYS(mkdir),    SCMP_SYS(mkdirat),  SCMP_SYS(unlink),    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),   SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(link),
    SCMP_SYS(linkat),   SCMP_SYS(symlink),  SCMP_SYS(symlinkat), SCMP_SYS(truncate),
    SCMP_SYS(execve),   SCMP_SYS(execveat), SCMP_SYS(socket),    SCMP_SYS(socketpair),
    SCMP_SYS(connect),  SCMP_SYS(bind),     SCMP_SYS(chmod),     SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat), SCMP_SYS(chown),    SCMP_SYS(fchown),    SCMP_SYS(rmdir)};

// Of calls that can reach other processes or settings, the uses that stay with this process.
struct Narrowed {
  int call;
  scmp_arg_cmp condition;
};
std::vector<Narrowed> narrowed() {
  const auto self = static_cast<scmp_datum_t>(getpid());
  std::vector<Narrowed> all = {
      {SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
      {SCMP_SYS(kill), SCMP_A0(SCMP_CMP_EQ, self)},
      {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, self)},
      {SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0)}};
  for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL})
    all.push_back({SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, static_cast<scmp_datum_t>(command))});
  for (const unsigned long request : {TCGETS, FIONREAD, TIOCGWINSZ})
    all.push_back({SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request)});
  constexpr int kNameMemory = 0x53564d41;  // PR_SET_VMA
  for (const int option : {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, kNameMemory})
    all.push_back({SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(option))});
  return all;
}

class Filter {
 public:
  explicit Filter(bool gpu)
      : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), seccomp_release), ok_(context_ != nullptr) {
    for (const int call : kAllowed) add(SCMP_ACT_ALLOW, call);
    for (const Narrowed& n : narrowed()) add(SCMP_ACT_ALLOW, n.call, n.condition);
    for (const int call : kOpening)
      if (!gpu || (call != SCMP_SYS(open) && call != SCMP_SYS(openat)))
        add(SCMP_ACT_ERRNO(EACCES), call);
    if (gpu)  // Landlock says which files
      for (const int call : {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(ioctl),
                             SCMP_SYS(getdents64), SCMP_SYS(mlock2)})
        add(SCMP_ACT_ALLOW, call);
  }

  bool load() {
    // On every thread: one that a library started before is confined too.
    ok_ = ok_ && seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_TSYNC, 1) == 0;
    return ok_ && seccomp_load(context_.get()) == 0;
  }

 private:
  template <class... Conditions>
  void add(uint32_t action, int call, Conditions... conditions) {
    if (!ok_) return;
    const int error =
        seccomp_rule_add(context_.get(), action, call, sizeof...(conditions), conditions...);
    // A call that this architecture lacks needs no rule.
    ok_ = error == 0 || error == -EDOM;
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
  bool ok_;
};

void set_limit(decltype(RLIMIT_DATA) resource, uint64_t most) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  setrlimit(resource, &limit);
}

size_t thread_count() {
  size_t n = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error))
    n += entry.path().empty() ? 0 : 1;
  return n;
}

}  // namespace

void apply_limits(const Launch& l) {
  // Private writable memory: what was mapped of libraries and of the model counts, touched or not.
  constexpr uint64_t kOfLibraries = uint64_t{1} << 30;
  constexpr uint64_t kDescriptors = 4096;
  const uint64_t processors = std::max(1u, std::thread::hardware_concurrency());
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_DATA, l.limits.memory + l.input_bytes + kOfLibraries);
  set_limit(RLIMIT_FSIZE, l.limits.size);
  set_limit(RLIMIT_NOFILE, kDescriptors);
  // The supervisor measures the time that passes; this holds where it is stopped itself.
  set_limit(RLIMIT_CPU, static_cast<uint64_t>(l.limits.seconds + 1) * processors + 60);
}

SandboxLevel confine(const Launch& l) {
  SandboxLevel level;
  level.off = l.limits.sandbox == SandboxMode::Off;
  level.gpu = l.gpu;
  if (level.off) return level;
  level.no_new_privs = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  // Landlock holds for the calling thread and those that it starts.
  const int version = thread_count() == 1 ? landlock_version() : 0;
  if (version > 0 && enter_landlock(version, l.gpu)) level.landlock = version;
  level.seccomp = Filter(l.gpu).load();
  if (l.limits.sandbox == SandboxMode::Require && !level.complete())
    throw Failure(ExitCode::MissingPart, "OE0811",
                  "--sandbox=require: a part is missing on this kernel: " + sandbox_text(level),
                  "use --sandbox=auto to run with the other parts");
  return level;
}

}  // namespace oe::app
