// Reductions and products of complex tensors that are not linear in one operand.
#include "lib/lower/aten/reduce.h"

#include "lib/lower/complex/complex.h"

namespace oe::lower {
namespace {

// Products along an axis, entry after entry. A state has the shape of an entry, which is pairs
// here; so there is one for each part, of which the first column counts.
C cumprod(const C& a, int64_t axis) {
  build::Builder& b = a.re.builder();
  const DType t = a.re.dtype();
  const auto step = [](const Values& state, T entry) {
    const C z = C{unpacked(state[0]).re, unpacked(state[1]).re} * unpacked(entry);
    return Values{packed({z.re, z.re}), packed({z.im, z.im})};
  };
  const Values all =
      b.scan(packed({a.re, imaginary(a)}), axis, {b.number(1, t), b.number(0, t)}, step);
  return {unpacked(all[0]).re, unpacked(all[1]).re};
}

// With a 1 in front, so that there is a last entry.
C prod(const C& a, int64_t axis, bool keepdim) {
  if (a.re.rank() == 0) return {a.re, imaginary(a)};
  const auto preceded = [&](T x, double v) {
    Dims shape = sizes_of(x, x.rank());
    shape[static_cast<size_t>(axis)] = known(1);
    return concat({expand(number(v, x), shape), x}, axis);
  };
  const C all = cumprod({preceded(a.re, 1), preceded(imaginary(a), 0)}, axis);
  const auto last = [&](T x) {
    return keepdim ? slice(x, axis, known(-1), known(kEnd)) : entry(x, axis, known(-1));
  };
  return {last(all.re), last(all.im)};
}

// Shifted by the largest real part, where that is a number.
C logsumexp(const C& a, const Axes& axes, bool keepdim) {
  T most = reduce("ReduceMax", a.re, axes, true);
  most = where(unary("IsInf", most), 0, most);
  const C e = exp({a.re - most, imaginary(a)});
  const auto sum = [&](T x) { return reduce("ReduceSum", x, axes, true); };
  const C all = log({sum(e.re), sum(e.im)});
  const auto done = [&](T x) { return keepdim ? x : squeeze(x, axes); };
  return {done(all.re + most), done(all.im)};
}

bool is_zero(const C& a) { return scalar(a.re) == 0.0 && (!a.im || scalar(a.im) == 0.0); }

// beta self + alpha product; what beta = 0 leaves out may be NaN.
C plus_product(const C& self, const C& product, const C& beta, const C& alpha) {
  return is_zero(beta) ? product * alpha : self * beta + product * alpha;
}

C matrix_product(const C& a, const C& b) {
  if (!b.im) return {matmul(a.re, b.re), a.im ? matmul(a.im, b.re) : T()};
  if (!a.im) return {matmul(a.re, b.re), matmul(a.re, b.im)};
  return {matmul(a.re, b.re) - matmul(a.im, b.im), matmul(a.re, b.im) + matmul(a.im, b.re)};
}

C outer(const C& a, const C& b) {
  const auto at = [](const C& z, int64_t axis) {
    return C{unsqueeze(z.re, {axis}), z.im ? unsqueeze(z.im, {axis}) : T()};
  };
  return at(a, 1) * at(b, 0);
}

C sum_of(const C& a, int64_t axis) {
  return {reduce("ReduceSum", a.re, {axis}, false),
          reduce("ReduceSum", imaginary(a), {axis}, false)};
}

C addmm(C self, C a, C b, C beta, C alpha) {
  return plus_product(self, matrix_product(a, b), beta, alpha);
}
C addbmm(C self, C a, C b, C beta, C alpha) {
  return plus_product(self, sum_of(matrix_product(a, b), 0), beta, alpha);
}
C addr(C self, C a, C b, C beta, C alpha) { return plus_product(self, outer(a, b), beta, alpha); }

constexpr Lowering table[] = {
    op("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
       [](C a, Axis axis, Rest) {
         return a.re.rank() == 0 ? C{a.re, imaginary(a)} : cumprod(a, axis);
       }),
    op("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       [](C a, Axis axis, bool keepdim, Rest) { return prod(a, axis, keepdim); }),
    op("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](C a, Rest) {
         return prod({flat(a.re), flat(imaginary(a))}, 0, false);
       }),
    op("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       [](C a, const Axes& axes, bool keepdim) { return logsumexp(a, axes, keepdim); }),
    op("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       [](C a, C b, Reduction r) { return reduced(abs(a - b), r); }),
    op("aten::vdot(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return sum_of(conj(a) * b, 0); }),
    op<addmm>(
        "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addmm>(
        "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addmm>(
        "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addbmm>(
        "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addr>(
        "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
};

}  // namespace

Table complex_reduce_rows() { return table; }

}  // namespace oe::lower
