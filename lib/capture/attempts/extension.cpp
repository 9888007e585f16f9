#include "lib/capture/attempts/extension.h"

#include <algorithm>

#include "lib/capture/values/worlds.h"

namespace oe::capture {
namespace {

constexpr size_t kMostWorlds = 24;
static_assert(kMostWorlds < Worlds::kMost);

}  // namespace

void Extension::extend(Recorded& r, std::vector<World>& worlds) {
  const std::vector<DynamicAxis>& axes = run_.job().axes;
  while (!r.missed.empty()) follow(r, worlds);
  for (const int64_t base : {16, 64}) {
    if (axes.empty()) break;
    World large, even;  // even: sizes that can be halved and cut in three
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      const int64_t size = 2 * axes[i].example + base + place;
      large.sizes.push_back(std::clamp(size, axes[i].low, axes[i].high));
      even.sizes.push_back(std::clamp((size / 48 + 1 + place) * 48, axes[i].low, axes[i].high));
    }
    offer(r, worlds, std::move(large));
    offer(r, worlds, std::move(even));
  }
  for (const Variation::Kind sign : {Variation::Kind::Positive, Variation::Kind::Negative})
    offer(r, worlds, {worlds[0].sizes, {}, {}, {sign, 0}});
  for (const int64_t iteration : {1, 3}) offer(r, worlds, {worlds[0].sizes, 0, {{}, iteration}});
  make_up(r, worlds);
}

// A loop took a branch that the first iteration could not run: a world goes where that was.
void Extension::follow(Recorded& r, std::vector<World>& worlds) {
  for (const Missed& m : r.missed) {
    if (!followed_.insert(m.branch).second || worlds.size() >= kMostWorlds) throw m.refusal;
    const size_t of = worlds[m.world].of.value_or(m.world);
    worlds.push_back({worlds[of].sizes, of, m.iterations});
  }
  r = run_(worlds);
}

// One more world, kept when a branch that ran in none runs in it.
void Extension::offer(Recorded& r, std::vector<World>& worlds, World more) {
  if (r.dropped == 0 || left_out_.contains(more.sizes)) return;
  std::vector<World> extended = worlds;
  extended.push_back(std::move(more));
  Recorded b = run_(extended);
  if (b.dropped >= r.dropped || b.dead.contains(worlds.size())) return;
  r = std::move(b);
  worlds = std::move(extended);
  while (!r.missed.empty()) follow(r, worlds);
}

// Branches that still ran in no world run on values of the right type.
void Extension::make_up(Recorded& r, const std::vector<World>& worlds) {
  if (r.dropped == 0 || run_.how().made_up || !may_make_up(run_.job().options)) return;
  Attempt how = run_.how();
  how.made_up = true;
  try {
    Recorded b = Runs(run_.job(), how)(worlds);
    if (b.dropped < r.dropped && b.missed.empty()) r = std::move(b);
  } catch (const Failure&) {
    // ONNX cannot express such a branch: that it is never taken stays an assumption.
  }
}

}  // namespace oe::capture
