// Numbers of fields are those of onnx.proto; the wire format is
// https://protobuf.dev/programming-guides/encoding.
#include "lib/support/onnx_references.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "lib/support/hashed_name.h"

namespace oe {
namespace {

constexpr int kDeepest = 100;  // protobuf's own limit

enum class Message { Model, Graph, Node, Attribute, Tensor, Sparse, Function, Training };

struct Nested {
  Message outer;
  uint64_t field;
  Message inner;
};

// Every way from a model to a tensor.
constexpr Nested kNested[] = {
    {Message::Model, 7, Message::Graph},         {Message::Model, 20, Message::Training},
    {Message::Model, 25, Message::Function},     {Message::Training, 1, Message::Graph},
    {Message::Training, 2, Message::Graph},      {Message::Graph, 1, Message::Node},
    {Message::Graph, 5, Message::Tensor},        {Message::Graph, 15, Message::Sparse},
    {Message::Node, 5, Message::Attribute},      {Message::Attribute, 5, Message::Tensor},
    {Message::Attribute, 6, Message::Graph},     {Message::Attribute, 10, Message::Tensor},
    {Message::Attribute, 11, Message::Graph},    {Message::Attribute, 22, Message::Sparse},
    {Message::Attribute, 23, Message::Sparse},   {Message::Sparse, 1, Message::Tensor},
    {Message::Sparse, 2, Message::Tensor},       {Message::Function, 7, Message::Node},
    {Message::Function, 11, Message::Attribute},
};
constexpr uint64_t kMetadata = 14;      // of a model
constexpr uint64_t kExternalData = 13;  // of a tensor

class Reader {
 public:
  explicit Reader(std::string_view all) : all_(all) {}

  OnnxReferences read() {
    message(Message::Model, all_, 0);
    return std::move(found_);
  }

 private:
  [[noreturn]] void fail(const char* at, const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at - all_.data()));
  }

  uint64_t number(std::string_view& rest) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest.empty()) break;
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
    fail(rest.data(), "a number has no end");
  }

  std::string_view take(std::string_view& rest, uint64_t size) const {
    if (size > rest.size()) fail(rest.data(), "a field extends beyond its message");
    const std::string_view part = rest.substr(0, size);
    rest.remove_prefix(size);
    return part;
  }

  // Calls f(field, content) for each field of variable length; passes over the others.
  template <class F>
  void fields(std::string_view rest, const F& f) const {
    while (!rest.empty()) {
      const char* const at = rest.data();
      const uint64_t key = number(rest);
      switch (key & 7) {
        case 0:
          number(rest);
          break;
        case 1:
          take(rest, 8);
          break;
        case 2:
          f(key >> 3, take(rest, number(rest)));
          break;
        case 5:
          take(rest, 4);
          break;
        default:
          fail(at, "a field of an unknown kind");
      }
    }
  }

  std::pair<std::string, std::string> pair(std::string_view content) const {
    std::pair<std::string, std::string> p;
    fields(content, [&](uint64_t field, std::string_view value) {
      if (field == 1) p.first = value;
      if (field == 2) p.second = value;
    });
    return p;
  }

  void message(Message m, std::string_view content, int depth) {
    if (depth > kDeepest) fail(content.data(), "messages are nested too deeply");
    External external;
    fields(content, [&](uint64_t field, std::string_view value) {
      if (m == Message::Tensor && field == kExternalData) external.add(pair(value));
      if (m == Message::Model && field == kMetadata)
        if (auto [key, file] = pair(value); key == kStateFileKey)
          found_.state_files.push_back(std::move(file));
      const auto nested = std::ranges::find_if(
          kNested, [&](const Nested& n) { return n.outer == m && n.field == field; });
      if (nested != std::end(kNested)) message(nested->inner, value, depth + 1);
    });
    if (!external.any) return;
    if (!external.offset || !external.length || external.location.empty())
      fail(content.data(), "a tensor's external data lacks location, offset or length");
    found_.data.push_back({external.location, *external.offset, *external.length});
  }

  struct External {
    bool any = false;
    std::string location;
    std::optional<uint64_t> offset, length;

    void add(const std::pair<std::string, std::string>& entry) {
      any = true;
      const auto& [key, text] = entry;
      if (key == "location") location = text;
      if (key != "offset" && key != "length") return;
      uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size())
        (key == "offset" ? offset : length) = value;
    }
  };

  std::string_view all_;
  OnnxReferences found_;
};

}  // namespace

OnnxReferences read_references(std::string_view model) { return Reader(model).read(); }

std::string outside(const std::vector<OnnxReferences::Range>& ranges, uint64_t size) {
  const bool inside = std::ranges::all_of(
      ranges, [&](const auto& r) { return r.length <= size && r.offset <= size - r.length; });
  return inside ? "" : "a tensor extends beyond the file";
}

std::string uncovered(const std::vector<OnnxReferences::Range>& ranges, std::string_view bytes,
                      uint64_t align) {
  if (std::string wrong = outside(ranges, bytes.size()); !wrong.empty()) return wrong;
  std::vector<std::pair<uint64_t, uint64_t>> parts;  // begin, end
  for (const auto& r : ranges) parts.emplace_back(r.offset, r.offset + r.length);
  std::ranges::sort(parts);
  uint64_t at = 0;
  for (const auto& [begin, end] : parts) {
    if (begin > at) {
      const std::string_view between = bytes.substr(at, begin - at);
      if (between.size() >= align || between.find_first_not_of('\0') != std::string_view::npos)
        return "bytes " + std::to_string(at) + " to " + std::to_string(begin) +
               " belong to no tensor";
    }
    at = std::max(at, end);
  }
  if (at < bytes.size()) return "bytes from " + std::to_string(at) + " on belong to no tensor";
  return {};
}

}  // namespace oe
