// The members that every JSON document begins with (docs/schema/report.schema.json).
#pragma once

#include <string_view>

#include "app/json.h"

namespace oe::app {

// Raised by a change; an addition keeps it.
inline constexpr int kSchemaVersion = 1;

// schema_version, tool, verb.
ordered_json document_head(std::string_view verb);

// The whole document of a verb other than convert, check and verify: its own members between the
// head and exit_code and problems.
ordered_json verb_document(std::string_view verb, ordered_json members, ExitCode exit_code,
                           const ordered_json& problems = ordered_json::array());

}  // namespace oe::app
