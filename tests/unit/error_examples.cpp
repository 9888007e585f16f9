// The examples of problems, and how their pages are wrapped.
#include "lib/support/error_examples.h"

#include <catch2/catch.hpp>
#include <string>

#include "lib/support/error_codes.h"

using namespace oe;

TEST_CASE("an example has its command and its message") {
  size_t examples = 0;
  for (const ErrorCode& e : error_codes()) {
    const auto example = error_example(e.code);
    if (!example) continue;
    ++examples;
    CAPTURE(e.code);
    CHECK(example->command.ends_with("\n"));
    CHECK(example->message.find("[" + std::string(e.code) + "]") != std::string_view::npos);
    CHECK(example->message.find("\n-- ") == std::string_view::npos);
    CHECK(example->model.find("\n-- ") == std::string_view::npos);
  }
  CHECK(examples > 100);
}

TEST_CASE("a code without an example") {
  CHECK(!error_example("OE0003"));
  CHECK(!error_example("OE9999"));
  CHECK(!error_example(""));
}

TEST_CASE("a paragraph is wrapped at blanks") {
  CHECK(wrapped("short") == "short\n");
  CHECK(wrapped("") == "\n");
  const std::string word(60, 'a');
  CHECK(wrapped(word + " " + word) == word + "\n" + word + "\n");
  const std::string fits(49, 'a');
  CHECK(wrapped(fits + " " + fits + "a") == fits + " " + fits + "a\n");
  CHECK(wrapped(word + word) == word + word + "\n");
}
