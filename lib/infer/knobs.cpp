// What of a guess can be changed: sizes, ranks, lengths, numbers, each an integer.
#include "lib/infer/knobs.h"

#include <algorithm>

namespace oe::infer {
namespace {

using Kind = ArgumentGuess::Kind;

const ArgumentGuess& place_of(const Guess& g, size_t index) {
  for (const ArgumentGuess* p : g.places())
    if (p->index == index) return *p;
  throw std::out_of_range("a place that is not there");
}

}  // namespace

Knobs::Knobs(const Guess& g, Mask mask, const std::vector<int>& kinds) {
  const auto wanted = [&](int what) {
    return kinds.empty() ? what != kType
                         : std::find(kinds.begin(), kinds.end(), what) != kinds.end();
  };
  std::vector<Knob> settled, batches;
  const auto add = [&](const ArgumentGuess& p, int what) {
    if (p.is_fixed(what) || !wanted(what)) return;
    (p.reason.contains(what)           ? settled
     : what == 0 && p.sizes.size() > 1 ? batches
                                       : knobs_)
        .push_back({p.index, what, what >= 2 && what + 2 >= static_cast<int>(p.sizes.size())});
  };
  for (const ArgumentGuess* p : g.places()) {
    if (!(mask & bit_of(p->index))) continue;
    if (p->kind == Kind::Tensor) {
      add(*p, kType);
      if (kinds.empty() || wanted(0))
        for (size_t i = p->sizes.size(); i-- > 0;) add(*p, static_cast<int>(i));
      add(*p, kRank);
    } else if (p->kind == Kind::Number && p->value.isInt()) {
      add(*p, kValue);
    } else if (p->kind == Kind::List) {
      add(*p, kLength);
    }
  }
  knobs_.insert(knobs_.end(), batches.begin(), batches.end());
  knobs_.insert(knobs_.end(), settled.begin(), settled.end());
}

std::vector<std::pair<Knob, Knob>> Knobs::squares() const {
  std::vector<std::pair<Knob, Knob>> pairs;
  for (size_t i = 0; i < knobs_.size(); ++i)
    for (size_t j = i + 1; j < knobs_.size(); ++j)
      if (knobs_[i].last_two && knobs_[j].last_two && knobs_[i].place == knobs_[j].place)
        pairs.push_back(knobs_[i].what < knobs_[j].what ? std::pair(knobs_[i], knobs_[j])
                                                        : std::pair(knobs_[j], knobs_[i]));
  return pairs;
}

ArgumentGuess& Knobs::place(Guess& g, const Knob& k) {
  return const_cast<ArgumentGuess&>(place_of(g, k.place));
}

int64_t Knobs::get(const Guess& g, const Knob& k) {
  const ArgumentGuess& p = place_of(g, k.place);
  switch (k.what) {
    case kRank:
      return static_cast<int64_t>(p.sizes.size());
    case kLength:
      return static_cast<int64_t>(p.children.size());
    case kValue:
      return p.value.toInt();
    default:
      return p.sizes.at(static_cast<size_t>(k.what));
  }
}

std::vector<int64_t> Knobs::moves(const Guess& g, const Knob& k) {
  const int64_t n = get(g, k);
  if (k.what == kRank) return {n + 1, n - 1, n + 2};
  if (k.what == kLength || k.what == kValue) return {n + 1};
  return {n + 1, 2 * n + 2, 16 * n, 1024};
}

bool Knobs::set(Guess& g, const Knob& k, int64_t n, c10::ScalarType weights) {
  ArgumentGuess& p = place(g, k);
  if (k.what == kValue) {
    p.value = n;
    return true;
  }
  if (n < 0) return false;
  if (k.what == kRank) {
    if (n > 6) return false;
    p.sizes = usual_sizes(static_cast<size_t>(n));
    std::erase_if(p.reason, [](const auto& r) { return r.first >= 0; });
  } else if (k.what == kLength) {
    if (n > 64) return false;
    while (p.children.size() > static_cast<size_t>(n)) p.children.pop_back();
    while (p.children.size() < static_cast<size_t>(n)) {
      const std::string path = p.path + "." + std::to_string(p.children.size());
      const c10::TypePtr element = p.type->expectRef<c10::ListType>().getElementType();
      ArgumentGuess next = new_place(element, path, weights);
      if (!p.children.empty() && next.kind == Kind::Tensor) {
        next.sizes = p.children.back().sizes;
        next.dtype = p.children.back().dtype;
      }
      p.children.push_back(std::move(next));
    }
    number(g);
  } else {
    if (n < 1 || static_cast<size_t>(k.what) >= p.sizes.size()) return false;
    p.sizes[static_cast<size_t>(k.what)] = n;
  }
  return true;
}

}  // namespace oe::infer
