// main() of the unit tests: Catch2, with the closing line every test program has.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <iostream>

namespace {

size_t passed = 0, failed = 0;

struct Counter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++(stats.totals.assertions.allOk() ? passed : failed);
  }
};
CATCH_REGISTER_LISTENER(Counter)

}  // namespace

int main(int argc, char** argv) {
  const int result = Catch::Session().run(argc, argv);
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return result;
}
