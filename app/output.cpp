// Where the result goes: checks before any work, private temporary files, the atomic commit.
#include "app/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

// Files that appear together: unless they are kept, those that are in place go again.
class Renames {
 public:
  explicit Renames(bool replace) : replace_(replace) {}
  ~Renames() {
    std::error_code error;
    for (const fs::path& target : moved_) fs::remove(target, error);
  }
  Renames(const Renames&) = delete;
  Renames& operator=(const Renames&) = delete;

  void move(const fs::path& from, const fs::path& to) {
    move_into_place(from, to, replace_);
    moved_.push_back(to);
  }
  void keep() { moved_.clear(); }

 private:
  const bool replace_;
  std::vector<fs::path> moved_;
};

// Whether the ONNX file at `model` names `data` as the place of its weights.
bool refers_to(const fs::path& model, const std::string& data) {
  try {
    return read_whole_file(model).find(data) != std::string::npos;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Output::Output(const std::vector<Options>& methods)
    : methods_(methods), o_(methods.at(0)), test_data_(methods) {
  if (o_.output == "-") {
    if (isatty(STDOUT_FILENO))
      throw Failure(ExitCode::Usage, "OE0706", "-o -: standard output is a terminal",
                    "redirect it, or name a file");
    const char* folder = std::getenv("TMPDIR");
    folder_ = folder && *folder ? folder : "/tmp";
    private_folder_ = make_private_folder(folder_);
    return;
  }
  const fs::path first = o_.output;
  if (first.filename().empty())
    unwritable("OE0702", first, "is a directory", "name the file to write");
  folder_ = first.parent_path();
  const fs::path folder = folder_.empty() ? fs::path(".") : folder_;
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) unwritable("OE0701", folder, "the output folder does not exist");
  if (!fs::is_directory(status)) unwritable("OE0701", folder, "is not a folder");
  for (const Made& m : models()) check_target(m.target, m.what);
  // With =auto the data file is rarely needed; an existing one of that name then does no harm.
  if (o_.write.external == onnx::WriteOptions::External::Always)
    check_target(folder_ / o_.write.external_file, "external data");
  if (o_.state == State::InputsAndOutputs)
    for (const Options& o : methods_) check_target(folder_ / o.state_file, "saved state");
  if (in_place()) check_beside();
  private_folder_ = make_private_folder(folder);
  if (in_place()) show_weights();
}

Output::Made Output::made(const std::string& name, const char* what) const {
  return {private_folder_ / name, folder_ / name, what};
}

std::vector<Output::Made> Output::models() const {
  std::vector<Made> all;
  for (const Options& o : methods_)
    all.push_back(made(fs::path(o.output).filename().string(), "output"));
  return all;
}

bool Output::in_place() const { return o_.write.external == onnx::WriteOptions::External::InPlace; }

// ONNX's readers look for weights in the model's own folder, and follow no links.
void Output::check_beside() const {
  const fs::path model = o_.model, folder = folder_.empty() ? fs::path(".") : folder_;
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    throw Failure(ExitCode::Usage, "OE0709", "--external-data=in-place: " + why,
                  "name another file with -o, or use --external-data=always");
  };
  if (fs::is_symlink(fs::symlink_status(model, error)))
    refuse("'" + model.string() + "' is a symbolic link, which readers of ONNX do not follow");
  if (!fs::equivalent(folder, model.has_parent_path() ? model.parent_path() : fs::path("."), error))
    refuse("'" + o_.output + "' has to lie in the folder of '" + model.string() + "'");
}

// For who reads the model before it is committed (--verify).
void Output::show_weights() const {
  std::error_code error;
  const fs::path shown = private_folder_ / o_.write.external_file;
  fs::create_hard_link(o_.model, shown, error);
  if (error) fs::create_symlink(fs::absolute(o_.model), shown, error);
}

Output::~Output() { discard(); }

void Output::discard() noexcept {
  test_data_.discard();
  if (private_folder_.empty()) return;
  std::error_code error;
  fs::remove_all(private_folder_, error);
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
  const fs::path made = models()[0].tmp;
  const int fd = open(made.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) unwritable("OE0705", made, std::strerror(errno));
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

void Output::commit(const std::vector<Report>& reports) {
  if (o_.output == "-") {
    test_data_.commit();
    copy_to_stdout();
    return discard();
  }
  const bool external =
      std::ranges::any_of(reports, [](const Report& r) { return r.outcome.written.external; });
  std::vector<Made> beside;
  if (external) beside.push_back(made(o_.write.external_file, "external data"));
  for (size_t i = 0; i < reports.size(); ++i)
    if (!reports[i].outcome.state.empty())
      beside.push_back(made(methods_[i].state_file, "saved state"));
  const std::vector<Made> models = this->models();
  std::vector<Made> all = beside;
  all.insert(all.end(), models.begin(), models.end());
  for (const Made& m : all) {
    check_target(m.target, m.what);  // again: the conversion took its time
    flush_to_disk(m.tmp, O_WRONLY);
  }
  const fs::path data = folder_ / o_.write.external_file;
  const bool stale = !external && !in_place() && fs::is_regular_file(data) &&
                     std::ranges::any_of(models, [&](const Made& m) {
                       return fs::exists(m.target) && refers_to(m.target, o_.write.external_file);
                     });
  // An old model must never be seen with new data: better none than a wrong one.
  if (std::ranges::any_of(beside, [](const Made& m) { return fs::exists(m.target); }))
    for (const Made& m : models) fs::remove(m.target);
  Renames renames(o_.force);
  for (const Made& m : beside) renames.move(m.tmp, m.target);
  test_data_.commit();
  for (const Made& m : models) renames.move(m.tmp, m.target);
  renames.keep();
  if (stale) fs::remove(data);  // the weights of the models that are gone
  flush_to_disk(folder_.empty() ? fs::path(".") : folder_, O_RDONLY | O_DIRECTORY);
  discard();
}

}  // namespace oe::app
