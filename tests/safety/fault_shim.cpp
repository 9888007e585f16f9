// Counts the calls that touch an output folder, and lets one of them fail or wait to be killed.
//
// Preloaded into both processes. The plan lies beside this library, in a file that all processes
// map, since the environment of a confined worker holds no settings. tests/safety/faults.py writes
// it. A call that waits does so until somebody kills the process.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr int kFolder = 256, kLine = 64, kCalls = 4000;

// The file SHIM.plan; faults.py has the same layout.
struct Plan {
  int32_t at;                  // the call that is hit, counted from 1; 0: none
  int32_t error;               // errno it fails with; 0: it waits to be killed
  std::atomic<int32_t> count;  // of calls so far
  std::atomic<int32_t> hit;    // the process that waits, or whose call failed
  char folder[kFolder];        // the output folder, as an absolute path without links
  char log[kCalls][kLine];     // "PID CALL NAME" of each call
};

// The function that this library stands in front of.
template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

Plan* read_plan() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(read_plan), &info)) return nullptr;
  const std::string path = std::string(info.dli_fname) + ".plan";
  const int fd = next(open, "open")(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  next(close, "close")(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Plan*>(at);
}

Plan* plan = nullptr;
__attribute__((constructor)) void begin() { plan = read_plan(); }

bool in_folder(const std::string& path) {
  const size_t n = std::strlen(plan->folder);
  return n > 0 && path.starts_with(plan->folder) && (path.size() == n || path[n] == '/');
}

// Whether the path, relative to the directory `fd`, lies in the output folder.
bool concerns_path(int fd, const char* path) {
  if (!plan) return false;
  if (path[0] == '/') return in_folder(path);
  char base[4096];
  const std::string link =
      fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = readlink(link.c_str(), base, sizeof base);
  if (n < 0) return false;
  while (std::strncmp(path, "./", 2) == 0) path += 2;
  return in_folder(std::string(base, static_cast<size_t>(n)) + "/" + path);
}

// Whether the descriptor is the output folder, one in it, or a regular file with a name that is
// open for writing: in these tests those are output files. A confined worker may ask as much.
bool concerns_file(int fd) {
  struct stat s {};
  if (!plan || fstat(fd, &s) != 0) return false;
  if (S_ISDIR(s.st_mode)) return concerns_path(fd, ".");
  return S_ISREG(s.st_mode) && s.st_nlink > 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

// Counts a call that touches the folder. True where it is to fail: errno is set.
bool fails(const char* call, const char* name) {
  const int n = ++plan->count;
  if (n <= kCalls) {
    const char* last = std::strrchr(name, '/');
    std::snprintf(plan->log[n - 1], kLine, "%d %s %s", static_cast<int>(getpid()), call,
                  last ? last + 1 : name);
  }
  if (n != plan->at) return false;
  plan->hit = getpid();
  errno = plan->error;
  while (!plan->error) sched_yield();
  return true;
}

bool fails_in(const char* call, int fd, const char* path) {
  return concerns_path(fd, path) && fails(call, path);
}
bool fails_on(const char* call, int fd) { return concerns_file(fd) && fails(call, ""); }
bool fails_on_any(const char* call, int fd) {
  struct stat s {};
  if (!plan || fstat(fd, &s) != 0) return false;
  return S_ISDIR(s.st_mode) ? fails(call, "folder") : S_ISREG(s.st_mode) && fails(call, "file");
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t n) {
  return fails_on("write", fd) ? -1 : next(write, "write")(fd, data, n);
}
ssize_t writev(int fd, const iovec* v, int n) {
  return fails_on("writev", fd) ? -1 : next(writev, "writev")(fd, v, n);
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) {
  return fails_on("pwrite", fd) ? -1 : next(pwrite, "pwrite")(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
  return fails_on("pwrite", fd) ? -1 : next(pwrite64, "pwrite64")(fd, data, n, at);
}
ssize_t copy_file_range(int from, off64_t* a, int fd, off64_t* b, size_t n, unsigned flags) {
  return fails_on("copy_file_range", fd)
             ? -1
             : next(copy_file_range, "copy_file_range")(from, a, fd, b, n, flags);
}
int fallocate(int fd, int mode, off_t at, off_t n) {
  return fails_on("fallocate", fd) ? -1 : next(fallocate, "fallocate")(fd, mode, at, n);
}
int fsync(int fd) { return fails_on_any("fsync", fd) ? -1 : next(fsync, "fsync")(fd); }
// The descriptor is closed also where this fails, as in Linux.
int close(int fd) {
  const bool failed = fails_on("close", fd);
  const int error = errno, result = next(close, "close")(fd);
  if (failed) errno = error;
  return failed ? -1 : result;
}
int flock(int fd, int operation) noexcept {
  return fails_on_any("flock", fd) ? -1 : next(flock, "flock")(fd, operation);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return fails_in("open", AT_FDCWD, path) ? -1 : next(open, "open")(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return fails_in("open", AT_FDCWD, path) ? -1 : next(open64, "open64")(path, flags, mode);
}
int openat(int fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return fails_in("openat", fd, path) ? -1 : next(openat, "openat")(fd, path, flags, mode);
}
int openat64(int fd, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return fails_in("openat", fd, path) ? -1 : next(openat64, "openat64")(fd, path, flags, mode);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return fails_in("mkdir", AT_FDCWD, path) ? -1 : next(mkdir, "mkdir")(path, mode);
}
int mkdirat(int fd, const char* path, mode_t mode) noexcept {
  return fails_in("mkdirat", fd, path) ? -1 : next(mkdirat, "mkdirat")(fd, path, mode);
}
int rename(const char* from, const char* to) noexcept {
  return fails_in("rename", AT_FDCWD, to) ? -1 : next(rename, "rename")(from, to);
}
int renameat(int a, const char* from, int b, const char* to) noexcept {
  return fails_in("renameat", b, to) ? -1 : next(renameat, "renameat")(a, from, b, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  return fails_in("renameat2", b, to) ? -1 : next(renameat2, "renameat2")(a, from, b, to, flags);
}
int link(const char* from, const char* to) noexcept {
  return fails_in("link", AT_FDCWD, to) ? -1 : next(link, "link")(from, to);
}
int linkat(int a, const char* from, int b, const char* to, int flags) noexcept {
  return fails_in("linkat", b, to) ? -1 : next(linkat, "linkat")(a, from, b, to, flags);
}
int unlink(const char* path) noexcept {
  return fails_in("unlink", AT_FDCWD, path) ? -1 : next(unlink, "unlink")(path);
}
int unlinkat(int fd, const char* path, int flags) noexcept {
  return fails_in("unlinkat", fd, path) ? -1 : next(unlinkat, "unlinkat")(fd, path, flags);
}
int rmdir(const char* path) noexcept {
  return fails_in("rmdir", AT_FDCWD, path) ? -1 : next(rmdir, "rmdir")(path);
}
int remove(const char* path) noexcept {
  return fails_in("remove", AT_FDCWD, path) ? -1 : next(remove, "remove")(path);
}

}  // extern "C"
