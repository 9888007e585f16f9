#include "app/document.h"

#include <utility>

#include "app/version.h"

namespace oe::app {

ordered_json document_head(std::string_view verb) {
  return {{"schema_version", kSchemaVersion},
          {"tool", {{"name", "onnx-export"}, {"version", kVersion}}},
          {"verb", verb}};
}

ordered_json verb_document(std::string_view verb, ordered_json members, ExitCode exit_code,
                           const ordered_json& problems) {
  ordered_json j = document_head(verb);
  for (auto& [key, member] : members.items()) j[key] = std::move(member);
  j["exit_code"] = static_cast<int>(exit_code);
  j["problems"] = problems;
  return j;
}

}  // namespace oe::app
