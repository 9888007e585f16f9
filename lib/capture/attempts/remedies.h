// Which attempt comes after one that ended without a program.
#pragma once

#include <optional>

#include "lib/capture/attempts/attempt.h"

namespace oe::capture {

// Nothing where no other attempt can do better.
std::optional<Attempt> next_attempt(const Attempt& how, const Outcome& out,
                                    const CaptureOptions& o);

}  // namespace oe::capture
