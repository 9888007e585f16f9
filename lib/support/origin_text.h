// An origin as messages name it.
#pragma once

#include <string>

#include "lib/support/origin.h"

namespace oe {

// "model/net.py:12  y = x + 1"; empty where the line is not known.
inline std::string place_of(const OriginPtr& o) {
  return o && o->line ? o->file + ":" + std::to_string(o->line) + "  " + o->text : "";
}

}  // namespace oe
