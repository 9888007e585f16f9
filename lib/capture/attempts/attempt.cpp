#include "lib/capture/attempts/attempt.h"

namespace oe::capture {

std::string text(const Attempt& a) {
  std::string out = a.unroll == kNoLimit ? "all loops unrolled"
                                         : "loops up to " + std::to_string(a.unroll) + " unrolled";
  if (a.autograd) out += ", autograd on";
  if (a.views) out += ", lists of views";
  if (a.made_up) out += ", made-up values";
  if (a.round > 0) out += ", other sizes " + std::to_string(a.round + 1);
  return out;
}

std::string_view name(Ended e) {
  switch (e) {
    case Ended::Captured:
      return "captured";
    case Ended::Refused:
      return "refused";
    case Ended::Unsupported:
      return "unsupported";
    case Ended::NeedsAutograd:
      return "needs autograd";
    case Ended::NeedsViews:
      return "needs lists of views";
    case Ended::NeedsMadeUp:
      return "needs made-up values";
    case Ended::NeedsOtherSizes:
      return "needs other sizes";
    case Ended::NeedsUnrolling:
      return "needs all loops unrolled";
    case Ended::MissingOperators:
      return "operators are missing";
  }
  return "";
}

}  // namespace oe::capture
