// The reports of one run (--report), in each format.
#pragma once

#include "app/model_run.h"

namespace oe::app {

// Throws Failure(Unwritable).
void write_model_reports(const ModelRun& run);

}  // namespace oe::app
