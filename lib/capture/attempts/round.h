// One attempt: the model at the example's sizes beside other sizes of its dynamic axes.
#pragma once

#include "lib/capture/attempts/attempt.h"

namespace oe::capture {

// Throws nothing that another attempt could mend: that is in the outcome.
Outcome attempt(const Job& job, const Attempt& how);

}  // namespace oe::capture
