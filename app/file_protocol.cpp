// How a confined worker asks its supervisor for files.
#include "app/file_protocol.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace oe::app {
namespace {

template <class F>
ssize_t retried(const F& call) {
  for (;;)
    if (const ssize_t n = call(); n >= 0 || errno != EINTR) return n;
}

constexpr bool known(char kind) {
  for (const auto k : {FileRequest::Kind::Read, FileRequest::Kind::Create,
                       FileRequest::Kind::Append, FileRequest::Kind::MakeFolder})
    if (static_cast<char>(k) == kind) return true;
  return false;
}

}  // namespace

bool send_request(int socket, const FileRequest& r) {
  const std::string message = static_cast<char>(r.kind) + r.path;
  return retried([&] { return send(socket, message.data(), message.size(), MSG_NOSIGNAL); }) ==
         static_cast<ssize_t>(message.size());
}

std::optional<FileRequest> receive_request(int socket) {
  char message[1 + kLongestPath];
  iovec part{message, sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  // Without room for control data the kernel closes descriptors that a worker might send.
  const ssize_t n = retried([&] { return recvmsg(socket, &header, MSG_CMSG_CLOEXEC); });
  if (n < 1 || header.msg_flags & MSG_TRUNC || !known(message[0])) return std::nullopt;
  return FileRequest{static_cast<FileRequest::Kind>(message[0]),
                     std::string(message + 1, static_cast<size_t>(n) - 1)};
}

bool send_answer(int socket, const FileAnswer& a) {
  int error = a.error;
  iovec part{&error, sizeof error};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (a.descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &a.descriptor, sizeof(int));
  }
  return retried([&] { return sendmsg(socket, &header, MSG_NOSIGNAL); }) == sizeof error;
}

std::optional<FileAnswer> receive_answer(int socket) {
  FileAnswer a;
  iovec part{&a.error, sizeof a.error};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  if (retried([&] { return recvmsg(socket, &header, MSG_CMSG_CLOEXEC); }) != sizeof a.error)
    return std::nullopt;
  if (const cmsghdr* c = CMSG_FIRSTHDR(&header);
      c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
    std::memcpy(&a.descriptor, CMSG_DATA(c), sizeof(int));
  return a;
}

}  // namespace oe::app
