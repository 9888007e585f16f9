#include "app/made_model.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "lib/support/diagnostics.h"
#include "lib/support/files.h"
#include "lib/support/onnx_references.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

[[noreturn]] void unsound(const std::string& file, const std::string& what) {
  throw Failure(ExitCode::Crashed, "OE0902",
                safe_line("the worker's file '" + file + "' is invalid: " + what),
                "nothing was written; report it with the model");
}

void require_name(const std::string& file, const std::string& found, const std::string& allowed) {
  if (found != allowed) unsound(file, "it refers to the file '" + found + "'");
}

}  // namespace

void require_sound(const Folder& made, const std::vector<MadeModel>& models, const MadeData& data) {
  std::vector<OnnxReferences::Range> ranges;
  for (const MadeModel& m : models) {
    const int fd = made.open(m.name, O_RDONLY);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), m.name);
    const MappedFile file(File(fd, m.name));
    OnnxReferences found;
    try {
      found = read_references({file.data(), file.size()});
    } catch (const std::runtime_error& e) {
      unsound(m.name, e.what());
    }
    for (const auto& r : found.data) require_name(m.name, r.location, m.data_file);
    for (const std::string& s : found.state_files) require_name(m.name, s, m.state_file);
    ranges.insert(ranges.end(), found.data.begin(), found.data.end());
  }
  if (std::ranges::all_of(models, [](const MadeModel& m) { return m.data_file.empty(); })) return;
  const MappedFile file{File(data.path)};
  const std::string wrong = data.made ? uncovered(ranges, {file.data(), file.size()}, data.align)
                                      : outside(ranges, file.size());
  if (!wrong.empty()) unsound(data.path.filename().string(), wrong);
}

}  // namespace oe::app
