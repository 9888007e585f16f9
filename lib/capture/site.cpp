// Failures that name the running node.
#include "lib/capture/site.h"

namespace oe::capture {

OriginPtr Site::here() const {
  if (running_.empty()) return nullptr;
  const auto& [node, path] = held_ ? running_[held_ - 1] : running_.back();
  return recorder_.origin(node, path);
}

void Site::refuse(const std::string& code, const std::string& message,
                  const std::string& hint) const {
  throw Failure(ExitCode::Unsupported, code, message, hint, here());
}

void Site::cannot_join(const std::string& code, const std::string& message,
                       const std::string& hint) const {
  throw JoinFailure(ExitCode::Unsupported, code, message, hint, here());
}

}  // namespace oe::capture
