// What a TorchScript archive holds, for people and as JSON (docs/verbs.md).
#pragma once

#include <string>

#include "app/arguments.h"
#include "app/json.h"
#include "lib/archive/summary.h"

namespace oe::app {

std::string sizes_text(const std::vector<int64_t>& sizes);  // "[3,4]"

std::string archive_text(const archive::Archive& a, const archive::Summary& s, bool every_tensor);
ordered_json archive_json(const archive::Archive& a, const archive::Summary& s);

// The label before the first of the lines, blanks before the others; nothing where there are none.
std::string labelled(const std::string& label, const Strings& lines);
// Counts in one column, the largest first: "  12  aten::relu".
Strings counted(const std::map<std::string, size_t>& counts);

}  // namespace oe::app
