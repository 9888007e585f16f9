// The source of one method, as it stands in the archive.
#pragma once

#include <string>
#include <string_view>

#include "lib/archive/summary.h"

namespace oe::archive {

// `path`: a method of the whole module ("forward"), or of one inside it ("layer1.0.forward").
// Throws Failure(Usage, OE0124) with what there is instead.
std::string method_source(const Archive& archive, const Summary& s, std::string_view path);

}  // namespace oe::archive
