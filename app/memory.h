// How the supervisor ends when it gets no memory itself.
#pragma once

#include <exception>

namespace oe::app {

// A failed allocation, or the system's error of one: a thread without a stack, a folder that cannot
// be listed for want of a buffer.
bool is_out_of_memory(const std::exception& e);

// Whether an allocation failed since end_in_order_without_memory(). Streams swallow that: what they
// were to hold or print may be incomplete.
bool allocation_has_failed();

// Reports it without an allocation. Gives the exit code.
int say_out_of_memory() noexcept;

// An allocation that fails where no exception may pass (destructors, noexcept) ends the process
// with that report and exit code too, instead of SIGABRT. Files that are left are removed by the
// next run, as after a kill.
void end_in_order_without_memory();

}  // namespace oe::app
