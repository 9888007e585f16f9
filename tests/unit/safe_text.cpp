// Foreign text made safe: what passes, what becomes visible, what is cut.
#include "lib/support/safe_text.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "lib/support/diagnostics.h"

using namespace oe;

TEST_CASE("a line of foreign text", "[text]") {
  CHECK(safe_line("plain é 中 🙂 ‌") == "plain é 中 🙂 ‌");
  CHECK(safe_line("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(safe_line(std::string("a\0b", 3)) == "a\\u0000b");
  CHECK(safe_line("\33[31m\x7f") == "\\u001b[31m\\u007f");
  CHECK(safe_line("\xc2\x9b"
                  "31m") == "\\u009b31m");  // CSI as one character
  CHECK(safe_line("\x9b"
                  "31m") == "\\x9b31m");  // and as a byte
  CHECK(safe_line("\xe2\x80\xae"
                  "abc") == "\\u202eabc");  // right to left
  CHECK(safe_line("\xe2\x80\xa8"
                  "error:") == "\\u2028error:");
  CHECK(safe_line("\xf3\xa0\x81\xa5") == "\\udb40\\udc65");  // a tag character
  CHECK(safe_line("\xc0\x8a") == "\\xc0\\x8a");              // a newline, overlong
  CHECK(safe_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");     // half a pair
  CHECK(safe_line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(safe_line("caf\xc3") == "caf\\xc3");
}

TEST_CASE("a block of foreign text begins no line of ours", "[text]") {
  CHECK(safe_block("one\nerror: two\n  three\n\nfour") == "one\n  error: two\n  three\n\n  four");
  CHECK(safe_block("one\r\nerror: two") == "one\\r\n  error: two");
  CHECK(safe_block("").empty());
}

TEST_CASE("Markdown and HTML", "[text]") {
  CHECK(safe_line("a|b [x](y) `c` <d>\n", TextTarget::Markdown) ==
        "a\\|b \\[x\\]\\(y\\) \\`c\\` \\<d\\>\\n");
  CHECK(safe_line("<img src=\"x\" onerror='y'>&\n", TextTarget::Html) ==
        "&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;\\n");
}

TEST_CASE("cuts end at the end of a character", "[text]") {
  CHECK(cut_text("short", 5) == "short");
  CHECK(cut_text("abc\xc3\xa9zz", 4) == "abc ... (4 B left out)");
  CHECK(cut_text(std::string(84'000'000, 'x'), 4096).size() < 4200);
}

TEST_CASE("the last barrier", "[text]") {
  std::ostringstream out;
  {
    SafeStream safe(out);
    safe << "a\tb\n\33[2J" << 'c' << std::flush;
    CHECK(out.str() == "a\tb\n\\u001b[2Jc");
    out.str("");
    // Characters of three bytes over the size of its buffer, none of which is torn.
    for (int i = 0; i < 100'000; ++i) safe << "中";
  }
  CHECK(out.str().size() == 300'000);
  CHECK(out.str().find('\\') == std::string::npos);
}

TEST_CASE("messages with foreign text", "[text]") {
  const std::string name("a\0b\nerror: forged  [OE0001]", 26);
  CHECK(std::string(Failure(ExitCode::Refused, "OE0111", "record '" + name + "'").what())
            .find("\\u0000") != std::string::npos);
  Diagnostics d;
  d.report({"OE5101", Severity::Error, "aten::x\33", name, name,
            std::make_shared<const Origin>(Origin{"", "net\n", "\33]0;x\7.py", 3, "x\33[A"}), 0});
  const std::string text = render_text(d, 18);
  CHECK(text.find("\nerror: forged") == std::string::npos);
  CHECK(text.find('\33') == std::string::npos);
  CHECK(text.find("net\\n") != std::string::npos);
  Diagnostics many;
  for (int i = 0; i < 100; ++i)
    many.report({"OE5101", Severity::Error, "", std::string(1 << 20, 'a'), "", nullptr, 0});
  size_t kept = 0;
  for (const Diagnostic& e : many.all()) kept += e.message.size();
  CHECK(kept < 10u << 20);
  CHECK(render_text(many, 18).size() < 10'000);  // two groups: cut differently
}
