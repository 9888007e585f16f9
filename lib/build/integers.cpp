// Integers that may be computed in the graph.
#include <algorithm>
#include <numeric>

#include "lib/build/builder.h"

namespace oe::build {
namespace {

// The builder of two operands, one of which is computed.
Builder& builder_of(const Int& a, const Int& b) { return (a.known ? b : a).computed.builder(); }

template <class F>
Int combined(const Int& a, const Int& b, const F& f) {
  Builder& g = builder_of(a, b);
  return computed(with_rank(f(g.value(a), g.value(b)), 0));
}

}  // namespace

Dims to_dims(const Ints& v) {
  Dims d;
  for (int64_t i : v) d.push_back(known(i));
  return d;
}

bool all_known(const Dims& d) {
  return std::all_of(d.begin(), d.end(), [](const Int& i) { return i.known.has_value(); });
}

T Builder::value(const Int& i) { return i.known ? i64(*i.known) : i.computed; }

T Builder::vector(const Dims& d) {
  Values pieces;
  Ints run;  // neighbouring known entries make one constant
  for (const Int& i : d) {
    if (i.known) {
      run.push_back(*i.known);
      continue;
    }
    if (!run.empty()) pieces.push_back(i64s(run));
    run.clear();
    pieces.push_back(unsqueeze(with_rank(i.computed, 0), {0}));
  }
  if (!run.empty() || pieces.empty()) pieces.push_back(i64s(run));
  T out = concat(pieces, 0);
  out->type.shape = std::vector{Dim::of(static_cast<int64_t>(d.size()))};
  return out;
}

T Builder::iota(const Int& n) {
  if (n.known && *n.known <= 65536) return i64s(range(0, *n.known));
  return arange(value(n));
}

Int operator+(const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known + *b.known);
  if (a.known == 0) return b;
  if (b.known == 0) return a;
  return combined(a, b, [](T x, T y) { return x + y; });
}
Int operator-(const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known - *b.known);
  if (b.known == 0) return a;
  return combined(a, b, [](T x, T y) { return x - y; });
}
Int operator*(const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known * *b.known);
  if (a.known == 1) return b;
  if (b.known == 1) return a;
  return combined(a, b, [](T x, T y) { return x * y; });
}

Int floor_div(const Int& a, const Int& b) {
  if (b.known == 1) return a;
  if (a.known && b.known) return known(*a.known / *b.known);
  return combined(a, b, [](T x, T y) { return x / y; });
}
Int ceil_div(const Int& a, const Int& b) {
  if (a.known && b.known) return known((*a.known + *b.known - 1) / *b.known);
  return combined(a + b - 1, b, [](T x, T y) { return x / y; });
}
Int modulo(const Int& a, const Int& b) {
  if (a.known && b.known) return known(((*a.known % *b.known) + *b.known) % *b.known);
  return combined(a, b, [](T x, T y) { return x.builder().op("Mod", {x, y}); });
}
Int min(const Int& a, const Int& b) {
  if (a.known && b.known) return known(std::min(*a.known, *b.known));
  return combined(a, b, [](T x, T y) { return minimum(x, y); });
}
Int max(const Int& a, const Int& b) {
  if (a.known && b.known) return known(std::max(*a.known, *b.known));
  return combined(a, b, [](T x, T y) { return maximum(x, y); });
}

Int wrap(const Int& i, const Int& size) {
  if (i.known) return *i.known < 0 ? i + size : i;
  return combined(i, i + size, [](T x, T moved) { return where(x < 0, moved, x); });
}

Int broadcast_size(const Int& a, const Int& b) {
  if (a.known == 1) return b;
  if (b.known == 1 || a.known) return a;
  if (b.known) return b;
  return combined(a, b, [](T x, T y) { return where(equal(x, 1), y, x); });
}

Int product(const Dims& d) {
  Int p = known(1);
  for (const Int& i : d) p = p * i;
  return p;
}

Ints range(int64_t from, int64_t to) {
  Ints r(static_cast<size_t>(std::max<int64_t>(to - from, 0)));
  std::iota(r.begin(), r.end(), from);
  return r;
}

Ints per_axis(const Ints& v, size_t n, int64_t fallback) {
  if (v.empty()) return Ints(n, fallback);
  if (v.size() == 1) return Ints(n, v[0]);
  return v;
}

}  // namespace oe::build
