// What the worker does of each verb: with LibTorch and ONNX at hand.
#pragma once

#include <ostream>
#include <string_view>

#include "app/report.h"
#include "app/verbs/inspect.h"

namespace oe::app {

// Each prints its data to `out`; problems go into the report, whose outcome has the exit code.
// Throws Failure.
void inspect(const Inspect& verb, std::ostream& out, Report& r);

// Runs the worker's part of a verb. Throws Failure, also where the verb has none.
void run_verb_part(std::string_view name, const Strings& arguments, std::ostream& out, Report& r);

}  // namespace oe::app
