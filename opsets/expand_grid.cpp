// GridSample by where its points lie, what is there and how much of it: for opsets that lack the
// operator or its modes, and where ONNX Runtime's kernel rounds otherwise.
#include <array>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

// Everything about one spatial axis is in `t`, a type that holds positions exactly.
struct Sampler {
  Rewriter& r;
  T x = nullptr;      // [N * sizes.., C]: what is gathered
  Values sizes = {};  // of the spatial axes, 0-d int64
  T first = nullptr;  // position of each batch entry in x, [N, 1, .., 1] int64
  std::string mode = {}, padding = {};
  bool corners = false;
  DType t = DType::Float;

  size_t axes() const { return sizes.size(); }
  T number(double v) const { return r.number(v, t); }
  T size(size_t i) const { return cast(sizes[i], t); }
  T last(size_t i) const { return size(i) - 1; }

  // From [-1, 1] to elements.
  T position(T grid, size_t i) const {
    return corners ? (grid + 1) / 2 * last(i) : ((grid + 1) * size(i) - 1) / 2;
  }
  T clip(T at, size_t i) const { return minimum(maximum(at, 0), last(i)); }
  // There and back between the first and the last element, or the outer sides of both.
  T reflected(T at, size_t i) const {
    T low = number(corners ? 0 : -0.5);
    // An axis of one element has no way: all of it lies at 0.
    T span = corners ? maximum(last(i), 1) : size(i);
    T way = abs(at - low);
    T turns = floor(way / span);
    T rest = way - turns * span;
    T back = turns - floor(turns / 2) * 2;  // 1 where the way leads back
    T folded = where(back > 0.5, span - rest, rest) + low;
    return clip(folded, i);
  }
  T padded(T at, size_t i) const {
    return padding == "border" ? clip(at, i) : padding == "reflection" ? reflected(at, i) : at;
  }

  // What is at whole positions, one an axis; 0 outside. [N, O.., C]
  T picked(const Values& at) const {
    T index = first, inside = nullptr;
    T place = nullptr;
    for (size_t i = 0; i < axes(); ++i) {
      T here = (at[i] >= 0) & (at[i] <= last(i));
      inside = inside ? inside & here : here;
      T whole = cast(where(here, at[i], 0), DType::Int64);
      place = place ? place * sizes[i] + whole : whole;
    }
    T found = gather(x, index + place, 0);
    return padding == "zeros" ? where(unsqueeze(inside, {inside.rank()}), found, 0) : found;
  }
  static T weighed(T found, T weight) { return found * unsqueeze(weight, {weight.rank()}); }
};

T nearest(const Sampler& s, const Values& grid) {
  Values at;
  for (size_t i = 0; i < s.axes(); ++i)
    at.push_back(round_to_even(s.padded(s.position(grid[i], i), i)));
  return s.picked(at);
}

// Every corner around the point, by how near it is along each axis.
T linear(const Sampler& s, const Values& grid) {
  Values low, share;
  for (size_t i = 0; i < s.axes(); ++i) {
    T at = s.padded(s.position(grid[i], i), i);
    low.push_back(floor(at));
    share.push_back(at - low[i]);
  }
  T sum = nullptr;
  for (size_t corner = 0; corner < (size_t{1} << s.axes()); ++corner) {
    Values at;
    T weight = nullptr;
    for (size_t i = 0; i < s.axes(); ++i) {
      const bool upper = (corner >> i) & 1;
      at.push_back(upper ? low[i] + 1 : low[i]);
      T w = upper ? share[i] : 1 - share[i];
      weight = weight ? weight * w : w;
    }
    // Beyond the last element nothing counts: the point lies on it.
    if (s.padding != "zeros")
      for (size_t i = 0; i < s.axes(); ++i) at[i] = s.clip(at[i], i);
    T part = Sampler::weighed(s.picked(at), weight);
    sum = sum ? sum + part : part;
  }
  return sum;
}

T cubic(const Sampler& s, const Values& grid) {
  std::array<T, 2> low;
  std::array<Values, 2> weights;
  for (size_t i = 0; i < 2; ++i) {
    T at = s.position(grid[i], i);
    low[i] = floor(at);
    weights[i] = cubic_weights(at - low[i], -0.75);
  }
  T sum = nullptr;
  for (size_t j = 0; j < 4; ++j) {
    T row = nullptr;
    for (size_t k = 0; k < 4; ++k) {
      const auto at = [&](size_t i, size_t step) {
        return s.padded(low[i] + (static_cast<double>(step) - 1), i);
      };
      T part = Sampler::weighed(s.picked({at(0, j), at(1, k)}), weights[1][k]);
      row = row ? row + part : part;
    }
    T part = Sampler::weighed(row, weights[0][j]);
    sum = sum ? sum + part : part;
  }
  return sum;
}

}  // namespace

void grid_sample_by_gather(Rewriter& r, ir::Node& n) {
  T x = r.in(0), grid = r.in(1);
  const int64_t rank = x.rank();
  const DType to = x.dtype();
  Sampler s{r};
  s.mode = n.attributes.get_or<std::string>("mode", "linear");
  s.padding = n.attributes.get_or<std::string>("padding_mode", "zeros");
  s.corners = n.attributes.get_or<int64_t>("align_corners", 0) != 0;
  s.t = grid.dtype() == DType::Double || to == DType::Double ? DType::Double : DType::Float;
  const bool is_cubic = s.mode == "cubic" || s.mode == "bicubic";
  if (is_cubic && rank != 4) throw Unsupported("cubic sampling of an input that is not an image");

  Ints last_first{0};
  for (int64_t i = 2; i < rank; ++i) last_first.push_back(i);
  last_first.push_back(1);
  Int entries = known(1);
  for (int64_t i = 2; i < rank; ++i) {
    s.sizes.push_back(size(x, i));
    entries = entries * size_of(x, i);
  }
  s.x = reshape_to(transpose(cast(x, is_float(to) ? s.t : to), last_first),
                   {size_of(x, 0) * entries, size_of(x, 1)});
  Ints behind;
  for (int64_t i = 1; i < rank - 1; ++i) behind.push_back(i);
  s.first = unsqueeze(arange(size(x, 0)) * r.value(entries), behind);

  Values of_axis;  // a point names the last axis first
  for (int64_t i = rank - 3; i >= 0; --i)
    of_axis.push_back(entry(cast(grid, s.t), rank - 1, known(i)));
  T y = is_cubic              ? cubic(s, of_axis)
        : s.mode == "nearest" ? nearest(s, of_axis)
                              : linear(s, of_axis);
  Ints channels_first{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) channels_first.push_back(i);
  r.bind(n.outputs[0], cast(transpose(y, channels_first), to));
}

}  // namespace oe::opsets
