// Sizes of the converter's own choosing at which LibTorch ended the process: not run again.
#pragma once

#include <string>

namespace oe {

struct LeftOut {
  std::string sizes;  // as in lib/support/trial.h
  std::string op;     // the operator that ran
};

}  // namespace oe
