// Every option of `convert`, `check` and `verify` as CLI11 sees it: name, group, help text, where
// its text goes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/limits.h"
#include "lib/options/options.h"

namespace oe::app {

// Texts as they stand on the command line; meaning is given to them after all of them are read.
struct Raw {
  Options o;
  LimitTexts limits;
  std::string model, second, opset, unroll, ir_version, inputs_file, inputs_from, test_data, seed,
      mode, training, state, device, threads, target, checker, verify, verify_runs, ort_lib,
      provider, fold_limit, external, external_file, threshold, align, color, guess, export_type,
      keep_initializers, diag_format, progress, functions, stop_after, config, to, optimize;
  std::vector<std::string> inputs, alt_inputs, constants, dynamic_axes, input_names, output_names,
      renames, methods, op_libs, atol, rtol, print_ir, custom_opsets, symbolics, schemas,
      disabled_passes;
  bool no_folding = false, no_export_params = false, keep_doc = false, strip_doc = false,
       no_metadata = false, verbose = false, quiet = false;
  bool help = false, help_all = false, version = false, list_passes = false;
  bool dynamo = false, fallback = false, autograd_inlining = false;
};

// Of the verb that does `task`: check takes all that convert does, verify what does not say how a
// model is converted.
void add_options(CLI::App& app, Raw& r, Task task = Task::Convert);

// The help text: the most used options, or all of them.
std::string help(CLI::App& app, bool all, Task task);

}  // namespace oe::app
