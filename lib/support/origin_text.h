// An origin as messages and node names have it.
#pragma once

#include <string>
#include <string_view>

#include "lib/support/origin.h"

namespace oe {

// "model/net.py:12  y = x + 1"; empty where the line is not known.
inline std::string place_of(const OriginPtr& o) {
  return o && o->line ? o->file + ":" + std::to_string(o->line) + "  " + o->text : "";
}

// "layer1.0.conv1" -> "/layer1/layer1.0/conv1/": a number alone is joined to its container's name.
std::string node_prefix(std::string_view module_path);

}  // namespace oe
