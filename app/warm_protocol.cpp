#include "app/warm_protocol.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace oe::app {

Descriptor words_file(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  Descriptor file(memfd_create("words", MFD_CLOEXEC));
  for (size_t done = 0; file && done < text.size();) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Descriptor();
    done += static_cast<size_t>(n);
  }
  return file;
}

std::vector<std::string> words_from(int descriptor) {
  struct stat s {};
  if (fstat(descriptor, &s) != 0) return {};
  std::string text(static_cast<size_t>(s.st_size), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t n =
        pread(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<size_t>(n);
  }
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size(); at += words.back().size() + 1)
    words.emplace_back(text.c_str() + at);
  return words;
}

bool send_number(int socket, int number, std::span<const int> descriptors) {
  return send_packet(socket, {reinterpret_cast<const char*>(&number), sizeof number}, descriptors);
}

std::optional<int> number_of(const std::optional<Packet>& p) {
  int number = 0;
  if (!p || p->bytes.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, p->bytes.data(), sizeof number);
  return number;
}

}  // namespace oe::app
