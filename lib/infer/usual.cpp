// What is taken where the program leaves a choice.
#include "lib/infer/usual.h"

#include <ATen/ops/isnan.h>

#include <functional>
#include <map>

#include "lib/infer/shadow.h"
#include "lib/options/option_text.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"

namespace oe::infer {
namespace {

using Kind = ArgumentGuess::Kind;

class Choose {
 public:
  Choose(Trials& trials, Guess& g, Run r) : trials_(trials), g_(g), r_(std::move(r)) {}

  void operator()() {
    take_batches();
    take_sequences();
    take_floats();
    take_round_sizes();
    shrink();
    take_bytes();
    take_a_second();
    widen();
    avoid_nan();
    look_for_others();
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

  static bool is_open(const ArgumentGuess& p, int what) { return !p.is_fixed(what) && !p.spec; }

  static bool is_tensor(const ArgumentGuess& p) { return p.kind == Kind::Tensor && p.present; }

  // An axis of one element, before the axis `at`.
  static void insert_axis(ArgumentGuess& p, size_t at, const std::string& why) {
    p.sizes.insert(p.sizes.begin() + static_cast<long>(at), 1);
    std::map<int, std::string> moved;
    for (const auto& [what, reason] : p.reason)
      moved[what >= static_cast<int>(at) ? what + 1 : what] = reason;
    p.reason = std::move(moved);
    p.reason[kRank] = why;
  }

  // Features alone become a batch of them: all inputs at once, as they may have to agree, else one
  // by one.
  void take_batches() {
    const auto alone = [](const ArgumentGuess& p) {
      return is_tensor(p) && is_open(p, kRank) && p.floating() && p.sizes.size() == 1;
    };
    const std::string why = "a batch of examples is usual";
    Guess c = g_;
    for (ArgumentGuess* p : c.places())
      if (alone(*p)) insert_axis(*p, 0, why);
    if (take(c)) return;
    for (const ArgumentGuess* p : g_.places()) {
      if (!alone(*p)) continue;
      c = g_;
      for (ArgumentGuess* q : c.places())
        if (q->index == p->index) insert_axis(*q, 0, why);
      take(c);
    }
  }

  // What goes to a recurrent layer is a batch of sequences.
  void take_sequences() {
    Guess c = g_;
    for (ArgumentGuess* p : c.places())
      if (is_tensor(*p) && is_open(*p, kRank) && p->floating() && p->sizes.size() == 2 &&
          (r_.recurrent & bit_of(p->index)))
        insert_axis(*p, r_.batch_first ? 0 : 1, "a batch of sequences is usual");
    take(c);
  }

  // Weights of another type do not say that the inputs have it.
  void take_floats() {
    for (const ArgumentGuess* p : g_.places()) {
      if (!is_tensor(*p) || !is_open(*p, kType) || !p->floating() || p->reason.contains(kType) ||
          p->dtype == c10::ScalarType::Float)
        continue;
      Guess c = g_;
      for (ArgumentGuess* q : c.places())
        if (q->index == p->index) q->dtype = c10::ScalarType::Float;
      take(c);
    }
  }

  // The least size that runs is seldom the one that is used: 39 of 40 mel bands.
  void take_round_sizes() {
    constexpr int64_t kRound = 8;
    for (const ArgumentGuess* p : g_.places()) {
      if (!is_tensor(*p) || !p->floating()) continue;
      for (size_t i = 0; i < p->sizes.size(); ++i) {
        const int axis = static_cast<int>(i);
        const int64_t n = p->sizes[i];
        if (!is_open(*p, axis) || !p->reason.contains(axis) || n < kRound || n % kRound == 0)
          continue;
        Guess c = g_;
        for (ArgumentGuess* q : c.places())
          if (q->index == p->index) q->sizes[i] = (n + kRound - 1) / kRound * kRound;
        if (take(c)) return take_round_sizes();
      }
    }
  }

  // A latent image of 224 x 224.
  void shrink() {
    while (r_.largest > kLargest) {
      const int64_t before = r_.largest;
      Guess c = g_;
      bool smaller = false;
      for (ArgumentGuess* p : c.places()) {
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
    for (ArgumentGuess* p : c.places()) {
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
    for (ArgumentGuess* p : c.places()) {
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
    for (ArgumentGuess* p : g_.places()) {
      if (p->kind != Kind::Tensor || !c10::isIntegralType(p->dtype, false) || p->spec || p->low)
        continue;
      // Of tables that it alone chooses from, else of those that several inputs do.
      const Choice* least = nullptr;
      const auto shared = [&](const Choice& c) { return c.mask != bit_of(p->index); };
      for (const Choice& c : r_.choices)
        if ((c.mask & bit_of(p->index)) &&
            (!least || std::pair(shared(c), c.count) < std::pair(shared(*least), least->count)))
          least = &c;
      if (!least || least->count < 1) continue;
      p->high = least->count;
      p->reason[kValue] =
          "it chooses from " + std::to_string(least->count) + place_in(least->origin);
    }
  }

  bool runs(const ArgumentGuess& p, const std::function<void(ArgumentGuess&)>& change) {
    Guess c = g_;
    for (ArgumentGuess* q : c.places())
      if (q->index == p.index) change(*q);
    return trials_.fits(c) && !trials_.run(c).stop;
  }

  // What nothing forces: other ranks and element types that run as well.
  void look_for_others() {
    for (ArgumentGuess* p : g_.places()) {
      if (!is_tensor(*p)) continue;
      std::vector<std::string> ranks, types;
      const size_t rank = p->sizes.size();
      if (is_open(*p, kRank)) {
        if (rank > 0 && p->sizes[0] == 1 &&
            runs(*p, [](ArgumentGuess& q) { q.sizes.erase(q.sizes.begin()); }))
          ranks.push_back(std::to_string(rank - 1));
        if (runs(*p, [](ArgumentGuess& q) { q.sizes.insert(q.sizes.begin(), 1); }))
          ranks.push_back(std::to_string(rank + 1));
      }
      if (is_open(*p, kType)) {
        using T = c10::ScalarType;
        const auto others =
            p->floating() ? std::vector{T::Half, T::Double} : std::vector{T::Int, T::Float};
        for (const T other : others)
          if (other != p->dtype && runs(*p, [&](ArgumentGuess& q) { q.dtype = other; }))
            types.emplace_back(spec_type(torch_io::to_dtype(other)));
      }
      if (!ranks.empty()) p->others[kRank] = join(ranks, " and ");
      if (!types.empty()) p->others[kType] = join(types, " and ");
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
    for (ArgumentGuess* p : c.places()) {
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
