// The result of one model of a batch.
#pragma once

#include "app/json.h"

namespace oe::app {

enum class ItemStatus : char { NotRun, Ok, Partly, Failed, Skipped };
const char* name_of(ItemStatus s);  // "not run", "ok", "partly", "failed", "skipped"
// Of a document. `found`: what is no TorchScript at all is no failure of the batch then.
ItemStatus status_of(const ordered_json& document, bool found);
// As the document of a batch's model has it.
ItemStatus status_in(const ordered_json& document);
// A problem of a document: its operator and the first line of its message.
std::string short_problem(const ordered_json& problem);

}  // namespace oe::app
