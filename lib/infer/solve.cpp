// Which sizes and numbers of the inputs make a quantity inside the program what it should be.
#include "lib/infer/solve.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace oe::infer {
namespace {

class Solver {
 public:
  Solver(Trials& trials, const Guess& g, int64_t now, const Demand& demand, c10::ScalarType weights,
         const Try& attempt)
      : trials_(trials),
        g_(g),
        now_(now),
        demand_(demand),
        weights_(weights),
        attempt_(attempt),
        knobs_(g, demand.mask, demand.kinds) {}

  bool operator()() {
    const std::vector<Lever> levers = find_levers();
    if (solve_square(levers)) return true;
    for (const Lever& l : levers)
      if (solve_one(l)) return true;
    return solve_together();
  }

 private:
  struct Lever {
    Knob knob;
    int64_t at = 0, moved = 0, value = 0;  // from `at` to `moved` the quantity became `value`
  };

  std::vector<Lever> find_levers() {
    std::vector<Lever> levers;
    for (const Knob& k : knobs_.all())
      for (const int64_t moved : knobs_.moves(g_, k)) {
        Guess c = g_;
        if (!knobs_.set(c, k, moved, weights_)) continue;
        const auto value = trials_.measure(c, demand_.quantity);
        if (!value || *value == now_) continue;
        levers.push_back({k, knobs_.get(g_, k), moved, *value});
        break;
      }
    return levers;
  }

  bool turn(const std::vector<std::pair<Knob, int64_t>>& to, Guess& c) const {
    c = g_;
    for (const auto& [k, n] : to)
      if (!knobs_.set(c, k, n, weights_)) return false;
    for (const auto& [k, n] : to) knobs_.place(c, k).reason[k.what] = demand_.why;
    return true;
  }

  bool solve_one(const Lever& l) {
    int64_t n0 = l.at, q0 = now_, n1 = l.moved, q1 = l.value;
    std::vector<int64_t> tried;
    for (int i = 0; i < 6 && q1 != q0; ++i) {
      const double slope = static_cast<double>(q1 - q0) / static_cast<double>(n1 - n0);
      const auto n = static_cast<int64_t>(
          std::llround(static_cast<double>(n0) + static_cast<double>(demand_.want - q0) / slope));
      if (n < (l.knob.what == kValue ? INT64_MIN : 0) || n > int64_t{1} << 26 ||
          std::find(tried.begin(), tried.end(), n) != tried.end())
        break;
      tried.push_back(n);
      Guess c;
      if (!turn({{l.knob, n}}, c)) return false;
      const auto value = trials_.measure(c, demand_.quantity);
      if (!value) break;
      if (*value == demand_.want) return found(l.knob, n, c);
      if (n == n1) break;
      n0 = n1, q0 = q1, n1 = n, q1 = *value;
    }
    if (l.knob.what < 0) return false;
    // Rounding on the way: the neighbourhood of the last guess.
    const int64_t centre = tried.empty() ? l.at : tried.back();
    for (int64_t d = 1; d <= 8; ++d)
      for (const int64_t n : {centre + d, centre - d}) {
        Guess c;
        if (n < 1 || !turn({{l.knob, n}}, c)) continue;
        if (const auto value = trials_.measure(c, demand_.quantity);
            value && *value == demand_.want)
          return found(l.knob, n, c);
      }
    return solve_between(l);
  }

  // It grows, if not evenly: the least n that gives enough.
  bool solve_between(const Lever& l) {
    if (l.moved < l.at || l.value < demand_.want || now_ > demand_.want) return false;
    int64_t low = l.at, high = l.moved;
    Guess c;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (!turn({{l.knob, middle}}, c)) return false;
      if (const auto value = trials_.measure(c, demand_.quantity); value && *value >= demand_.want)
        high = middle;
      else
        low = middle + 1;
    }
    return turn({{l.knob, low}}, c) && trials_.measure(c, demand_.quantity) == demand_.want &&
           found(l.knob, low, c);
  }

  // A side of an image: the square, where that does, before any other.
  bool found(const Knob& k, int64_t n, const Guess& c) {
    for (const auto& [h, w] : knobs_.squares()) {
      Guess square;
      if (h.place == k.place && (h.what == k.what || w.what == k.what) &&
          turn({{h, n}, {w, n}}, square) &&
          trials_.measure(square, demand_.quantity) == demand_.want && attempt_(square))
        return true;
    }
    return attempt_(c);
  }

  // Two axes of one input, as the height and width of an image: the square first.
  bool solve_square(const std::vector<Lever>& levers) {
    for (const auto& [h, w] : knobs_.squares()) {
      const auto moves = [&](const Knob& k) {
        return std::any_of(levers.begin(), levers.end(), [&](const Lever& l) {
          return l.knob.place == k.place && l.knob.what == k.what;
        });
      };
      if (!moves(h) || !moves(w)) continue;
      std::string others;
      for (const Line& line : kLines) {
        const std::optional<int64_t> n = solve_line(h, w, line);
        if (!n) continue;
        Guess c;
        if (!turn({{h, *n * line.rows}, {w, *n * line.columns}}, c)) continue;
        // The first is the answer; that it is not the only one is said.
        for (const Line& other : kOthers)
          if (other.columns != line.columns)
            if (const std::optional<int64_t> m = solve_line(h, w, other))
              others += (others.empty() ? "; so does " : ", ") + std::to_string(*m * other.rows) +
                        " x " + std::to_string(*m * other.columns);
        if (!others.empty()) Knobs::place(c, h).reason[h.what] += others;
        return attempt_(c);
      }
    }
    return false;
  }

  // Height and width as multiples of one number.
  struct Line {
    int64_t rows, columns;
  };
  static constexpr Line kLines[] = {{1, 1},  {1, 2},  {2, 1}, {3, 4}, {4, 3},
                                    {9, 16}, {16, 9}, {1, 4}, {4, 1}};

  static constexpr Line kOthers[] = {{1, 2}, {1, 4}};  // those that are named beside the answer

  // The number that gives what is wanted.
  std::optional<int64_t> solve_line(const Knob& h, const Knob& w, const Line& line) {
    const auto at = [&](int64_t n) -> std::optional<int64_t> {
      Guess c;
      if (!turn({{h, n * line.rows}, {w, n * line.columns}}, c)) return std::nullopt;
      return trials_.measure(c, demand_.quantity);
    };
    int64_t low = 1, high = 4096 / std::max(line.rows, line.columns);
    while (low < high) {  // the least n that gives enough
      const int64_t middle = (low + high) / 2;
      const auto value = at(middle);
      if (value && *value >= demand_.want)
        high = middle;
      else
        low = middle + 1;
    }
    if (at(low) != demand_.want) return std::nullopt;
    const int64_t first = low;
    high = first + 64;  // the largest that gives no more
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (const auto value = at(middle); value && *value == demand_.want)
        low = middle;
      else
        high = middle - 1;
    }
    return usual_size(first, low);
  }

  // Of sizes that all do: one that people use, else the roundest.
  static int64_t usual_size(int64_t low, int64_t high) {
    for (const int64_t n : {224, 256, 28, 32, 64, 84, 96, 128, 112, 227, 299, 384, 512, 640})
      if (n >= low && n <= high) return n;
    for (int64_t step = 512; step > 1; step /= 2)
      if (const int64_t n = (low + step - 1) / step * step; n <= high) return n;
    return low;
  }

  // What no axis reaches alone: those of the same size in several inputs, which have to agree.
  bool solve_together() {
    std::map<int64_t, std::vector<Knob>> same;
    const Knobs all(g_, ~Mask{0}, {});
    for (const Knob& k : all.all())
      if (k.what >= 0) same[knobs_.get(g_, k)].push_back(k);
    for (const auto& [n, knobs] : same) {
      if (knobs.size() < 2) continue;
      std::vector<std::pair<Knob, int64_t>> to;
      for (const Knob& k : knobs) to.emplace_back(k, demand_.want);
      Guess c;
      if (!turn(to, c)) continue;
      if (const auto value = trials_.measure(c, demand_.quantity);
          value && *value == demand_.want && attempt_(c))
        return true;
    }
    return false;
  }

  Trials& trials_;
  const Guess& g_;
  const int64_t now_;
  const Demand& demand_;
  const c10::ScalarType weights_;
  const Try& attempt_;
  const Knobs knobs_;
};

}  // namespace

bool solve(Trials& trials, const Guess& g, const Stop& stop, const Demand& demand,
           c10::ScalarType weights, const Try& attempt) {
  const Quantity& q = demand.quantity;
  const auto now = stop.site == q.site ? q.of(stop.operands) : trials.measure(g, q);
  if (!now) return false;
  if (*now == demand.want) return attempt(g);
  return Solver(trials, g, *now, demand, weights, attempt)();
}

}  // namespace oe::infer
