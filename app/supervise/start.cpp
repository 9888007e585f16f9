// Starts the worker with descriptors and an environment that were chosen for it.
#include "app/supervise/start.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>

#include "app/launch.h"
#include "app/supervise/libtorch.h"
#include "app/supervise/warm_workers.h"
#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/support/trial.h"

extern char** environ;

namespace oe::app {
namespace {

// Variables that change how libraries compute or where they are found. All others stay here: a
// model must not learn secrets that lie in the environment.
constexpr std::string_view kEnvironment[] = {
    "LD_",     "OMP_",   "GOMP_", "KMP_",   "MKL_",     "ONEDNN_",      "DNNL_",
    "ATEN_",   "TORCH_", "CUDA_", "NVIDIA", "PYTORCH_", "OPENBLAS",     "ORT_",
    "MALLOC_", "GLIBC_", "ASAN_", "LSAN_",  "UBSAN_",   "ONNX_EXPORT_", "MKLDNN_"};
// Threads that spin while they wait made a conversion ten times slower on a busy machine.
constexpr char kWaitPolicy[] = "OMP_WAIT_POLICY=PASSIVE";

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** v = environ; *v; ++v) {
    const std::string_view variable(*v);
    if (std::ranges::any_of(kEnvironment, [&](auto name) { return variable.starts_with(name); }))
      all.emplace_back(variable);
  }
  const auto waits = [](const std::string& v) { return v.starts_with("OMP_WAIT_POLICY="); };
  if (std::ranges::none_of(all, waits)) all.emplace_back(kWaitPolicy);
  if (const std::vector<std::string> folders = libtorch_folders(); !folders.empty()) {
    constexpr std::string_view kPath = "LD_LIBRARY_PATH=";
    const auto old = std::ranges::find_if(all, [&](const auto& v) { return v.starts_with(kPath); });
    std::string path = std::string(kPath) + join(folders, ":");
    if (old == all.end())
      all.push_back(std::move(path));
    else
      *old = path + ":" + old->substr(kPath.size());
  }
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& t : texts) all.push_back(const_cast<char*>(t.c_str()));
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void cannot_start(const std::string& why) {
  throw Failure(ExitCode::MissingPart, "OE0002", "cannot start the worker: " + why,
                "onnx-export-worker must be in the same directory as onnx-export");
}

struct Pair {
  Descriptor ours, theirs;
};

Pair pipe_to_us() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) cannot_start(std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Pair packets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    cannot_start(std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// The descriptors that the worker gets. An action that is missing for want of memory would leave it
// one of ours.
class FileActions {
 public:
  FileActions() { check(posix_spawn_file_actions_init(&actions_)); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  // The number to which a descriptor is moved first may be one that another is to have.
  void give(const Descriptor& d, int number) {
    check(posix_spawn_file_actions_adddup2(&actions_, d.get(), number));
  }
  void give_nothing(int number) {
    check(posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDONLY, 0));
  }
  void close_from(int number) {
    check(posix_spawn_file_actions_addclosefrom_np(&actions_, number));
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  static void check(int error) {
    if (error == ENOMEM) throw std::bad_alloc();
    if (error != 0) cannot_start(std::strerror(error));
  }
  posix_spawn_file_actions_t actions_;
};

}  // namespace

TrialMemory::TrialMemory() : memory_(memfd_create("trial", MFD_CLOEXEC)) {
  if (!memory_ || ftruncate(memory_.get(), sizeof(TrialNote)) != 0)
    cannot_start(std::strerror(errno));
}

LeftOut TrialMemory::read() const {
  TrialNote n{};
  if (pread(memory_.get(), &n, sizeof n, 0) != sizeof n) return {};
  n.sizes[sizeof n.sizes - 1] = n.op[sizeof n.op - 1] = 0;
  return {n.sizes, n.op};
}

pid_t spawn_worker(const std::vector<std::string>& arguments, std::span<const Given> given) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "onnx-export-worker";
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> variables = environment();
  std::vector<char*> argv = pointers(words), envp = pointers(variables);

  // Below this number lie the descriptors that the worker gets; ours must not be among them.
  constexpr int kFirstFree = kFilesFd + 1;
  std::vector<Descriptor> moved;
  FileActions actions;
  actions.give_nothing(STDIN_FILENO);
  for (const Given& g : given) {
    moved.emplace_back(fcntl(g.descriptor, F_DUPFD_CLOEXEC, kFirstFree));
    actions.give(moved.back(), g.number);
  }
  actions.close_from(kFirstFree);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, program.c_str(), actions.get(), &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error == ENOMEM) throw std::bad_alloc();
  if (error != 0) cannot_start(program + ": " + std::strerror(error));
  return pid;
}

StartedWorker start_worker(const std::vector<std::string>& arguments, const TrialMemory& trial,
                           WarmWorkers* warm) {
  Pair report = pipe_to_us(), output = pipe_to_us(), errors = pipe_to_us(), files = packets();
  const Given given[] = {{output.theirs.get(), STDOUT_FILENO},
                         {errors.theirs.get(), STDERR_FILENO},
                         {report.theirs.get(), kReportFd},
                         {trial.descriptor(), kTrialFd},
                         {files.theirs.get(), kFilesFd}};
  StartedWorker w;
  if (!warm || !warm->start(arguments, given, w)) w.pid = spawn_worker(arguments, given);
  w.pipes = {std::move(report.ours), std::move(files.ours), std::move(output.ours),
             std::move(errors.ours)};
  return w;
}

}  // namespace oe::app
