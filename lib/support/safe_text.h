// Escapes foreign text (names, exceptions, source lines, file names) for terminals and documents.
#pragma once

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace oe {

enum class TextTarget { Terminal, Log, Markdown, Html };

// One line. Control characters, ESC, DEL, invalid UTF-8, and characters that change the direction
// or the look of a line are escaped as in JSON: "\n", "\u001b", "\u202e", and "\xff" for a byte.
// Markdown and HTML: their special characters are escaped too.
std::string safe_line(std::string_view text, TextTarget target = TextTarget::Terminal);

// Several lines, each like safe_line(); lines after the first are indented, so that none looks like
// a message of ours ("error: ...").
std::string safe_block(std::string_view text, TextTarget target = TextTarget::Terminal);

// The first `most` bytes, cut at a character, with the number of omitted bytes. Shorter text is
// unchanged.
std::string cut_text(std::string_view text, size_t most);
inline constexpr size_t kShownMessage = 4096;            // bytes of a message on the terminal
inline constexpr size_t kKeptMessage = size_t{1} << 20;  // and in memory, the log and documents

// With "\u0000" for each NUL.
std::string without_nul(std::string text);

// Escapes what safe_line() escapes, except newlines and tabs: the last barrier, for text that its
// producer did not escape. An escaped JSON document is still JSON.
class SafeStream : public std::ostream {
 public:
  explicit SafeStream(std::ostream& to) : std::ostream(nullptr), buffer_(to) { rdbuf(&buffer_); }
  ~SafeStream() override { flush(); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::ostream& to) : to_(to) {}

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize n) override;
    int sync() override;

   private:
    bool pass_on(size_t bytes);
    std::ostream& to_;
    std::string held_;
  };
  Buffer buffer_;
};

}  // namespace oe
