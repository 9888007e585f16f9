// A case's options, and the stages behind capture.
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/optimize/options.h"
#include "lib/options/options.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"
#include "tests/support/golden_file.h"

namespace oe::golden {

// What the command line would be given.
Options options_of(const Case& c);

// "STAGE is malformed: the first problem", when there is one.
void throw_problems(const std::string& stage, const std::vector<std::string>& problems);
// The first error as a Failure whose text is all of them.
void throw_errors(const Diagnostics& d, int64_t opset);

// What conversion gives at one opset: the model, or the message that names why not.
struct Converted {
  std::optional<ir::Model> model;
  std::string error;
  std::string refusal;           // diagnostic code; empty when the converter itself went wrong
  std::set<std::string> warned;  // diagnostic codes that the opset's warnings have
};
// The converter's word that it cannot; "" for any other exception.
std::string refusal_of(const std::exception& e);

// Lowers and optimizes once, then walks down once and stops at each of `opsets`.
std::map<int64_t, Converted> convert(const program::Program& p, const std::vector<int64_t>& opsets,
                                     const optimize::Options& o = {});

// Equal for two opsets where the file means the same at both: the same bytes but for the number of
// the opset, and each operator's schema is of the same version. "" where that cannot be known.
std::string meaning(const ir::Model& m);

// One opset alone, as the tool does it. Throws where there is no model.
ir::Model convert_at(const program::Program& p, int64_t opset);

}  // namespace oe::golden
