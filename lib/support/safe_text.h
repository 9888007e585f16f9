// Foreign text (names, exceptions, source lines, file names) made safe for who reads it.
#pragma once

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace oe {

enum class TextTarget { Terminal, Log, Markdown, Html };

// One line. Control characters, ESC, DEL, bytes that are no UTF-8, and characters that change the
// direction or the look of a line are visible, as JSON writes them: "\n", "\u001b", "\u202e", and
// "\xff" for a byte. Markdown and HTML: what has a meaning there is escaped too.
std::string safe_line(std::string_view text, TextTarget target = TextTarget::Terminal);

// Several lines, each as safe_line(); those after the first are indented, so that none begins like
// a message of ours ("error: ...").
std::string safe_block(std::string_view text, TextTarget target = TextTarget::Terminal);

// The beginning, with how much was left out; at the end of a character. Unchanged up to `most`
// bytes.
std::string cut_text(std::string_view text, size_t most);
inline constexpr size_t kShownMessage = 4096;            // bytes of a message on the terminal
inline constexpr size_t kKeptMessage = size_t{1} << 20;  // and in memory, the log and documents

// With "\u0000" for each NUL.
std::string without_nul(std::string text);

// Passes text on with all that safe_line() makes visible made so, but newlines and tabs: the last
// barrier, for text whose maker forgot. What it escapes in a JSON document is still JSON.
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
