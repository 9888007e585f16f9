// Failures that name the running node.
#include "lib/capture/site.h"

namespace oe::capture {

OriginPtr Site::here() const {
  if (running_.empty()) return nullptr;
  return recorder_.origin(running_.back().first, running_.back().second);
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
