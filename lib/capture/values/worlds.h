// The runs of the model that are executed side by side.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/capture/values/abstract_value.h"
#include "lib/support/origin.h"

namespace oe::capture {

// No active world can go on: what follows cannot be typed.
struct Unreachable {
  std::string message;
};

// World 0 has the user's inputs. A world is active where the model is run with its values, and real
// where it really comes there: a branch that it does not take is run in it too, if it can be.
class Worlds {
 public:
  using Set = uint64_t;  // a bit for each world
  static constexpr size_t kMost = 64;

  explicit Worlds(size_t count);

  size_t count() const { return count_; }
  static Set only(size_t w) { return Set{1} << w; }
  static bool contains(Set worlds, size_t w) { return w < kMost && (worlds >> w & 1); }
  Set active() const { return active_; }
  Set real() const { return real_; }
  bool active(size_t w) const { return contains(active_, w); }
  bool real(size_t w) const { return contains(real_, w); }
  // The first that is active.
  size_t first() const;

  // Does `f(w)` in every active world, also where it makes one of them fail.
  template <class F>
  void each(F&& f) const {
    for (size_t w = 0; w < count_; ++w)
      if (active(w)) f(w);
  }
  // What `f(w)` gives in every active world; None: the world has no value.
  template <class F>
  PerWorld map(F&& f) const {
    PerWorld out = PerWorld::sized(count_);
    each([&](size_t w) { out.set(w, f(w)); });
    return out;
  }
  // The same from the values that the worlds have of something, whether they are active or not.
  template <class F>
  PerWorld map(const PerWorld& of, F&& f) const {
    PerWorld out = PerWorld::sized(count_);
    for (size_t w = 0; w < count_; ++w)
      if (of.has(w)) out.set(w, f(of.at(w)));
    return out;
  }

  // World w cannot go on here: LibTorch refuses what it has. World 0 ends the run where it is real,
  // another world is then dead.
  void fail(size_t w, const std::string& message, const OriginPtr& where);
  // Those that failed where they were real, with the reason; world 0 is never among them.
  const std::unordered_map<size_t, std::string>& dead() const { return dead_; }

  // Runs `f` in the worlds of `active`, of which `real` really come here.
  void within(Set active, Set real, const std::function<void()>& f);

  // The world for whose values alone the model is run: every condition is taken as it has it.
  std::optional<size_t> alone() const { return alone_; }
  // While it lives, world w is run alone.
  class Alone {
   public:
    Alone(Worlds& worlds, size_t w) : worlds_(worlds), before_(worlds.alone_) { worlds.alone_ = w; }
    ~Alone() { worlds_.alone_ = before_; }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Worlds& worlds_;
    std::optional<size_t> before_;
  };

 private:
  Set alive(Set worlds) const;

  size_t count_;
  Set active_, real_;
  std::optional<size_t> alone_;
  std::unordered_map<size_t, std::string> dead_;
};

}  // namespace oe::capture
