// How the supervisor ends when it gets no memory itself.
#include "app/memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>

#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

constexpr std::string_view kMessage =
    "error: onnx-export ran out of memory  [OE0801]\n"
    "hint: convert on a machine with more free memory\n";

std::terminate_handler otherwise = std::abort;
std::atomic<bool> allocation_failed = false;

[[noreturn]] void note_failure() {
  allocation_failed = true;
  throw std::bad_alloc();
}

[[noreturn]] void end() {
  try {
    if (const std::exception_ptr now = std::current_exception()) std::rethrow_exception(now);
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) _exit(say_out_of_memory());
  } catch (...) {
    otherwise();
  }
  // Where an exception meets a noexcept function of the C++ library, it is not the current one.
  if (allocation_failed) _exit(say_out_of_memory());
  otherwise();
  std::abort();
}

}  // namespace

bool is_out_of_memory(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return true;
  const auto* error = dynamic_cast<const std::system_error*>(&e);
  return error && (error->code() == std::errc::not_enough_memory ||
                   error->code() == std::errc::resource_unavailable_try_again);
}

bool allocation_has_failed() { return allocation_failed; }

int say_out_of_memory() noexcept {
  // Where even this fails, the exit code says it.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  return static_cast<int>(ExitCode::Limit);
}

void end_in_order_without_memory() {
  otherwise = std::set_terminate(end);
  std::set_new_handler(note_failure);
}

}  // namespace oe::app
