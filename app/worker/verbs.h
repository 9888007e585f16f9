// What the worker does of each verb: with LibTorch and ONNX at hand.
#pragma once

#include <ostream>
#include <string_view>

#include "app/report.h"
#include "app/verbs/diff.h"
#include "app/verbs/doctor.h"
#include "app/verbs/inspect.h"
#include "app/verbs/lint.h"

namespace oe::app {

// Each prints its data to `out`; problems go into the report, whose outcome has the exit code.
// Throws Failure.
void diff(const Diff& verb, std::ostream& out, Report& r);
void doctor(const Doctor& verb, std::ostream& out, Report& r);
void inspect(const Inspect& verb, std::ostream& out, Report& r);
void lint(const Lint& verb, std::ostream& out, Report& r);

// Runs the worker's part of a verb. Throws Failure, also where the verb has none.
void run_verb_part(std::string_view name, const Strings& arguments, const SandboxLevel& sandbox,
                   std::ostream& out, Report& r);

}  // namespace oe::app
