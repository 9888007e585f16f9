// Which ONNX models of a folder name a file beside them: their weights, or their saved state.
#include "app/references.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "lib/support/hashed_name.h"

namespace oe::app {
namespace {

// A length-delimited field of a protobuf message: https://protobuf.dev/programming-guides/encoding
std::string field(int number, std::string_view value) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  size_t n = value.size();
  for (; n >= 128; n >>= 7) text += static_cast<char>((n & 127) | 128);
  text += static_cast<char>(n);
  return text.append(value);
}

// The entry of a model (StringStringEntryProto) that names the file.
std::string entry(std::string_view key, std::string_view file) {
  return field(1, key) + field(2, file);
}

// Whether the file holds one of `texts`. Nothing where it cannot be read.
std::optional<bool> holds(int descriptor, const std::vector<std::string>& texts) {
  constexpr size_t kPiece = 1 << 20;
  size_t longest = 0;
  for (const std::string& t : texts) longest = std::max(longest, t.size());
  std::string window;
  for (;;) {
    const size_t before = window.size();
    window.resize(before + kPiece);
    ssize_t n = 0;
    while ((n = read(descriptor, window.data() + before, kPiece)) < 0 && errno == EINTR) {
    }
    if (n < 0) return std::nullopt;
    window.resize(before + static_cast<size_t>(n));
    for (const std::string& t : texts)
      if (window.find(t) != std::string::npos) return true;
    if (n == 0) return false;
    // The end of this piece may be the beginning of a text.
    if (window.size() >= longest) window.erase(0, window.size() - longest + 1);
  }
}

std::string first_part(const std::string& name) { return name.substr(0, name.find('.')) + "."; }

}  // namespace

std::optional<bool> names_file(const Folder& folder, const std::string& model,
                               const std::string& file) {
  if (!folder.has_file(model)) return false;
  const int fd = folder.open(model, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? std::optional(false) : std::nullopt;
  const std::optional<bool> found =
      holds(fd, {entry("location", file), entry(kStateFileKey, file)});
  close(fd);
  return found;
}

std::optional<bool> is_named(const Folder& folder, const std::vector<std::string>& models,
                             const std::string& file) {
  const std::string begin = first_part(file);
  const bool of_models =
      std::ranges::all_of(models, [&](const std::string& m) { return m.starts_with(begin); });
  const auto names = folder.names();
  if (!names) return std::nullopt;
  std::optional<bool> result = false;
  for (const std::string& name : *names) {
    const bool ours = std::ranges::find(models, name) != models.end();
    const bool other = name.ends_with(".onnx") && (!of_models || name.starts_with(begin));
    if (!ours && !other) continue;
    const std::optional<bool> named = names_file(folder, name, file);
    if (named == true) return true;
    if (!named) result = std::nullopt;
  }
  return result;
}

}  // namespace oe::app
