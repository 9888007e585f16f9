#include "lib/capture/attempts/remedies.h"

#include "lib/capture/attempts/left_out.h"

namespace oe::capture {
namespace {

using Changed = std::optional<Attempt>;

// Each row answers one way of ending. A setting that is changed puts those that were found under
// the old one back: unrolled loops may be kept again when lists hold views.
struct Remedy {
  Ended ended;
  Changed (*next)(const Attempt& how, const Outcome& out, const CaptureOptions& o);
};

Changed with_autograd(const Attempt& how, const Outcome&, const CaptureOptions& o) {
  if (how.autograd) return std::nullopt;
  return Attempt{.autograd = true, .unroll = o.unroll};
}

Changed with_views(const Attempt& how, const Outcome&, const CaptureOptions& o) {
  if (how.views) return std::nullopt;
  return Attempt{.autograd = how.autograd, .views = true, .unroll = o.unroll};
}

Changed with_loops_unrolled(const Attempt& how, const Outcome& out, const CaptureOptions&) {
  if (!out.loops_kept || how.unroll == kNoLimit) return std::nullopt;
  Attempt next = how;
  next.unroll = kNoLimit;
  next.round = 0;
  next.smallest = true;
  return next;
}

Changed at_other_sizes(const Attempt& how, const Outcome& out, const CaptureOptions&) {
  Attempt next = how;
  ++next.round;
  next.smallest = how.smallest && out.smallest_ran;  // what died at these sizes dies again
  return next;
}

Changed with_made_up_values(const Attempt& how, const Outcome&, const CaptureOptions& o) {
  if (how.made_up || !may_make_up(o)) return std::nullopt;
  Attempt next = how;
  next.made_up = true;
  return next;
}

// The first row that applies.
constexpr Remedy kRemedies[] = {
    {Ended::NeedsOtherSizes, at_other_sizes},  {Ended::NeedsMadeUp, with_made_up_values},
    {Ended::NeedsMadeUp, with_loops_unrolled}, {Ended::NeedsUnrolling, with_loops_unrolled},
    {Ended::Unsupported, with_loops_unrolled}, {Ended::NeedsViews, with_loops_unrolled},
    {Ended::NeedsViews, with_views},           {Ended::NeedsAutograd, with_autograd},
};

}  // namespace

std::optional<Attempt> next_attempt(const Attempt& how, const Outcome& out,
                                    const CaptureOptions& o) {
  for (const Remedy& r : kRemedies)
    if (r.ended == out.ended)
      if (Changed next = r.next(how, out, o)) return next;
  return std::nullopt;
}

}  // namespace oe::capture
