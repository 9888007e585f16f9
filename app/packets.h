// Packets with open descriptors, on a socket that keeps packets apart (SOCK_SEQPACKET).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/supervise/descriptor.h"

namespace oe::app {

constexpr size_t kMostDescriptors = 8;  // in a packet

struct Packet {
  std::string bytes;
  std::vector<Descriptor> descriptors;  // closed on exec
};

// False when the other side is gone. A packet has a byte at least.
bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors = {});
// Nothing when the other side is gone, and of a packet that is longer than `most`. `flags`: of
// recvmsg(2).
std::optional<Packet> receive_packet(int socket, size_t most, int flags = 0);

}  // namespace oe::app
