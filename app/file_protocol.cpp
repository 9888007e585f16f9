// How a confined worker asks its supervisor for files.
#include "app/file_protocol.h"

#include <array>
#include <cstring>

#include "app/packets.h"

namespace oe::app {
namespace {

constexpr bool known(char kind) {
  for (const auto k : {FileRequest::Kind::Read, FileRequest::Kind::Create,
                       FileRequest::Kind::Append, FileRequest::Kind::MakeFolder})
    if (static_cast<char>(k) == kind) return true;
  return false;
}

}  // namespace

bool send_request(int socket, const FileRequest& r) {
  return send_packet(socket, static_cast<char>(r.kind) + r.path);
}

std::optional<FileRequest> receive_request(int socket) {
  // Descriptors that a worker might send are closed with the packet.
  const std::optional<Packet> p = receive_packet(socket, 1 + kLongestPath);
  if (!p || !known(p->bytes[0])) return std::nullopt;
  return FileRequest{static_cast<FileRequest::Kind>(p->bytes[0]), p->bytes.substr(1)};
}

bool send_answer(int socket, const FileAnswer& a) {
  const std::string_view error(reinterpret_cast<const char*>(&a.error), sizeof a.error);
  if (a.descriptor < 0) return send_packet(socket, error);
  return send_packet(socket, error, std::array{a.descriptor});
}

std::optional<FileAnswer> receive_answer(int socket) {
  FileAnswer a;
  std::optional<Packet> p = receive_packet(socket, sizeof a.error);
  if (!p || p->bytes.size() != sizeof a.error) return std::nullopt;
  std::memcpy(&a.error, p->bytes.data(), sizeof a.error);
  if (!p->descriptors.empty()) a.descriptor = p->descriptors[0].release();
  return a;
}

}  // namespace oe::app
