// Lets one allocation of onnx-export fail, or all from one on.
//
// Preloaded by tests/safety/allocations.py. The plan is the file SHIM.plan, which the process maps.
// Only the supervisor counts: the worker inherits the library, and its name ends otherwise.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

// glibc's own, which need no look-up: dlsym allocates.
extern "C" {
void* __libc_malloc(size_t n);
void* __libc_calloc(size_t n, size_t size);
void* __libc_realloc(void* p, size_t n);
void* __libc_memalign(size_t alignment, size_t n);
}

namespace {

// allocations.py has the same layout.
struct Plan {
  int64_t at;                        // the allocation that fails, counted from 1; 0: none
  int64_t all;                       // 1: those after it fail too
  std::atomic<int64_t> count;        // of allocations so far
  std::atomic<int64_t> at_main;      // count when main() began
  std::atomic<int64_t> at_work_end;  // count when the worker had ended
  std::atomic<int64_t> hit;          // 1: the allocation failed
};

Plan* plan = nullptr;

__attribute__((constructor)) void begin() {
  char program[PATH_MAX] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return;
  const char* name = std::strrchr(program, '/');
  if (!name || std::strcmp(name, "/onnx-export") != 0) return;
  Dl_info info;
  char path[PATH_MAX + 8] = {};
  if (!dladdr(reinterpret_cast<void*>(begin), &info)) return;
  std::strncpy(path, info.dli_fname, PATH_MAX - 1);
  std::strcat(path, ".plan");
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* at = mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) plan = static_cast<Plan*>(at);
}

bool fails() {
  if (!plan) return false;
  const int64_t n = ++plan->count;
  if (plan->at == 0 || (n != plan->at && !(plan->all && n > plan->at))) return false;
  plan->hit = 1;
  errno = ENOMEM;
  return true;
}

int (*real_main)(int, char**, char**) = nullptr;
int counted_main(int argc, char** argv, char** environment) {
  if (plan) plan->at_main = plan->count.load();
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

void* malloc(size_t n) noexcept { return fails() ? nullptr : __libc_malloc(n); }
void* calloc(size_t n, size_t size) noexcept { return fails() ? nullptr : __libc_calloc(n, size); }
void* realloc(void* p, size_t n) noexcept { return fails() ? nullptr : __libc_realloc(p, n); }
void* aligned_alloc(size_t alignment, size_t n) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, n);
}
int posix_memalign(void** p, size_t alignment, size_t n) noexcept {
  if (fails()) return ENOMEM;
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}

pid_t waitpid(pid_t pid, int* status, int options) {
  static const auto next = reinterpret_cast<decltype(&waitpid)>(dlsym(RTLD_NEXT, "waitpid"));
  const pid_t ended = next(pid, status, options);
  if (plan && ended > 0) plan->at_work_end = plan->count.load();
  return ended;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  static const auto next =
      reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  real_main = main;
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

}  // extern "C"
