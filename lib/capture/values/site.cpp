// Failures that name the running node.
#include "lib/capture/values/site.h"

#include <algorithm>

namespace oe::capture {

OriginPtr Site::here() const {
  if (running_.empty()) return nullptr;
  const Running& r = held_ ? running_[held_ - 1] : running_.back();
  return recorder_.origin(r.node, r.path, r.call);
}

void Site::refuse(const std::string& code, const std::string& message, const std::string& hint,
                  Need need) const {
  throw Refusal(code, named(message), hint, here(), need);
}

void Site::cannot_join(const std::string& code, const std::string& message,
                       const std::string& hint) const {
  throw JoinFailure(ExitCode::Unsupported, code, named(message), hint, here());
}

std::string Site::named(const std::string& message) const {
  return about_.empty() ? message : "'" + about_ + "': " + message;
}

// "y" of the node's output %y.3; empty where the author gave no name.
std::string Site::variable(size_t output) const {
  if (running_.empty() || output >= running_.back().node->outputs().size()) return {};
  std::string name = running_.back().node->output(output)->debugName();
  name.resize(std::min(name.find('.'), name.size()));
  const bool numbered = name.find_first_not_of("0123456789") == std::string::npos;
  return numbered || name.starts_with('_') ? std::string() : name;
}

}  // namespace oe::capture
