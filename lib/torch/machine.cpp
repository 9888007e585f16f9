// The facts about the machine that LibTorch reads from files.
#include "lib/torch/machine.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>

namespace oe::torch_io {

void read_machine() {
  at::detail::getDefaultCPUGenerator();  // /dev/urandom
  at::get_cpu_capability();              // /proc/cpuinfo
  at::get_num_threads();                 // /sys/devices/system/cpu
}

}  // namespace oe::torch_io
