// Interpolation: https://onnx.ai/onnx/operators/onnx__Resize.html.
//
// Where PyTorch and Resize round differently, the result is written out instead: nearest as Gather
// with PyTorch's own indices, the others as products with PyTorch's own weights.
#include <cmath>
#include <string>

#include "lib/lower/aten/adaptive_pool.h"
#include "lib/lower/aten/resize_products.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeDims = std::optional<Dims>;
using MaybeFloats = std::optional<Floats>;

// The last n axes of x, to `size` or by `scales` (an output has floor(in * scale) elements).
Planes planes(T x, size_t n, const MaybeDims& size, const MaybeFloats& scales) {
  Planes r;
  for (size_t i = 0; i < n; ++i) {
    Plane p{size_of(x, x.rank() - static_cast<int64_t>(n - i)), {}, std::nullopt};
    if (size && !size->empty()) {
      p.out = size->size() == 1 ? (*size)[0] : size->at(i);
    } else {
      if (!scales || scales->empty()) throw Unsupported("neither a size nor a scale factor");
      const double s = scales->size() == 1 ? (*scales)[0] : scales->at(i);
      p.scale = s;
      if (p.in.known) {
        p.out = known(static_cast<int64_t>(static_cast<double>(*p.in.known) * s));
      } else if (s == std::floor(s)) {
        p.out = p.in * known(static_cast<int64_t>(s));
      } else {
        T length = cast(p.in.computed, DType::Double);
        p.out = {std::nullopt, cast(floor(length * s), DType::Int64)};
      }
    }
    r.push_back(p);
  }
  return r;
}

Planes with_scales(Planes p, std::initializer_list<std::optional<double>> scales) {
  size_t i = 0;
  for (const auto& s : scales) p[i++].scale = s;
  return p;
}

// A float32 factor that gives PyTorch's number of elements: Resize multiplies in float32, PyTorch
// in float64. For a length that is not known it has to hold for every one up to 8192.
std::optional<float> exact_factor(const Plane& p) {
  const bool fixed = p.in.known && p.out.known;
  if (!fixed && !(p.scale && !p.in.known)) return std::nullopt;
  if (fixed && *p.in.known == 0) return std::nullopt;
  const double want =
      p.scale ? *p.scale : static_cast<double>(*p.out.known) / static_cast<double>(*p.in.known);
  const auto near = static_cast<float>(want);
  for (float f : {near, std::nextafter(near, 1e9f), std::nextafter(near, 0.0f)}) {
    auto holds = [f](int64_t in, int64_t out) {
      return static_cast<int64_t>(std::floor(static_cast<float>(in) * f)) == out &&
             static_cast<int64_t>(std::floor(static_cast<double>(in) * f)) == out;
    };
    bool good = true;
    if (fixed) {
      good = holds(*p.in.known, *p.out.known);
    } else {
      for (int64_t in = 1; in <= 8192 && good; ++in)
        good = holds(in, static_cast<int64_t>(static_cast<double>(in) * want));
    }
    if (good) return f;
  }
  return std::nullopt;
}

T resize(Call& g, T x, const Planes& p, ir::Attributes attributes) {
  const int64_t lead = x.rank() - static_cast<int64_t>(p.size());
  std::vector<float> factors(static_cast<size_t>(lead), 1.0f);
  for (const Plane& plane : p)
    if (auto f = exact_factor(plane)) factors.push_back(*f);
  const auto rank = x.rank();
  if (static_cast<int64_t>(factors.size()) == rank) {
    T scales = g.tensor(Tensor::of<float>(DType::Float, {rank}, factors));
    return node("Resize", {x, nullptr, scales}, std::move(attributes));
  }
  Dims sizes;
  for (int64_t i = 0; i < lead; ++i) sizes.push_back(size_of(x, i));
  for (const Plane& plane : p) sizes.push_back(plane.out);
  return node("Resize", {x, nullptr, nullptr, g.vector(sizes)}, std::move(attributes));
}

// --- nearest

// How PyTorch picks elements. Its kernel for small images copies or doubles pixels wherever the
// sizes allow it, whatever factor led there: 1.2 * 4 = 4 copies, but 1.2 * 3 x 200 does not.
struct Picking {
  bool exact;
  bool in_double;
  std::optional<bool> small;  // nothing: depends on sizes known at run time only
};

Picking picking(const Planes& p, bool exact, bool in_double) {
  if (exact || p.size() != 2) return {exact, in_double, false};
  if (!p[0].out.known || !p[1].out.known) return {exact, in_double, std::nullopt};
  return {exact, in_double, *p[0].out.known + *p[1].out.known <= 128};
}

// The multiple (1 or 2) a factor may come to without being it; 0 if none.
int64_t multiple(const Plane& p) {
  if (!p.scale) return 0;
  if (*p.scale > 1 && *p.scale < 1.5) return 1;
  return *p.scale > 2 && *p.scale < 2.5 ? 2 : 0;
}

std::vector<int64_t> fixed_indices(const Plane& p, int64_t in, int64_t out, const Picking& k) {
  const int64_t m = multiple(p);
  if (k.small != true || m == 0 || out != m * in)
    return nearest_indices(in, out, p.scale, k.exact, k.in_double);
  std::vector<int64_t> r;
  for (int64_t i = 0; i < out; ++i) r.push_back(i / m);
  return r;
}

// Does Resize (asymmetric, floor, float32) take the same elements?
bool resize_agrees(const Plane& p, const Picking& k) {
  const auto factor = exact_factor(p);
  if (!factor) return false;
  const float f = *factor;
  auto same = [&](int64_t in, int64_t out) {
    const auto torch = fixed_indices(p, in, out, k);
    for (int64_t i = 0; i < out; ++i)
      if (std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) / f)), in - 1) != torch[i])
        return false;
    return true;
  };
  if (p.in.known && p.out.known) return same(*p.in.known, *p.out.known);
  if (!p.scale || p.in.known || (multiple(p) != 0 && k.small != false)) return false;
  const int64_t longest = 2048;  // a longer axis only adds elements at its end
  return same(longest, static_cast<int64_t>(static_cast<double>(longest) * *p.scale));
}

T computed_indices(Call& g, const Planes& planes, const Plane& p, const Picking& k) {
  const DType t = k.in_double ? DType::Double : DType::Float;
  T position = g.iota(p.out), at = cast(position, t);
  if (k.exact) at = at + 0.5;
  T in = cast(g.value(p.in), t);
  T s = p.scale ? g.number(1 / *p.scale, t) : in / cast(g.value(p.out), t);
  T index = floor(at * s);
  index = cast(minimum(index, in - 1), DType::Int64);
  const int64_t m = multiple(p);
  if (m == 0 || k.small == false) return index;
  T special = equal(g.value(p.out), g.value(p.in * known(m)));
  if (!k.small) {
    T total = g.value(planes[0].out + planes[1].out);
    special = special & (total < 129);
  }
  return where(special, m == 1 ? position : position / m, index);
}

T nearest(Call& g, T x, const Planes& p, bool exact) {
  const DType t = x.dtype();
  const Picking k = picking(p, exact, t == DType::Double);
  const int64_t first = x.rank() - static_cast<int64_t>(p.size());
  bool agrees = !exact && (t == DType::Float || narrow_float(t));
  for (const Plane& plane : p) agrees = agrees && resize_agrees(plane, k);
  if (agrees)
    return resize(g, x, p,
                  {{"mode", std::string("nearest")},
                   {"coordinate_transformation_mode", std::string("asymmetric")},
                   {"nearest_mode", std::string("floor")}});
  for (size_t i = 0; i < p.size(); ++i) {
    const Plane& plane = p[i];
    const bool fixed = plane.in.known && plane.out.known;
    if (fixed && *plane.in.known == *plane.out.known && !plane.scale) continue;
    const bool decided = fixed && (k.small || multiple(plane) == 0);
    T index = decided ? g.i64s(fixed_indices(plane, *plane.in.known, *plane.out.known, k))
                      : computed_indices(g, p, plane, k);
    x = gather(x, index, first + static_cast<int64_t>(i));
  }
  return x;
}

// --- weighted

bool all_known(const Planes& p) {
  for (const Plane& plane : p)
    if (!plane.in.known || !plane.out.known) return false;
  return true;
}

T weighted(Call& g, T x, const Planes& p, Interpolation kind, bool align_corners) {
  const DType t = x.dtype();
  if (!is_float(t)) throw Unsupported("interpolation of integers with weights");
  const bool antialias = kind != Interpolation::Linear && kind != Interpolation::Cubic;
  bool factors = true;  // a factor of the model's own has to reach Resize as it is
  for (const Plane& plane : p)
    factors = factors && (align_corners || !plane.scale || exact_factor(plane));
  if (all_known(p) && (antialias || t == DType::Double || !factors))
    return by_weights(g, x, p, kind, align_corners);
  // Resize takes its scales as float32, and ONNX Runtime computes all of it so: too coarse for
  // double.
  if (!antialias && (!factors || t == DType::Double)) return by_taps(g, x, p, kind, align_corners);
  if (kind == Interpolation::LanczosAntialias)
    throw Unsupported("Lanczos interpolation between sizes known only at run time");
  if (!factors)
    throw Unsupported(
        "antialiased interpolation of a dynamic size by a factor that float32 rounds "
        "to other lengths; give a size, or recompute_scale_factor=True");
  const bool linear = kind == Interpolation::Linear || kind == Interpolation::LinearAntialias;
  ir::Attributes a{{"mode", std::string(linear ? "linear" : "cubic")},
                   {"coordinate_transformation_mode",
                    std::string(align_corners ? "align_corners" : "half_pixel")}};
  if (!linear) a.set("cubic_coeff_a", antialias ? -0.5f : -0.75f);
  if (antialias) {
    a.set("antialias", int64_t{1});
    a.set("exclude_outside", int64_t{1});
  }
  return resize(g, x, p, std::move(a));
}

// --- torch.nn.functional.interpolate as one operator

// Positions follow the scale factors only where recompute_scale_factor is False: left out, it means
// True here (torch/csrc/jit/runtime/register_prim_ops_fulljit.cpp), unlike in Python.

T interpolate(Call& g, T x, const MaybeDims& size, const MaybeFloats& scales,
              const std::string& mode, std::optional<bool> corners, std::optional<bool> recompute,
              bool antialias) {
  const size_t n = static_cast<size_t>(x.rank() - 2);
  Planes p = planes(x, n, size, scales);
  if (recompute != false)
    for (Plane& plane : p) plane.scale.reset();
  if (mode == "nearest" || mode == "nearest-exact")
    return nearest(g, x, p, mode == "nearest-exact");
  if (mode == "area") {
    Dims out;
    for (const Plane& plane : p) out.push_back(plane.out);
    return adaptive_avg(g, x, out, n);
  }
  const bool cubic = mode == "bicubic";
  Interpolation kind = cubic ? Interpolation::Cubic : Interpolation::Linear;
  if (antialias) kind = cubic ? Interpolation::CubicAntialias : Interpolation::LinearAntialias;
  return weighted(g, x, p, kind, corners.value_or(false));
}

template <bool Exact>
T nearest1(Call& g, T x, const Dims& size, std::optional<double> s) {
  return nearest(g, x, with_scales(planes(x, 1, size, {}), {s}), Exact);
}
template <bool Exact>
T nearest2(Call& g, T x, const Dims& size, std::optional<double> h, std::optional<double> w) {
  return nearest(g, x, with_scales(planes(x, 2, size, {}), {h, w}), Exact);
}
template <bool Exact>
T nearest3(Call& g, T x, const Dims& size, std::optional<double> d, std::optional<double> h,
           std::optional<double> w) {
  return nearest(g, x, with_scales(planes(x, 3, size, {}), {d, h, w}), Exact);
}
template <size_t N, bool Exact>
T nearest_vec(Call& g, T x, const MaybeDims& size, const MaybeFloats& scales) {
  return nearest(g, x, planes(x, N, size, scales), Exact);
}
T linear1(Call& g, T x, const Dims& size, bool corners, std::optional<double> s) {
  return weighted(g, x, with_scales(planes(x, 1, size, {}), {s}), Interpolation::Linear, corners);
}
template <Interpolation K>
T weighted2(Call& g, T x, const Dims& size, bool corners, std::optional<double> h,
            std::optional<double> w) {
  return weighted(g, x, with_scales(planes(x, 2, size, {}), {h, w}), K, corners);
}
T linear3(Call& g, T x, const Dims& size, bool corners, std::optional<double> d,
          std::optional<double> h, std::optional<double> w) {
  return weighted(g, x, with_scales(planes(x, 3, size, {}), {d, h, w}), Interpolation::Linear,
                  corners);
}
template <size_t N, Interpolation K>
T weighted_vec(Call& g, T x, const MaybeDims& size, bool corners, const MaybeFloats& scales) {
  return weighted(g, x, planes(x, N, size, scales), K, corners);
}
constexpr auto kLinear = Interpolation::Linear;
constexpr auto kCubic = Interpolation::Cubic;
constexpr auto kLinearAa = Interpolation::LinearAntialias;
constexpr auto kCubicAa = Interpolation::CubicAntialias;
constexpr auto kLanczosAa = Interpolation::LanczosAntialias;

constexpr Lowering table[] = {
    op<nearest1<false>>(
        "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    op<nearest2<false>>(
        "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<nearest3<false>>(
        "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<nearest_vec<1, false>>(
        "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<nearest_vec<2, false>>(
        "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<nearest_vec<3, false>>(
        "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<nearest1<true>>(
        "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    op<nearest2<true>>(
        "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<nearest3<true>>(
        "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<nearest_vec<1, true>>(
        "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<nearest_vec<2, true>>(
        "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<nearest_vec<3, true>>(
        "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    op<linear1>(
        "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor"),
    op<weighted2<kLinear>>(
        "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<linear3>(
        "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<weighted2<kCubic>>(
        "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<weighted2<kLinearAa>>(
        "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<weighted2<kCubicAa>>(
        "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<weighted2<kLanczosAa>>(
        "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    op<weighted_vec<1, kLinear>>(
        "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<2, kLinear>>(
        "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<3, kLinear>>(
        "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<2, kCubic>>(
        "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<2, kLinearAa>>(
        "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<2, kCubicAa>>(
        "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<weighted_vec<2, kLanczosAa>>(
        "aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
    op<interpolate>(
        "aten::__interpolate(Tensor input, int? size=None, float? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor"),
    op<interpolate>(
        "aten::__interpolate.scale_list(Tensor input, int? size=None, float[]? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor"),
    op<interpolate>(
        "aten::__interpolate.size_list(Tensor input, int[]? size=None, float? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor"),
    op<interpolate>(
        "aten::__interpolate.size_list_scale_list(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor"),
};

}  // namespace

Table resize_rows() { return table; }

}  // namespace oe::lower
