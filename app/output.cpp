// Where the result goes: checks before any work, private temporary files, the atomic commit.
#include "app/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "app/made_model.h"
#include "app/references.h"
#include "app/remains.h"
#include "app/supervise/descriptor.h"
#include "lib/support/diagnostics.h"
#include "lib/support/hashed_name.h"
#include "lib/support/sha256.h"

namespace oe::app {

namespace fs = std::filesystem;

constexpr const char* kMade = "made";  // in the private folder

// New files that were put into the folder: unless they are kept, they go again, the last one first.
class Output::Placed {
 public:
  // `most`: names that add() gets.
  Placed(const Folder& folder, size_t most) : folder_(folder) { names_.reserve(most); }
  ~Placed() { take_back(); }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  // The file is in its place already, so that this must not fail for want of memory.
  void add(std::string&& name) noexcept {
    if (!kept_) names_.push_back(std::move(name));
  }
  void keep() {
    kept_ = true;
    names_.clear();
  }
  bool kept() const { return kept_; }
  // False where one could not be removed: those before it stay, since a model may name them.
  bool take_back() {
    while (!names_.empty() && folder_.remove(names_.back()) == 0) names_.pop_back();
    const bool all = names_.empty();
    names_.clear();
    return all;
  }

 private:
  const Folder& folder_;
  std::vector<std::string> names_;
  bool kept_ = false;
};

Output::Output(const std::vector<Options>& methods)
    : methods_(methods), o_(methods.at(0)), test_data_(methods) {
  if (o_.output == "-") {
    if (isatty(STDOUT_FILENO))
      throw Failure(ExitCode::Usage, "OE0706", "-o -: standard output is a terminal",
                    "redirect it, or specify a file");
    const char* folder = std::getenv("TMPDIR");
    folder_ = folder && *folder ? folder : "/tmp";
    private_ = PrivateFolder(folder_, {});
    made_ = private_.make_inside(kMade);
    return;
  }
  const fs::path first = o_.output;
  if (first.filename().empty())
    unwritable("OE0702", first, "is a directory", "specify the file to write");
  folder_ = first.parent_path();
  const fs::path folder = folder_.empty() ? fs::path(".") : folder_;
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status))
    unwritable("OE0701", folder, "the output folder does not exist",
               "create it, or choose another path with -o");
  if (!fs::is_directory(status)) unwritable("OE0701", folder, "is not a folder");
  // Files beside the models are looked at later: a killed run may have left them.
  for (const Made& m : models()) check_target(m);
  if (in_place()) check_beside();
  private_ = PrivateFolder(folder, targets());
  made_ = private_.make_inside(kMade);
  check_targets();  // again: another run may have written them meanwhile
}

std::vector<Output::Made> Output::models() const {
  std::vector<Made> all;
  for (const Options& o : methods_)
    all.push_back({fs::path(o.output).filename().string(), "output"});
  return all;
}

std::vector<std::string> Output::model_names() const {
  std::vector<std::string> names;
  for (const Made& m : models()) names.push_back(m.name);
  return names;
}

std::vector<std::string> Output::plain_names() const {
  std::vector<std::string> names;
  if (!in_place()) names.push_back(o_.write.external_file);
  if (o_.capture.state == State::InputsAndOutputs)
    for (const Options& o : methods_) names.push_back(o.state_file);
  return names;
}

std::vector<std::string> Output::targets() const {
  std::vector<std::string> names = model_names();
  // With =auto the data file is rarely needed: runs that name the same one need not wait.
  const bool shared = o_.write.external == onnx::WriteOptions::External::Auto;
  for (const std::string& name : plain_names())
    if (!shared || name != o_.write.external_file) names.push_back(name);
  return names;
}

std::vector<std::string> Output::names_beside() const {
  const std::vector<std::string> plain = plain_names();
  auto all = private_.around().names();
  if (!all) unwritable("OE0705", private_.around().path(), "cannot be read");
  std::vector<std::string> names = *std::move(all);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::none_of(plain,
                                [&](const std::string& p) { return is_name_or_hashed(p, name); });
  });
  return names;
}

std::vector<std::string> Output::taken() const {
  return o_.output == "-" ? std::vector<std::string>() : names_beside();
}

void Output::check_targets() const {
  for (const Made& m : models()) check_target(m);
  // With =auto the data file is rarely needed; an existing one of that name then does no harm.
  if (o_.write.external == onnx::WriteOptions::External::Always)
    check_target({o_.write.external_file, "external data"});
  if (o_.capture.state == State::InputsAndOutputs)
    for (const Options& o : methods_) check_target({o.state_file, "saved state"});
}

bool Output::in_place() const { return o_.write.external == onnx::WriteOptions::External::InPlace; }

// ONNX's readers look for weights in the model's own folder, and follow no links.
void Output::check_beside() const {
  const fs::path model = o_.load.model, folder = folder_.empty() ? fs::path(".") : folder_;
  std::error_code error;
  const auto refuse = [&](const std::string& why) {
    throw Failure(ExitCode::Usage, "OE0709", "--external-data=in-place: " + why,
                  "choose another file with -o, or use --external-data=always");
  };
  if (fs::is_symlink(fs::symlink_status(model, error)))
    refuse("'" + model.string() + "' is a symbolic link, which readers of ONNX do not follow");
  if (!fs::equivalent(folder, model.has_parent_path() ? model.parent_path() : fs::path("."), error))
    refuse("'" + o_.output + "' must be in the folder of '" + model.string() + "'");
}

void Output::discard() noexcept {
  test_data_.discard();
  private_.remove();
}

void Output::check_target(const Made& made) const {
  const fs::path target = folder_ / made.name;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (error && status.type() != fs::file_type::not_found)
    unwritable("OE0702", target, error.message());
  if (!fs::exists(status)) return;
  if (fs::is_symlink(status))
    unwritable("OE0702", target, "is a symbolic link", "specify the file that it points to");
  if (fs::is_directory(status))
    unwritable("OE0702", target, "is a directory", "specify the file to write");
  if (!fs::is_regular_file(status)) unwritable("OE0702", target, "is not a regular file");
  if (fs::equivalent(target, o_.load.model, error))
    unwritable("OE0702", target, std::string("the ") + made.what + " would overwrite the input");
  if (!o_.force)
    unwritable("OE0704", target, "exists already",
               "overwrite it with --force, or choose another "
               "name with -o");
}

void Output::check_made(const std::vector<Report>& reports) const try {
  const std::vector<Made> models = this->models();
  std::vector<MadeModel> named;
  std::string data_file;
  for (size_t i = 0; i < reports.size(); ++i) {
    const Outcome& out = reports[i].outcome;
    named.push_back(
        {models.at(i).name, in_place() ? o_.write.external_file : std::string(), out.state_file});
    if (!in_place() && out.written.external) data_file = named.back().data_file = out.data_file;
  }
  const auto align = static_cast<uint64_t>(std::max<int64_t>(o_.write.align, 1));
  require_sound(made_, named,
                in_place() ? MadeData{o_.load.model, false}
                           : MadeData{made_.path() / data_file, true, align});
} catch (const std::system_error& e) {
  unwritable("OE0705", made_.path(), e.what());
}

void Output::copy_to_stdout() const {
  const fs::path made = made_.path() / models()[0].name;
  const int fd = made_.open(models()[0].name, O_RDONLY);
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

std::vector<Output::Made> Output::beside(const std::vector<Report>& reports) const {
  std::vector<Made> all;
  // The worker chose the names; they are taken from it in the form that it was asked for only.
  const auto add = [&](const std::string& wanted, const std::string& name, const char* what) {
    if (!is_name_or_hashed(wanted, name))
      throw Failure(ExitCode::Internal, "OE0003", "the worker wrote a file with another name");
    if (std::ranges::none_of(all, [&](const Made& m) { return m.name == name; }))
      all.push_back({name, what});
  };
  for (size_t i = 0; i < reports.size(); ++i) {
    const Outcome& out = reports[i].outcome;
    if (out.written.external) add(o_.write.external_file, out.data_file, "external data");
    if (!out.state.empty()) add(methods_[i].state_file, out.state_file, "saved state");
  }
  return all;
}

std::vector<KnownFile> Output::replaced(const std::vector<Made>& beside) const {
  std::vector<KnownFile> files;
  const Folder& folder = private_.around();
  for (const std::string& name : names_beside()) {
    const auto s = folder.status(name);
    if (!s || std::ranges::any_of(beside, [&](const Made& m) { return m.name == name; })) continue;
    // A model of --external-data=in-place names what it was converted from.
    std::error_code error;
    if (fs::equivalent(folder.path() / name, o_.load.model, error)) continue;
    // Where that cannot be read, it is asked once more before anything is removed.
    if (std::ranges::any_of(models(), [&](const Made& m) {
          return names_file(folder, m.name, name).value_or(true);
        }))
      files.push_back(known_file(name, *s));
  }
  return files;
}

void Output::require_moved(int error, const std::string& name) const {
  if (error == EEXIST)
    unwritable("OE0704", folder_ / name, "was created while the model was converted",
               "convert the model again");
  if (error) unwritable("OE0705", folder_ / name, std::strerror(error));
}

void Output::place_beside(const std::vector<Made>& beside, Placed& placed) const {
  for (const Made& m : beside) {
    std::string name = m.name;
    require_moved(made_.move(m.name, private_.around(), m.name, /*replace=*/false), m.name);
    placed.add(std::move(name));
  }
  if (!beside.empty()) require_moved(private_.around().sync(), "");
}

void Output::place_models(const std::vector<Made>& models, Placed& placed) const {
  const Folder& folder = private_.around();
  for (const Made& m : models) {
    const bool replaces = folder.status(m.name).has_value();
    std::string name = m.name;
    require_moved(made_.move(m.name, folder, m.name, o_.force), m.name);
    if (replaces)
      placed.keep();
    else
      placed.add(std::move(name));
  }
  require_moved(folder.sync(), "");
}

std::vector<std::pair<std::string, std::string>> Output::digests(
    const std::vector<Report>& reports) const {
  std::vector<Made> all = models();
  for (Made& m : beside(reports)) all.push_back(std::move(m));
  std::vector<std::pair<std::string, std::string>> digests;
  for (const Made& m : all) {
    const Descriptor file(made_.open(m.name, O_RDONLY | O_NONBLOCK));
    digests.emplace_back(m.name, sha256_of_file(file.get()));
  }
  return digests;
}

void Output::commit(const std::vector<Report>& reports) {
  check_made(reports);
  if (o_.output == "-") {
    test_data_.place({});
    copy_to_stdout();
    test_data_.keep();
    return discard();
  }
  const Folder &inside = made_, &folder = private_.around();
  const std::vector<Made> beside = this->beside(reports), models = this->models();
  std::vector<Made> all = beside;
  all.insert(all.end(), models.begin(), models.end());
  OwnerRecord later;  // what a later run removes, if we die here
  for (const Made& m : all) {
    const auto s = inside.status(m.name);
    if (!s || !S_ISREG(s->st_mode))
      unwritable("OE0705", made_.path() / m.name, "was not written by the worker");
    if (&m - all.data() < std::ssize(beside)) later.remains.push_back(known_file(m.name, *s));
    require_moved(inside.sync_file(m.name), m.name);
  }
  for (const Made& m : models) check_target(m);  // again: the conversion took its time
  const std::vector<KnownFile> old = replaced(beside);
  later.remains.insert(later.remains.end(), old.begin(), old.end());
  if (!later.remains.empty()) private_.note(later);
  Placed placed(folder, all.size());
  place_beside(beside, placed);
  const std::string model = fs::absolute(folder_ / models[0].name).string();
  test_data_.place({known_file(model, inside.status(models[0].name).value())});
  try {
    place_models(models, placed);
  } catch (...) {
    // A model that was replaced stays with its files, and a later run removes what no model names.
    // Models where there were none go again.
    if (placed.kept() ? !old.empty() : !placed.take_back()) private_.leave();
    if (placed.kept()) test_data_.keep();
    throw;
  }
  placed.keep();
  try {
    test_data_.keep();
    if (!remove_unnamed(folder, model_names(), old)) private_.leave();  // a later run does
  } catch (...) {
    private_.leave();  // likewise, where memory ran out
    throw;
  }
  discard();
}

}  // namespace oe::app
