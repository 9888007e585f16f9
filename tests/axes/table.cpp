// Arguments that are written down, and overloads for which none can be.
#include "tests/axes/samples.h"

namespace oe::axes {
namespace {

constexpr Written kWritten[] = {
    {"aten::repeat_interleave.self_int", "self=f[3] repeats=a"},
};

constexpr Unsampled kUnsampled[] = {
    {"aten::none", ""},
};

}  // namespace

std::span<const Written> written() { return kWritten; }
std::span<const Unsampled> unsampled() { return kUnsampled; }

}  // namespace oe::axes
