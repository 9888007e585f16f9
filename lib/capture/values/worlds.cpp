// Which worlds run, and what becomes of those that cannot.
#include "lib/capture/values/worlds.h"

#include "lib/support/diagnostics.h"
#include "lib/support/origin_text.h"
#include "lib/torch/runtime.h"

namespace oe::capture {

Worlds::Worlds(size_t count)
    : count_(count), active_(count < kMost ? only(count) - 1 : ~Set{0}), real_(active_) {}

size_t Worlds::first() const {
  for (size_t w = 0; w < count_; ++w)
    if (active(w)) return w;
  throw Unreachable{"no world is active"};
}

void Worlds::fail(size_t w, const std::string& message, const OriginPtr& where) {
  if (real(w)) {
    if (w == 0 && torch_io::is_out_of_memory(message.c_str()))
      throw Failure(ExitCode::Limit, "OE0801", "out of memory: " + message, "", where);
    if (w == 0) throw InputsRefused("OE2101", "LibTorch rejects this input: " + message, where);
    const std::string place = place_of(where);
    dead_.emplace(w, place.empty() ? message : message + " (" + place + ")");
    real_ &= ~only(w);
  }
  active_ &= ~only(w);
  if (!active_) throw Unreachable{message};
}

Worlds::Set Worlds::alive(Set worlds) const {
  for (const auto& [w, why] : dead_) worlds &= ~only(w);
  return worlds;
}

void Worlds::within(Set active, Set real, const std::function<void()>& f) {
  struct Restore {
    Worlds& worlds;
    Set active, real;
    ~Restore() {
      worlds.active_ = worlds.alive(active);
      worlds.real_ = worlds.alive(real);
    }
  } restore{*this, active_, real_};
  active_ = alive(active);
  real_ = alive(real);
  f();
}

}  // namespace oe::capture
