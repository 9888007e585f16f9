// What the process ends with, for --help and the manual page.
#pragma once

#include <string_view>
#include <utility>

namespace oe::app {

inline constexpr std::pair<std::string_view, std::string_view> kExitCodes[] = {
    {"0", "converted, and verified when asked"},
    {"1", "internal error: a bug"},
    {"2", "usage"},
    {"3", "the input cannot be read or is not TorchScript"},
    {"4", "the input is refused: malformed, or LibTorch does not run the model on these inputs"},
    {"5", "operators or constructs cannot be converted; all of them are listed"},
    {"6", "verification found different numbers or shapes; diff found a difference"},
    {"7", "the output cannot be written"},
    {"8", "a limit was reached: memory, time or size"},
    {"9", "the worker crashed"},
    {"10", "a required part is missing: ONNX Runtime, LibTorch, CUDA, a custom library"},
    {"11", "converted, but not everything could be verified as requested"},
    {"12", "batch: at least one model failed, or got worse than the baseline"},
    {"128+n", "ended by signal n; nothing is left on disk"},
};

}  // namespace oe::app
