// The search for arguments that a method runs on.
#include "lib/infer/search.h"

#include <ATen/core/List.h>

#include <algorithm>
#include <functional>

#include "lib/infer/comparisons.h"
#include "lib/infer/solve.h"
#include "lib/infer/usual.h"
#include "lib/infer/wishes.h"

namespace oe::infer {
namespace {

namespace prim = c10::prim;

constexpr int64_t kAttempt = 20;  // what asking an operator once costs, in steps
constexpr int kDepth = 60;

class Search {
 public:
  Search(const torch_io::Loaded& m, c10::ScalarType weights, bool computed,
         const std::set<std::string>& silent)
      : trials_(m, computed), weights_(weights), silent_(silent) {}

  Searched operator()(const Guess& start) {
    const Run first = trials_.run(start);
    if (settled(start, first) || improve(start, first, 0)) choose(trials_, best_.guess, last_);
    best_.exhausted = !trials_.spent();
    return std::move(best_);
  }

 private:
  // Whether this is the answer. Keeps what came furthest.
  bool settled(const Guess& g, const Run& r) {
    // A soft stop is passed at the same node.
    const bool further = r.stop && (!best_.stop || r.steps > last_.steps ||
                                    (best_.stop->usual_rank && r.steps == last_.steps));
    if (!r.stop || further) {
      best_.guess = g;
      best_.stop = r.stop;
      last_ = r;
    }
    return !r.stop;
  }

  // Tries every change that what stopped the run asks for. True: the answer is found.
  bool improve(const Guess& g, const Run& r, int depth) {
    if (depth > kDepth || trials_.spent()) return false;
    const Stop& stop = *r.stop;
    std::vector<std::pair<Guess, Run>> behind;
    const Try attempt = [&](const Guess& c) {
      if (trials_.spent() || !trials_.fits(c) || !seen_.insert(c.key()).second) return false;
      Run next = trials_.run(c);
      if (settled(c, next)) return true;
      const bool same = next.stop->site == stop.site && next.stop->usual_rank == stop.usual_rank;
      if (same && outline(next.stop->message) == outline(stop.message)) return false;
      if (same || next.steps > r.steps) return improve(c, next, depth + 1);
      behind.emplace_back(c, std::move(next));
      return false;
    };
    if (repair(g, stop, attempt)) return true;
    for (size_t i = 0; i < behind.size() && i < 6; ++i)
      if (improve(behind[i].first, behind[i].second, depth + 1)) return true;
    if (!stop.usual_rank) return false;
    // No batch goes through: then it is one example.
    trials_.allow_unbatched(stop.site.node);
    const Run again = trials_.run(g);
    return settled(g, again) || improve(g, again, depth + 1);
  }

  bool repair(const Guess& g, const Stop& stop, const Try& attempt) {
    const std::string why = describe(stop);
    if (stop.usual_rank) {
      const Quantity rank = {stop.site, [](const std::vector<Cell>& in) -> std::optional<int64_t> {
                               const at::Tensor t = tensor_at(in, 0, -1);
                               return t.defined() ? std::optional(t.dim()) : std::nullopt;
                             }};
      return solve(g, stop, rank, stop.usual_rank, stop.operands[0].mask, {kRank},
                   takes(stop, "rank " + std::to_string(stop.usual_rank)), attempt);
    }
    const auto kind = stop.site.node->kind();
    if (kind == prim::RaiseException) return repair_condition(g, stop, attempt);
    if (kind == prim::ListUnpack) {
      return solve(g, stop, length_of(stop.site, 0),
                   static_cast<int64_t>(stop.site.node->outputs().size()), stop.operands[0].mask,
                   {}, why, attempt);
    }
    // Without numbers it ran: they are what is wrong.
    if (trials_.computed() && repair_range(g, stop, why, attempt)) return true;
    return repair_entries(g, stop, why, attempt) || repair_wishes(g, stop, attempt) ||
           repair_numbers(g, stop, why, attempt) || repair_presence(g, stop, why, attempt) ||
           repair_range(g, stop, why, attempt);
  }

  // Probabilities are floats from 0 to 1, lengths integers from 1: of one input, or of all.
  bool repair_range(const Guess& g, const Stop& stop, const std::string& why, const Try& attempt) {
    Guess all = g;
    int changed = 0;
    Mask mask = 0;
    for (const Cell& in : stop.operands) mask |= in.mask;
    const auto narrow = [&](ArgumentGuess& p) {
      if (p.floating())
        p.unit = true;
      else
        p.low = 1, p.high = 3;
      p.reason[kValue] = why;
    };
    for (ArgumentGuess* p : all.places()) {
      const bool narrowed = p->floating() ? p->unit : p->low != 0;
      const bool number = p->floating() || c10::isIntegralType(p->dtype, /*includeBool=*/false);
      if (p->kind != ArgumentGuess::Kind::Tensor || !number || narrowed || p->spec ||
          !(mask & bit_of(p->index)))
        continue;
      Guess one = g;
      for (ArgumentGuess* q : one.places())
        if (q->index == p->index) narrow(*q);
      if (attempt(one)) return true;
      narrow(*p);
      ++changed;
    }
    return changed > 1 && attempt(all);
  }

  bool solve(const Guess& g, const Stop& stop, const Quantity& q, int64_t want, Mask mask,
             const std::vector<int>& kinds, const std::string& why, const Try& attempt) {
    return infer::solve(trials_, g, stop, {q, want, mask, kinds, why}, weights_, attempt);
  }

  static Quantity length_of(const Site& site, size_t operand) {
    return {site, [operand](const std::vector<Cell>& in) -> std::optional<int64_t> {
              if (!in[operand].value.isList()) return std::nullopt;
              return static_cast<int64_t>(in[operand].value.toList().size());
            }};
  }

  // ---- what tensors should be

  bool repair_wishes(const Guess& g, const Stop& stop, const Try& attempt) {
    if (silent_.contains(stop.site.node->kind().toQualString())) return false;
    int64_t attempts = 0;
    const std::vector<Wish> wishes = wishes_of(stop, unknown_mask(g), attempts);
    trials_.spend(attempts * kAttempt);
    for (const Wish& w : wishes) {
      if (trials_.spent()) return false;
      if (grant(g, stop, w, attempt)) return true;
    }
    return false;
  }

  bool grant(const Guess& g, const Stop& stop, const Wish& w, const Try& attempt) {
    if (w.element == kEach) return grant_each(g, stop, w, 0, attempt);
    const at::Tensor now = tensor_at(stop.operands, w.operand, w.element);
    const std::string why = takes(stop, w);
    const Mask mask = stop.operands[w.operand].mask;
    if (w.elements) return grant_elements(g, stop, w, mask, why, attempt);
    if (w.dtype != now.scalar_type()) {
      // The type first; sizes follow where the run stops again.
      const Knobs knobs(g, mask, {kType});
      for (const Knob& k : knobs.all()) {
        Guess c = g;
        ArgumentGuess& p = knobs.place(c, k);
        if (p.dtype == w.dtype) continue;
        p.dtype = w.dtype;
        p.reason[kType] = why;
        if (attempt(c)) return true;
        if (now.sizes().vec() == w.sizes) continue;
        // Both at once, for an input that goes there as it is.
        c = g;
        ArgumentGuess& both = knobs.place(c, k);
        if (both.sizes != now.sizes().vec()) continue;
        both.dtype = w.dtype;
        if (both.assign(w.sizes, why) && attempt(c)) return true;
      }
      return false;
    }
    const auto rank = static_cast<int64_t>(w.sizes.size());
    if (rank != now.dim()) {
      // An input that goes there as it is takes the sizes as well.
      const Knobs knobs(g, mask, {kRank});
      for (const Knob& k : knobs.all()) {
        Guess c = g;
        ArgumentGuess& p = knobs.place(c, k);
        if (p.sizes != now.sizes().vec()) continue;
        if (p.assign(w.sizes, why) && attempt(c)) return true;
      }
      const Quantity q = {stop.site, [w](const std::vector<Cell>& in) -> std::optional<int64_t> {
                            const at::Tensor t = tensor_at(in, w.operand, w.element);
                            return t.defined() ? std::optional(t.dim()) : std::nullopt;
                          }};
      if (solve(g, stop, q, rank, mask, {kRank}, why, attempt)) return true;
      // What it needs besides is asked where the run stops then.
      for (const Knob& k : knobs.all()) {
        Guess c = g;
        if (!knobs.set(c, k, knobs.get(g, k) + rank - now.dim(), weights_)) continue;
        knobs.place(c, k).reason[kRank] = why;
        if (attempt(c)) return true;
      }
      return false;
    }
    // Axis by axis; each but the last has to be right before the next is looked at.
    Guess c = g;
    std::vector<size_t> axes;
    for (size_t k = 0; k < w.sizes.size(); ++k)
      if (now.size(static_cast<int64_t>(k)) != w.sizes[k]) axes.push_back(k);
    return grant_axes(c, stop, w, axes, 0, mask, why, attempt);
  }

  bool grant_each(const Guess& g, const Stop& stop, Wish w, int next, const Try& attempt) {
    const auto count = stop.operands[w.operand].value.toListRef().size();
    if (static_cast<size_t>(next) == count) return attempt(g);
    w.element = next;
    return grant(g, stop, w, [&](const Guess& c) {
      w.element = kEach;
      return grant_each(c, stop, w, next + 1, attempt);
    });
  }

  bool grant_axes(const Guess& g, const Stop& stop, const Wish& w, const std::vector<size_t>& axes,
                  size_t next, Mask mask, const std::string& why, const Try& attempt) {
    if (next == axes.size()) return attempt(g);
    const auto axis = static_cast<int64_t>(axes[next]);
    const Quantity q = {stop.site,
                        [w, axis](const std::vector<Cell>& in) -> std::optional<int64_t> {
                          const at::Tensor t = tensor_at(in, w.operand, w.element);
                          if (!t.defined() || t.dim() <= axis) return std::nullopt;
                          return t.size(axis);
                        }};
    const Try then = [&](const Guess& c) {
      return grant_axes(c, stop, w, axes, next + 1, mask, why, attempt);
    };
    return solve(g, stop, q, w.sizes[axes[next]], mask, {}, why, then);
  }

  bool grant_elements(const Guess& g, const Stop& stop, const Wish& w, Mask mask,
                      const std::string& why, const Try& attempt) {
    const Quantity q = {stop.site, [w](const std::vector<Cell>& in) -> std::optional<int64_t> {
                          const at::Tensor t = tensor_at(in, w.operand, w.element);
                          return t.defined() ? std::optional(t.numel()) : std::nullopt;
                        }};
    // Squares that people use; what else there is.
    for (const auto& [h, v] : Knobs(g, mask, {}).squares()) {
      std::vector<std::pair<Guess, int64_t>> multiples;
      for (const int64_t n :
           {224, 256, 32, 28, 64, 96, 128, 160, 192, 288, 384, 112, 48, 299, 512}) {
        Guess c = g;
        if (!Knobs::set(c, h, n, weights_) || !Knobs::set(c, v, n, weights_)) continue;
        const auto value = trials_.measure(c, q);
        if (!value || *value == 0 || (w.multiple ? *value % w.elements != 0 : *value != w.elements))
          continue;
        Knobs::place(c, h).reason[h.what] = Knobs::place(c, v).reason[v.what] = why;
        multiples.emplace_back(std::move(c), *value / w.elements);
      }
      // view(-1, n) of more elements makes one example several.
      std::ranges::stable_sort(multiples, {}, [](const auto& m) { return m.second; });
      for (const auto& [c, times] : multiples)
        if (attempt(c)) return true;
    }
    for (const int64_t times : {1, 2, 4, 16})
      if ((times == 1 || w.multiple) &&
          solve(g, stop, q, w.elements * times, mask, {}, why, attempt))
        return true;
    return false;
  }

  // ---- what is no tensor

  // Entries of lists and dicts that the code reads.
  bool repair_entries(const Guess& g, const Stop& stop, const std::string& why,
                      const Try& attempt) {
    if (stop.operands.size() < 2) return false;
    const c10::IValue &container = stop.operands[0].value, &key = stop.operands[1].value;
    if (container.isGenericDict()) return add_key(g, stop.operands[0].mask, key, why, attempt);
    if (container.isList() && key.isInt()) {
      const auto length = static_cast<int64_t>(container.toList().size());
      const int64_t want = key.toInt() < 0 ? -key.toInt() : key.toInt() + 1;
      if (want > length)
        return solve(g, stop, length_of(stop.site, 0), want, stop.operands[0].mask, {}, why,
                     attempt);
    }
    return false;
  }

  bool add_key(const Guess& g, Mask mask, const c10::IValue& key, const std::string& why,
               const Try& attempt) {
    if (!key.isString() && !key.isInt()) return false;
    Guess c = g;
    for (ArgumentGuess* p : c.places()) {
      if (p->kind != ArgumentGuess::Kind::Dict || p->is_fixed(kLength) ||
          !(mask & bit_of(p->index)))
        continue;
      if (std::any_of(p->keys.begin(), p->keys.end(), [&](const auto& k) { return k == key; }))
        continue;
      const std::string name = key.isString() ? key.toStringRef() : std::to_string(key.toInt());
      p->children.push_back(new_place(p->type->expectRef<c10::DictType>().getValueType(),
                                      p->path + "." + name, weights_));
      p->keys.push_back(key);
      p->reason[kLength] = why;
      number(c);
      if (attempt(c)) return true;
      c = g;
    }
    return false;
  }

  bool repair_numbers(const Guess& g, const Stop& stop, const std::string& why,
                      const Try& attempt) {
    std::vector<int64_t> values = {0, 1, 2, 3, -1, 4, 8, 16, 100};
    Mask mask = 0;
    for (const Cell& c : stop.operands) {
      mask |= c.mask;
      if (c.value.isInt())
        for (const int64_t d : {0, -1, 1}) values.push_back(c.value.toInt() + d);
      for_each_size(c.value, [&](int64_t n) { values.push_back(n); });
    }
    for (const ArgumentGuess* p : g.places()) {
      if (p->kind != ArgumentGuess::Kind::Number || !(mask & bit_of(p->index))) continue;
      for (const int64_t n : values)
        if (set_number(g, p->index, static_cast<double>(n), why, attempt)) return true;
    }
    return false;
  }

  static void for_each_size(const c10::IValue& v, const std::function<void(int64_t)>& f) {
    if (v.isTensor() && v.toTensor().defined())
      for (const int64_t n : v.toTensor().sizes()) f(n);
  }

  static bool set_number(const Guess& g, size_t index, double n, const std::string& why,
                         const Try& attempt) {
    Guess c = g;
    for (ArgumentGuess* p : c.places()) {
      if (p->index != index) continue;
      if (p->value.isBool())
        p->value = n != 0;
      else if (p->value.isInt())
        p->value = static_cast<int64_t>(n);
      else
        p->value = n;
      p->reason[kValue] = why;
    }
    return attempt(c);
  }

  bool repair_presence(const Guess& g, const Stop& stop, const std::string& why,
                       const Try& attempt) {
    const bool none = stop.site.node->kind() == prim::RaiseException ||
                      std::any_of(stop.operands.begin(), stop.operands.end(),
                                  [](const Cell& c) { return c.value.isNone(); });
    if (!none) return false;
    for (const ArgumentGuess* p : g.places()) {
      if (!p->optional || p->present) continue;
      Guess c = g;
      for (ArgumentGuess* q : c.places())
        if (q->index == p->index) {
          q->present = true;
          q->reason[kPresence] = why;
        }
      number(c);
      if (attempt(c)) return true;
    }
    return false;
  }

  // ---- what an `if` before a `raise` compares

  bool repair_condition(const Guess& g, const Stop& stop, const Try& attempt) {
    const std::string why = "the condition on which the model raises" + place_in(stop.origin);
    for (const Comparison& c : comparisons_before(stop)) {
      if (trials_.spent()) return false;
      if (c.key && add_key(g, c.left.mask, c.right.value, why, attempt)) return true;
      if (settle(g, stop, c, 0, c.left, c.right, why, attempt) ||
          settle(g, stop, c, 1, c.right, c.left, why, attempt))
        return true;
    }
    return repair_presence(g, stop, why, attempt);
  }

  bool settle(const Guess& g, const Stop& stop, const Comparison& c, size_t operand,
              const Cell& mine, const Cell& other, const std::string& why, const Try& attempt) {
    if (!mine.mask) return false;
    if (mine.value.isString()) {
      for (const ArgumentGuess* p : g.places()) {
        if (p->kind != ArgumentGuess::Kind::String || !(mine.mask & bit_of(p->index))) continue;
        for (const std::string& s : strings_in(other.value)) {
          Guess t = g;
          for (ArgumentGuess* q : t.places())
            if (q->index == p->index) {
              q->value = s;
              q->reason[kValue] = why;
            }
          if (attempt(t)) return true;
        }
      }
      return false;
    }
    if (c.types && other.value.isInt()) {
      const Knobs knobs(g, mine.mask, {kType});
      for (const Knob& k : knobs.all()) {
        Guess t = g;
        knobs.place(t, k).dtype = static_cast<c10::ScalarType>(other.value.toInt());
        knobs.place(t, k).reason[kType] = why;
        if (attempt(t)) return true;
      }
      return false;
    }
    if (mine.value.isDouble() || mine.value.isBool()) {
      const double n = other.value.isDouble() ? other.value.toDouble()
                       : other.value.isInt()  ? static_cast<double>(other.value.toInt())
                                              : !mine.value.toBool();
      for (const ArgumentGuess* p : g.places())
        if (p->kind == ArgumentGuess::Kind::Number && (mine.mask & bit_of(p->index)))
          for (const double d : {0.0, 1.0, -1.0})
            if (set_number(g, p->index, n + d, why, attempt)) return true;
      return false;
    }
    if (mine.value.isIntList() && other.value.isIntList())
      return settle_lists(g, stop, c.site, operand, mine, other.value.toIntVector(), 0, why,
                          attempt);
    const Quantity q = {c.site, [operand](const std::vector<Cell>& in) -> std::optional<int64_t> {
                          const c10::IValue& v = in[operand].value;
                          if (v.isInt()) return v.toInt();
                          return v.isList() ? std::optional<int64_t>(v.toList().size())
                                            : std::nullopt;
                        }};
    if (c.key && other.value.isIntList()) {  // one of several: the largest, as ranks have a batch
      std::vector<int64_t> choices = other.value.toIntVector();
      std::sort(choices.rbegin(), choices.rend());
      for (size_t i = 0; i < choices.size() && i < 8; ++i)
        if (solve(g, stop, q, choices[i], mine.mask, {}, why, attempt)) return true;
      return false;
    }
    const int64_t n = other.value.isInt() ? other.value.toInt() : 0;
    for (const int64_t d : {0, 1, -1})
      if (other.value.isInt() && solve(g, stop, q, n + d, mine.mask, {}, why, attempt)) return true;
    return false;
  }

  // Sizes that are to be those of another list: as many first, then one by one.
  bool settle_lists(const Guess& g, const Stop& stop, const Site& site, size_t operand,
                    const Cell& mine, const std::vector<int64_t>& want, size_t next,
                    const std::string& why, const Try& attempt) {
    const auto list_at = [operand](const std::vector<Cell>& in) { return in[operand].value; };
    if (mine.value.toIntVector().size() != want.size()) {
      const Quantity length = {site, [=](const std::vector<Cell>& in) -> std::optional<int64_t> {
                                 return static_cast<int64_t>(list_at(in).toList().size());
                               }};
      return solve(g, stop, length, static_cast<int64_t>(want.size()), mine.mask, {kRank}, why,
                   attempt);
    }
    if (next == want.size()) return attempt(g);
    const Quantity element = {site, [=](const std::vector<Cell>& in) -> std::optional<int64_t> {
                                const std::vector<int64_t> list = list_at(in).toIntVector();
                                return next < list.size() ? std::optional(list[next])
                                                          : std::nullopt;
                              }};
    const Try then = [&](const Guess& c) {
      return settle_lists(c, stop, site, operand, mine, want, next + 1, why, attempt);
    };
    return solve(g, stop, element, want[next], mine.mask, {}, why, then);
  }

  static Mask unknown_mask(const Guess& g) {
    Mask m = 0;
    for (const ArgumentGuess* p : g.places())
      if (p->kind != ArgumentGuess::Kind::Given) m |= bit_of(p->index);
    return m;
  }

  Trials trials_;
  const c10::ScalarType weights_;
  const std::set<std::string>& silent_;
  std::set<std::string> seen_;
  Run last_;  // of the guess that came furthest
  Searched best_;
};

}  // namespace

Searched search(const torch_io::Loaded& m, const Guess& start, c10::ScalarType weights,
                bool computed, const std::set<std::string>& silent) {
  return Search(m, weights, computed, silent)(start);
}

}  // namespace oe::infer
