// Every option of `convert` and `check` as CLI11 sees it: name, group, help text, where its text
// goes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lib/options.h"

namespace oe::app {

// Texts as they stand on the command line; meaning is given to them after all of them are read.
struct Raw {
  Options o;
  std::string model, opset, unroll, ir_version, inputs_file, inputs_from, test_data, seed, mode,
      training, state, device, threads, target, checker, verify, verify_runs, ort_lib, provider,
      fold_limit, external, external_file, threshold, align, color, guess, export_type,
      keep_initializers, diag_format, progress, functions;
  std::vector<std::string> inputs, alt_inputs, constants, dynamic_axes, input_names, output_names,
      renames, methods, op_libs, atol, rtol, print_ir, custom_opsets, symbolics, schemas;
  bool no_folding = false, no_export_params = false, keep_doc = false, strip_doc = false,
       verbose = false, quiet = false;
  bool help = false, help_all = false, version = false;
};

// Where `check`: those of the verb, which takes all that convert does.
void add_options(CLI::App& app, Raw& r, bool check = false);

// The help text: the most used options, or all of them; `check`: of that verb.
std::string help(CLI::App& app, bool all, bool check);

}  // namespace oe::app
