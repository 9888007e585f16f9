// What is taken where the program leaves a choice.
#include "lib/infer/usual.h"

#include <ATen/ops/isnan.h>

#include <map>

#include "lib/infer/shadow.h"

namespace oe::infer {
namespace {

using Kind = Place::Kind;

class Choose {
 public:
  Choose(Trials& trials, Guess& g, Run r) : trials_(trials), g_(g), r_(std::move(r)) {}

  void operator()() {
    shrink();
    take_bytes();
    take_a_second();
    widen();
    avoid_nan();
  }

 private:
  bool take(const Guess& c) {
    if (!trials_.fits(c)) return false;
    Run r = trials_.run(c);
    if (r.stop) return false;
    g_ = c;
    r_ = std::move(r);
    return true;
  }

  // A latent image of 224 x 224.
  void shrink() {
    while (r_.largest > kLargest) {
      const int64_t before = r_.largest;
      Guess c = g_;
      bool smaller = false;
      for (Place* p : c.places()) {
        if (p->kind != Kind::Tensor) continue;
        for (size_t i = 2; i < p->sizes.size(); ++i) {
          const int axis = static_cast<int>(i);
          if (p->is_fixed(axis) || p->reason.contains(axis) || p->sizes[i] < 2) continue;
          p->sizes[i] /= 2;
          smaller = true;
        }
      }
      if (!smaller || !take(c) || r_.largest >= before) return;
    }
  }

  void take_bytes() {
    Guess c = g_;
    for (Place* p : c.places()) {
      if (p->kind != Kind::Tensor || !(r_.bytes & bit_of(p->index)) || p->is_fixed(kType) ||
          p->spec || p->reason.contains(kType))
        continue;
      p->dtype = c10::ScalarType::Byte;
      p->high = 256;
      p->reason[kType] = "the model converts it and divides by 255";
      if (!take(c)) c = g_;
    }
  }

  // The last axis of a waveform (of one or two channels), where the model has a sampling rate.
  void take_a_second() {
    const int64_t rate = trials_.sampling_rate();
    if (rate < 1000 || rate > 200000) return;
    Guess c = g_;
    for (Place* p : c.places()) {
      const size_t rank = p->sizes.size();
      const bool wave = rank == 1 || rank == 2 || (rank == 3 && p->sizes[1] <= 2);
      if (p->kind != Kind::Tensor || !p->floating() || !wave) continue;
      const int axis = static_cast<int>(rank) - 1;
      // What was wished for is a least number of samples, or the number: one that runs is usual.
      if (p->is_fixed(axis)) continue;
      p->sizes.back() = rate;
      p->reason[axis] = "one second: the model's sampling rate is " + std::to_string(rate);
      if (!take(c)) c = g_;
    }
  }

  // Integers that choose from a table are drawn from all of it.
  void widen() {
    for (Place* p : g_.places()) {
      if (p->kind != Kind::Tensor || !c10::isIntegralType(p->dtype, false) || p->spec) continue;
      const Choice* least = nullptr;
      for (const Choice& c : r_.choices)
        if ((c.mask & bit_of(p->index)) && (!least || c.count < least->count)) least = &c;
      if (!least || least->count < 1) continue;
      p->high = least->count;
      p->reason[kValue] =
          "it chooses from " + std::to_string(least->count) + place_in(least->origin);
    }
  }

  static bool has_nan(const c10::IValue& result) {
    bool nan = false;
    for_each_tensor(result, [&](const at::Tensor& t) {
      if (t.defined() && !t.is_meta() && t.is_floating_point())
        nan = nan || at::isnan(t).any().item().toBool();
    });
    return nan;
  }

  void avoid_nan() {
    if (!has_nan(r_.result)) return;
    Guess c = g_;
    for (Place* p : c.places()) {
      if (p->kind != Kind::Tensor || !p->floating() || p->spec) continue;
      p->unit = true;
      p->reason[kValue] = "from 0 to 1: other numbers give NaN";
    }
    const Run r = trials_.run(c);
    if (!r.stop && !has_nan(r.result)) take(c);
  }

  Trials& trials_;
  Guess& g_;
  Run r_;
};

}  // namespace

int64_t usual_rank(const std::string& op) {
  static const std::map<std::string, int64_t> ranks = [] {
    std::map<std::string, int64_t> m;
    for (int64_t n = 1; n <= 3; ++n) {
      const std::string d = std::to_string(n) + "d";
      for (const char* name : {"conv", "conv_transpose", "max_pool", "avg_pool",
                               "adaptive_avg_pool", "adaptive_max_pool"})
        m[std::string("aten::") + name + d] = n + 2;
      m["aten::max_pool" + d + "_with_indices"] = n + 2;
    }
    for (const char* name : {"lstm", "gru", "rnn_tanh", "rnn_relu"})
      m[std::string("aten::") + name] = 3;
    return m;
  }();
  const auto it = ranks.find(op);
  return it == ranks.end() ? 0 : it->second;
}

void choose(Trials& trials, Guess& g, Run r) { Choose(trials, g, std::move(r))(); }

}  // namespace oe::infer
