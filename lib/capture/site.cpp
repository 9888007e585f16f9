// Failures that name the running node.
#include "lib/capture/site.h"

namespace oe::capture {

OriginPtr Site::here() const {
  if (running_.empty()) return nullptr;
  const Running& r = held_ ? running_[held_ - 1] : running_.back();
  return recorder_.origin(r.node, r.path, r.call);
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
