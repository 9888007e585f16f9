// The facts about the machine that LibTorch reads from files.
#pragma once

namespace oe::torch_io {

// Has LibTorch read its random seed and the processor's features now; by itself it reads them when
// they are first needed, which a confined process cannot. Starts no thread.
void read_machine();

}  // namespace oe::torch_io
