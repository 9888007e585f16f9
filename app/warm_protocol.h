// How a supervisor has the warm worker fork a process: one packet with the request's descriptors.
// The last of them is a socket, on which the warm worker sends the process (its number, a
// descriptor of it) and later its status, as waitpid(2) gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/packets.h"

namespace oe::app {

// The warm worker's end of the socket for requests.
constexpr int kWarmFd = 3;

// The words of a command line, in memory that a descriptor stands for. Invalid: no memory.
Descriptor words_file(const std::vector<std::string>& words);
std::vector<std::string> words_from(int descriptor);

bool send_number(int socket, int number, std::span<const int> descriptors = {});
// Nothing when the other side is gone.
std::optional<int> number_of(const std::optional<Packet>& p);

}  // namespace oe::app
