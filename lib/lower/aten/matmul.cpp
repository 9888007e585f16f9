// Matrix products: https://onnx.ai/onnx/operators/onnx__MatMul.html, onnx__Gemm.html.
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

// MatMul multiplies int32, int64, uint32 and uint64; smaller integers wrap like PyTorch's after it.
DType product_type(DType t) {
  if (t == DType::UInt8 || t == DType::Int8 || t == DType::Int16) return DType::Int32;
  return t;
}

T product(T a, T b, DType t) {
  const DType p = product_type(t);
  return cast(matmul(cast(a, p), cast(b, p)), t);
}

bool is_one(const Scalar& s) { return s.known && s.d == 1; }
bool is_zero(const Scalar& s) { return s.known && s.d == 0; }

// Gemm's alpha and beta are float32 attributes: a double model keeps them exact otherwise.
bool fits_attribute(const Scalar& s, DType t) {
  return s.known && (t != DType::Double || static_cast<double>(static_cast<float>(s.d)) == s.d);
}

// beta * self + alpha * r. With beta = 0 `self` is not read at all, not even its NaNs.
T accumulate(Call& g, T self, T r, const Scalar& beta, const Scalar& alpha) {
  const DType t = r.dtype();
  if (!is_one(alpha)) r = r * g.scalar(alpha, t);
  if (is_zero(beta)) return r;
  self = cast(self, t);
  if (!is_one(beta)) self = self * g.scalar(beta, t);
  return r + self;
}

T addmm(Call& g, T self, T a, T b, const Scalar& beta, const Scalar& alpha) {
  const DType t = g.result_dtype();
  // ONNX Runtime's Gemm leaves beta out where there is nothing to multiply.
  const bool nothing =
      a.ranked() && (*a->type.shape)[1].is_number() && (*a->type.shape)[1].number == 0;
  if (nothing || !is_float(t) || is_zero(beta) || !fits_attribute(alpha, t) ||
      !fits_attribute(beta, t))
    return accumulate(g, self, product(a, b, t), beta, alpha);
  ir::Attributes attributes;
  if (!is_one(alpha)) attributes.set("alpha", static_cast<float>(alpha.d));
  if (!is_one(beta)) attributes.set("beta", static_cast<float>(beta.d));
  return node("Gemm", {cast(a, t), cast(b, t), cast(self, t)}, std::move(attributes));
}

T linear(T x, T w, std::optional<T> b) {
  if (b && x.rank() == 2 && w.rank() == 2 && is_float(x.dtype()) && b->rank() <= 1)
    return node("Gemm", {x, w, *b}, {{"transB", int64_t{1}}});
  T y = product(x, w.rank() == 2 ? transpose(w, {1, 0}) : w, x.dtype());
  // A single row takes a bias of rank 2 as what it is, one row too.
  if (b && b->rank() == 2 && y.rank() == 1) b = squeeze(*b, {0});
  return b ? y + *b : y;
}

T outer(T a, T b) { return unsqueeze(a, {1}) * unsqueeze(b, {0}); }

// Sums over the pairs of axes (dims_a[i], dims_b[i]): one matrix product of the flattened rest.
T tensordot(T a, T b, const Ints& dims_a, const Ints& dims_b) {
  const int64_t ra = a.rank(), rb = b.rank();
  std::vector<bool> summed_a(static_cast<size_t>(ra)), summed_b(static_cast<size_t>(rb));
  Ints last, first;
  Int inner = known(1);
  T va = a, vb = b;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t da = a.axis(dims_a[i]), db = b.axis(dims_b[i]);
    summed_a[da] = summed_b[db] = true;
    last.push_back(da);
    first.push_back(db);
    const Int size_a = size_of(a, da), size_b = size_of(b, db);
    // An axis of size 1 against a longer one: the longer one is summed beforehand.
    if (size_a.known == 1 && size_b.known != 1) {
      vb = reduce("ReduceSum", vb, {db});
    } else if (size_b.known == 1 && size_a.known != 1) {
      va = reduce("ReduceSum", va, {da});
    } else if (same_dim(a, da, b, db)) {
      inner = inner * size_a;
    } else {  // one of them may turn out to be 1
      const Int size = broadcast_size(size_a, size_b);
      va = widened(with_rank(va, ra), da, size);
      vb = widened(with_rank(vb, rb), db, size);
      inner = inner * size;
    }
  }
  Ints perm_a, perm_b = first;
  Dims rows, columns, result;
  for (int64_t i = 0; i < ra; ++i)
    if (!summed_a[i]) {
      perm_a.push_back(i);
      rows.push_back(size_of(a, i));
    }
  perm_a.insert(perm_a.end(), last.begin(), last.end());
  for (int64_t i = 0; i < rb; ++i)
    if (!summed_b[i]) {
      perm_b.push_back(i);
      columns.push_back(size_of(b, i));
    }
  va = reshape(transpose(va, perm_a), Dims{product(rows), inner});
  vb = reshape(transpose(vb, perm_b), Dims{inner, product(columns)});
  result = rows;
  result.insert(result.end(), columns.begin(), columns.end());
  return reshape(product(va, vb, a.dtype()), result);
}

T inner(T a, T b) {
  const int64_t rank = b.rank();
  if (a.rank() == 0 || rank == 0) return a * b;
  if (rank > 2) return tensordot(a, b, {-1}, {-1});
  return product(a, rank == 1 ? b : transpose(b, {1, 0}), a.dtype());
}

T chain(Call& g, const Values& v) {
  T y = v.at(0);
  for (size_t i = 1; i < v.size(); ++i) y = product(y, v[i], g.result_dtype());
  return y;
}

// y[..., o] = sum_ij a[..., i] w[o, i, j] b[..., j] + bias[o]
T bilinear(T a, T b, T w, std::optional<T> bias) {
  const int64_t rank = a.rank();
  auto out = w.dim(0), in1 = w.dim(1), in2 = w.dim(2);
  if (!out || !in1 || !in2) throw Unsupported("bilinear with a weight whose sizes are not known");
  T flat = reshape(transpose(w, {1, 0, 2}), Ints{*in1, *out * *in2});
  Dims shape;
  for (int64_t i = 0; i < rank - 1; ++i) shape.push_back(size_of(a, i));
  shape.push_back(known(*out));
  shape.push_back(known(*in2));
  T y = reshape(matmul(a, flat), shape);
  y = squeeze(matmul(y, unsqueeze(b, {rank})), {rank});
  return bias ? y + *bias : y;
}

T matrix_product(Call& g, T a, T b) { return product(a, b, g.result_dtype()); }

T matrix_product_added(Call& g, T self, T a, T b, const Scalar& beta, const Scalar& alpha) {
  return accumulate(g, self, matrix_product(g, a, b), beta, alpha);
}
T addbmm(Call& g, T self, T a, T b, const Scalar& beta, const Scalar& alpha) {
  T sum = reduce("ReduceSum", matrix_product(g, a, b), {0}, false);
  return accumulate(g, self, sum, beta, alpha);
}
T addr(Call& g, T self, T a, T b, const Scalar& beta, const Scalar& alpha) {
  const DType t = g.result_dtype();
  return accumulate(g, self, outer(cast(a, t), cast(b, t)), beta, alpha);
}

constexpr Lowering table[] = {
    typed<linear>("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"),
    op<matrix_product>(names("aten::matmul", "aten::vdot"),
                       "(Tensor self, Tensor other) -> Tensor"),
    op<matrix_product>(names("aten::mm", "aten::bmm"), "(Tensor self, Tensor mat2) -> Tensor"),
    op<matrix_product>("aten::mv(Tensor self, Tensor vec) -> Tensor"),
    op<matrix_product>("aten::dot(Tensor self, Tensor tensor) -> Tensor"),
    typed<inner>("aten::inner(Tensor self, Tensor other) -> Tensor"),
    typed<outer>("aten::outer(Tensor self, Tensor vec2) -> Tensor"),
    op<addr>(
        "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addmm>(
        "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<matrix_product_added>(
        "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<matrix_product_added>(
        "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<addbmm>(
        "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    op<chain>("aten::chain_matmul(Tensor[] matrices) -> Tensor"),
    op<chain>("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor"),
    typed<tensordot>(
        "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor"),
    op<bilinear>(
        "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"),
};

}  // namespace

Table matmul_rows() { return table; }

}  // namespace oe::lower
