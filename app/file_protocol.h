// How a confined worker asks its supervisor for files: one message a request on a socket of
// packets, one message an answer, with the open descriptor.
#pragma once

#include <optional>
#include <string>

namespace oe::app {

struct FileRequest {
  enum class Kind : char { Read = 'r', Create = 'w', Append = 'a', MakeFolder = 'm' };
  Kind kind = Kind::Read;
  std::string path;
};
// The longest path that is sent; longer ones fail with ENAMETOOLONG.
constexpr size_t kLongestPath = 4095;

// `error`: errno, 0 of success. `descriptor`: open, for Read, Create and Append; the receiver
// closes it.
struct FileAnswer {
  int error = 0;
  int descriptor = -1;
};

// False, or nothing, when the other side is gone or sent no such message.
bool send_request(int socket, const FileRequest& r);
std::optional<FileRequest> receive_request(int socket);
bool send_answer(int socket, const FileAnswer& a);
std::optional<FileAnswer> receive_answer(int socket);

}  // namespace oe::app
