// JSON documents as the verbs print them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/report.h"
#include "lib/infer/found.h"
#include "lib/support/diagnostics.h"

namespace oe::app {

using nlohmann::ordered_json;

// `indent` < 0: one line. Bytes of a model's own names and source lines that are no UTF-8 are
// replaced.
std::string dump(const ordered_json& j, int indent);

// Members of a problem, the same wherever one is told.
ordered_json problem_json(const Diagnostic& d);
ordered_json origin_json(const OriginPtr& o);  // null where there is none

// The --json document of one method: the report with the paths. `written`: they are there.
ordered_json report_document(const Report& r, const Options& o, bool written);
ordered_json stop_json(const Stop& s);  // as a problem

ordered_json graph_json(std::optional<GraphOutline> graph);  // null where there is none
ordered_json found_json(std::vector<infer::FoundInput> found);

}  // namespace oe::app
