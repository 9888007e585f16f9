#include "app/packets.h"

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

}  // namespace

bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  return retried([&] { return sendmsg(socket, &header, MSG_NOSIGNAL); }) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<Packet> receive_packet(int socket, size_t most, int flags) {
  Packet p;
  p.bytes.resize(most);
  iovec part{p.bytes.data(), p.bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t n = retried([&] { return recvmsg(socket, &header, MSG_CMSG_CLOEXEC | flags); });
  if (n < 1) return std::nullopt;
  p.bytes.resize(static_cast<size_t>(n));
  if (const cmsghdr* c = CMSG_FIRSTHDR(&header);
      c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
    for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int d = -1;
      std::memcpy(&d, CMSG_DATA(c) + i * sizeof d, sizeof d);
      p.descriptors.emplace_back(d);
    }
  if (header.msg_flags & MSG_TRUNC) return std::nullopt;
  return p;
}

}  // namespace oe::app
