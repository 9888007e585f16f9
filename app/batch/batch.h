// The verb `batch`.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// `arguments` without the verb. Returns the exit code; a signal that ended it ends this process.
int batch(const std::vector<std::string>& arguments);

}  // namespace oe::app
