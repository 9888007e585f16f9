// Foreign text (names, exceptions, source lines, file names) made safe for who reads it.
#include "lib/support/safe_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "lib/support/text.h"

namespace oe {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character at the beginning of `text`, which is not empty. Overlong forms, surrogates and
// what is cut off are not valid.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t n = lead >= 0xf0 && lead < 0xf5   ? 4
                   : lead >= 0xe0 && lead < 0xf0 ? 3
                   : lead >= 0xc2 && lead < 0xe0 ? 2
                                                 : 0;
  if (n == 0 || text.size() < n) return {};
  uint32_t code = lead & (0x7f >> n);
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, n, true};
}

// Characters that are not seen themselves, or that change what is seen around them.
// https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
bool is_hidden(uint32_t c) {
  struct Range {
    uint32_t first, last;
  };
  constexpr Range hidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
      {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
      {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
  };
  return std::ranges::any_of(hidden, [&](const Range& r) { return c >= r.first && c <= r.last; });
}

void append_hidden(std::string& out, uint32_t c) {
  if (c == '\n') out += "\\n";
  if (c == '\r') out += "\\r";
  if (c == '\t') out += "\\t";
  if (c == '\n' || c == '\r' || c == '\t') return;
  char text[16];
  if (c > 0xffff)  // as JSON has it, in two halves
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                  0xdc00 + ((c - 0x10000) & 0x3ff));
  else
    std::snprintf(text, sizeof text, "\\u%04x", c);
  out += text;
}

void append_visible(std::string& out, std::string_view character, TextTarget target) {
  const char c = character[0];
  if (target == TextTarget::Html) {
    const char* entity = c == '&'    ? "&amp;"
                         : c == '<'  ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '"'  ? "&quot;"
                         : c == '\'' ? "&#39;"
                                     : nullptr;
    if (entity) {
      out += entity;
      return;
    }
  }
  if (target == TextTarget::Markdown &&
      std::string_view("\\`*_{}[]<>()#+-.!|~&").find(c) != std::string_view::npos)
    out += '\\';
  out += character;
}

// `kept`: characters that pass although they are hidden.
std::string made_safe(std::string_view text, TextTarget target, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  while (!text.empty()) {
    if (target == TextTarget::Terminal && is_plain(text[0])) {  // most of a long document
      const auto end = std::ranges::find_if_not(text, is_plain);
      out.append(text.begin(), end);
      text.remove_prefix(end - text.begin());
      continue;
    }
    const Character c = first_character(text);
    if (!c.valid) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned char>(text[0]));
      out += byte;
    } else if (is_hidden(c.code) &&
               (c.code > 0x7f || kept.find(static_cast<char>(c.code)) == std::string_view::npos)) {
      append_hidden(out, c.code);
    } else {
      append_visible(out, text.substr(0, c.bytes), target);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string safe_line(std::string_view text, TextTarget target) {
  return made_safe(text, target, "");
}

std::string safe_block(std::string_view text, TextTarget target) {
  std::string out;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (begin > 0 && !line.empty() && line[0] != ' ') out += "  ";
    out += safe_line(line, target);
    if (end == text.size()) return out;
    out += '\n';
    begin = end + 1;
  }
}

std::string cut_text(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t kept = most;
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80 && most - kept < 4)
    --kept;
  return std::string(text.substr(0, kept)) + " ... (" + human_bytes(text.size() - kept) +
         " left out)";
}

std::string without_nul(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\\u0000");
  return text;
}

bool SafeStream::Buffer::pass_on(size_t bytes) {
  to_ << made_safe(std::string_view(held_).substr(0, bytes), TextTarget::Terminal, "\n\t");
  held_.erase(0, bytes);
  return to_.good();
}

SafeStream::Buffer::int_type SafeStream::Buffer::overflow(int_type c) {
  if (c == traits_type::eof()) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize SafeStream::Buffer::xsputn(const char* text, std::streamsize n) {
  constexpr size_t enough = 1 << 16;
  held_.append(text, static_cast<size_t>(n));
  if (held_.size() < enough) return n;
  // A character may still be coming.
  size_t whole = held_.size() - 4;
  while (whole > 0 && (static_cast<unsigned char>(held_[whole]) & 0xc0) == 0x80 &&
         held_.size() - whole < 8)
    --whole;
  return pass_on(whole) ? n : 0;
}

int SafeStream::Buffer::sync() { return pass_on(held_.size()) && to_.flush().good() ? 0 : -1; }

}  // namespace oe
