// Where the result goes: checks before any work, private temporary files, the atomic commit.
#include "app/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/private_folder.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

void flush_to_disk(const fs::path& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) unwritable("OE0705", path, std::strerror(errno));
  const int failed = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  // EINVAL: a file system that has nothing to flush.
  if (failed && failed != EINVAL) unwritable("OE0705", path, std::strerror(failed));
}

// Renames; without `replace` a file that appeared meanwhile is left alone.
void move_into_place(const fs::path& from, const fs::path& to, bool replace) {
  int result = -1;
  if (!replace) {
    result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno != EINVAL && errno != ENOSYS)
      unwritable("OE0705", to, std::strerror(errno));
  }
  if (result != 0 && rename(from.c_str(), to.c_str()) != 0)
    unwritable("OE0705", to, std::strerror(errno));
}

// Whether the ONNX file at `model` names `data` as the place of its weights.
bool refers_to(const fs::path& model, const std::string& data) {
  try {
    return read_whole_file(model).find(data) != std::string::npos;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Output::Output(const Options& o) : o_(o), test_data_(o) {
  if (o.output == "-") {
    if (isatty(STDOUT_FILENO))
      throw Failure(ExitCode::Usage, "OE0706", "-o -: standard output is a terminal",
                    "redirect it, or name a file");
    const char* folder = std::getenv("TMPDIR");
    private_folder_ = make_private_folder(folder && *folder ? folder : "/tmp");
    model_tmp_ = private_folder_ / "model.onnx";
    data_tmp_ = private_folder_ / "model.onnx.data";
    state_tmp_ = private_folder_ / "model.state.npz";
    return;
  }
  target_ = o.output;
  if (target_.filename().empty())
    unwritable("OE0702", target_, "is a directory", "name the file to write");
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  data_target_ = folder / o.write.external_file;
  state_target_ = target_.parent_path() / o.state_file;
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) unwritable("OE0701", folder, "the output folder does not exist");
  if (!fs::is_directory(status)) unwritable("OE0701", folder, "is not a folder");
  check_target(target_, "output");
  // With =auto the data file is rarely needed; an existing one of that name then does no harm.
  if (o.write.external == onnx::WriteOptions::External::Always)
    check_target(data_target_, "external data");
  if (o.state == State::InputsAndOutputs) check_target(state_target_, "saved state");
  if (in_place()) check_beside(folder);
  private_folder_ = make_private_folder(folder);
  model_tmp_ = private_folder_ / target_.filename();
  data_tmp_ = private_folder_ / o.write.external_file;
  if (in_place()) show_weights();
  state_tmp_ = private_folder_ / state_target_.filename();
}

bool Output::in_place() const { return o_.write.external == onnx::WriteOptions::External::InPlace; }

// ONNX's readers look for weights in the model's own folder, and follow no links.
void Output::check_beside(const fs::path& folder) const {
  const fs::path model = o_.model;
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    throw Failure(ExitCode::Usage, "OE0709", "--external-data=in-place: " + why,
                  "name another file with -o, or use --external-data=always");
  };
  if (fs::is_symlink(fs::symlink_status(model, error)))
    refuse("'" + model.string() + "' is a symbolic link, which readers of ONNX do not follow");
  if (!fs::equivalent(folder, model.has_parent_path() ? model.parent_path() : fs::path("."), error))
    refuse("'" + target_.string() + "' has to lie in the folder of '" + model.string() + "'");
}

// For who reads the model before it is committed (--verify).
void Output::show_weights() const {
  std::error_code error;
  fs::create_hard_link(o_.model, data_tmp_, error);
  if (error) fs::create_symlink(fs::absolute(o_.model), data_tmp_, error);
}

Output::~Output() { discard(); }

void Output::discard() noexcept {
  test_data_.discard();
  if (private_folder_.empty()) return;
  unlink(model_tmp_.c_str());
  unlink(data_tmp_.c_str());
  unlink(state_tmp_.c_str());
  rmdir(private_folder_.c_str());
  private_folder_.clear();
}

void Output::check_target(const fs::path& target, const char* what) const {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (error && status.type() != fs::file_type::not_found)
    unwritable("OE0702", target, error.message());
  if (!fs::exists(status)) return;
  if (fs::is_symlink(status))
    unwritable("OE0702", target, "is a symbolic link", "name the file it points to");
  if (fs::is_directory(status))
    unwritable("OE0702", target, "is a directory", "name the file to write");
  if (!fs::is_regular_file(status)) unwritable("OE0702", target, "is not a regular file");
  if (fs::equivalent(target, o_.model, error))
    unwritable("OE0702", target, std::string("the ") + what + " would overwrite the input");
  if (!o_.force)
    unwritable("OE0704", target, "exists already",
               "overwrite it with --force, or choose another "
               "name with -o");
}

void Output::copy_to_stdout() const {
  const int fd = open(model_tmp_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) unwritable("OE0705", model_tmp_, std::strerror(errno));
  std::string buffer(1 << 20, '\0');
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n <= 0) break;
    for (ssize_t done = 0; done < n;) {
      const ssize_t w = write(STDOUT_FILENO, buffer.data() + done, static_cast<size_t>(n - done));
      if (w < 0 && errno == EINTR) continue;
      if (w < 0) {
        const int error = errno;
        close(fd);
        unwritable("OE0705", "standard output", std::strerror(error));
      }
      done += w;
    }
  }
  close(fd);
}

void Output::commit(bool external, bool state) {
  if (o_.output == "-") {
    test_data_.commit();
    copy_to_stdout();
    return discard();
  }
  check_target(target_, "output");  // again: the conversion took its time
  if (external) {
    check_target(data_target_, "external data");
    flush_to_disk(data_tmp_, O_WRONLY);
  }
  if (state) {
    check_target(state_target_, "saved state");
    flush_to_disk(state_tmp_, O_WRONLY);
  }
  flush_to_disk(model_tmp_, O_WRONLY);
  const bool replaces = fs::exists(target_);
  const bool stale = !external && !in_place() && replaces && fs::is_regular_file(data_target_) &&
                     refers_to(target_, o_.write.external_file);
  // An old model must never be seen with new data: better none than a wrong one.
  if (replaces && ((external && fs::exists(data_target_)) || (state && fs::exists(state_target_))))
    fs::remove(target_);
  if (external) move_into_place(data_tmp_, data_target_, o_.force);
  if (state) move_into_place(state_tmp_, state_target_, o_.force);
  test_data_.commit();
  move_into_place(model_tmp_, target_, o_.force);
  if (stale) fs::remove(data_target_);  // the weights of the model that is gone
  flush_to_disk(target_.has_parent_path() ? target_.parent_path() : fs::path("."),
                O_RDONLY | O_DIRECTORY);
  discard();
}

}  // namespace oe::app
