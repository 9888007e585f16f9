// Matrix products: https://onnx.ai/onnx/operators/onnx__MatMul.html, onnx__Gemm.html.
#include "lib/lower/aten/shape_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// MatMul multiplies int32, int64, uint32 and uint64; smaller integers wrap like PyTorch's after it.
DType product_type(DType t) {
  if (t == DType::UInt8 || t == DType::Int8 || t == DType::Int16) return DType::Int32;
  return t;
}

Value product(Emit& g, Value a, Value b, DType t) {
  const DType p = product_type(t);
  // A vector on the right is made a column: ONNX Runtime joins a Transpose on the left with the
  // product and then gets such a vector wrong.
  const bool column = b->rank() == 1 && a->rank().value_or(2) > 1;
  Value right = g.cast(b, p);
  if (column) right = unsqueeze(g, right, {1});
  Value y = matmul(g, g.cast(a, p), right);
  return g.cast(column ? squeeze(g, y, {-1}) : y, t);
}
Value product(Emit& g, Value a, Value b) { return product(g, a, b, g.result_dtype()); }

bool is_one(const Scalar& s) { return s.known && s.d == 1; }
bool is_zero(const Scalar& s) { return s.known && s.d == 0; }

// Gemm's alpha and beta are float32 attributes: a double model keeps them exact otherwise.
bool fits_attribute(const Scalar& s, DType t) {
  return s.known && (t != DType::Double || static_cast<double>(static_cast<float>(s.d)) == s.d);
}

// beta * self + alpha * r. With beta = 0 `self` is not read at all, not even its NaNs.
Value accumulate(Emit& g, Value self, Value r, const Scalar& beta, const Scalar& alpha, DType t) {
  if (!is_one(alpha)) r = mul(g, r, g.scalar(alpha, t));
  if (is_zero(beta)) return r;
  self = g.cast(self, t);
  if (!is_one(beta)) self = mul(g, self, g.scalar(beta, t));
  return add(g, r, self);
}

Value addmm(Emit& g, Value self, Value a, Value b, const Scalar& beta, const Scalar& alpha) {
  const DType t = g.result_dtype();
  if (!is_float(t) || is_zero(beta) || !fits_attribute(alpha, t) || !fits_attribute(beta, t))
    return accumulate(g, self, product(g, a, b, t), beta, alpha, t);
  ir::Attributes attributes;
  if (!is_one(alpha)) attributes.set("alpha", static_cast<float>(alpha.d));
  if (!is_one(beta)) attributes.set("beta", static_cast<float>(beta.d));
  return g.node("Gemm", {g.cast(a, t), g.cast(b, t), g.cast(self, t)}, std::move(attributes));
}

Value linear(Emit& g, Value x, Value w, std::optional<Value> b) {
  const DType t = g.result_dtype();
  x = g.cast(x, t);
  w = g.cast(w, t);
  if (b && g.rank(x) == 2 && g.rank(w) == 2 && is_float(t) && g.rank(*b) <= 1)
    return g.node("Gemm", {x, w, g.cast(*b, t)}, {{"transB", int64_t{1}}});
  Value y = product(g, x, g.rank(w) == 2 ? transpose(g, w, {1, 0}) : w, t);
  return b ? add(g, y, g.cast(*b, t)) : y;
}

Value outer(Emit& g, Value a, Value b) {
  const DType t = g.result_dtype();
  return mul(g, unsqueeze(g, g.cast(a, t), {1}), unsqueeze(g, g.cast(b, t), {0}));
}

// Sums over the pairs of axes (dims_a[i], dims_b[i]): one matrix product of the flattened rest.
Value tensordot(Emit& g, Value a, Value b, Ints dims_a, Ints dims_b) {
  const DType t = g.result_dtype();
  const int64_t ra = g.rank(a), rb = g.rank(b);
  std::vector<bool> summed_a(static_cast<size_t>(ra)), summed_b(static_cast<size_t>(rb));
  Ints last, first;
  Int inner = known(1);
  Value va = g.cast(a, t), vb = g.cast(b, t);
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t da = g.axis(a, dims_a[i]), db = g.axis(b, dims_b[i]);
    summed_a[da] = summed_b[db] = true;
    last.push_back(da);
    first.push_back(db);
    const Int size_a = dim(g, a, da), size_b = dim(g, b, db);
    // An axis of size 1 against a longer one: the longer one is summed beforehand.
    if (size_a.known == 1 && size_b.known != 1) {
      vb = reduce(g, "ReduceSum", vb, {db});
    } else if (size_b.known == 1 && size_a.known != 1) {
      va = reduce(g, "ReduceSum", va, {da});
    } else if (shape::same_dim(a, da, b, db)) {
      inner = mul(g, inner, size_a);
    } else {  // one of them may turn out to be 1
      const Int size = shape::broadcast_size(g, size_a, size_b);
      va = shape::widened(g, shape::with_rank(va, ra), da, size);
      vb = shape::widened(g, shape::with_rank(vb, rb), db, size);
      inner = mul(g, inner, size);
    }
  }
  Ints perm_a, perm_b = first;
  Dims rows, columns, result;
  for (int64_t i = 0; i < ra; ++i)
    if (!summed_a[i]) {
      perm_a.push_back(i);
      rows.push_back(dim(g, a, i));
    }
  perm_a.insert(perm_a.end(), last.begin(), last.end());
  for (int64_t i = 0; i < rb; ++i)
    if (!summed_b[i]) {
      perm_b.push_back(i);
      columns.push_back(dim(g, b, i));
    }
  va = reshape(g, transpose(g, va, perm_a), Dims{nn::product(g, rows), inner});
  vb = reshape(g, transpose(g, vb, perm_b), Dims{inner, nn::product(g, columns)});
  result = rows;
  result.insert(result.end(), columns.begin(), columns.end());
  return reshape(g, product(g, va, vb, t), result);
}

Value inner(Emit& g, Value a, Value b) {
  const int64_t ra = g.rank(a), rb = g.rank(b);
  const DType t = g.result_dtype();
  if (ra == 0 || rb == 0) return mul(g, g.cast(a, t), g.cast(b, t));
  if (rb == 1) return product(g, a, b, t);
  if (rb == 2) return product(g, a, transpose(g, b, {1, 0}), t);
  return tensordot(g, a, b, {-1}, {-1});
}

Value chain(Emit& g, const Values& v) {
  Value r = v.at(0);
  for (size_t i = 1; i < v.size(); ++i) r = product(g, r, v[i]);
  return r;
}

// y[..., o] = sum_ij a[..., i] w[o, i, j] b[..., j] + bias[o]
Value bilinear(Emit& g, Value a, Value b, Value w, std::optional<Value> bias) {
  const int64_t rank = g.rank(a);
  auto out = g.dim(w, 0), in1 = g.dim(w, 1), in2 = g.dim(w, 2);
  if (!out || !in1 || !in2) throw Unsupported("bilinear with a weight whose sizes are not known");
  Value flat = reshape(g, transpose(g, w, {1, 0, 2}), Ints{*in1, *out * *in2});
  Dims shape;
  for (int64_t i = 0; i < rank - 1; ++i) shape.push_back(dim(g, a, i));
  shape.push_back(known(*out));
  shape.push_back(known(*in2));
  Value y = reshape(g, matmul(g, a, flat), shape);
  y = squeeze(g, matmul(g, y, unsqueeze(g, b, {rank})), {rank});
  return bias ? add(g, y, *bias) : y;
}

constexpr auto two = [](Emit& g, Value a, Value b) { return product(g, a, b); };
constexpr auto fused = [](Emit& g, Value self, Value a, Value b, Scalar beta, Scalar alpha) {
  return addmm(g, self, a, b, beta, alpha);
};
constexpr auto batched = [](Emit& g, Value self, Value a, Value b, Scalar beta, Scalar alpha) {
  return accumulate(g, self, product(g, a, b), beta, alpha, g.result_dtype());
};
constexpr auto outer_product = [](Emit& g, Value a, Value b) { return outer(g, a, b); };
constexpr auto many = [](Emit& g, Values v) { return chain(g, v); };

constexpr Lowering table[] = {
    op("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
       [](Emit& g, Value x, Value w, std::optional<Value> b) { return linear(g, x, w, b); }),
    op("aten::matmul(Tensor self, Tensor other) -> Tensor", two),
    op("aten::mm(Tensor self, Tensor mat2) -> Tensor", two),
    op("aten::bmm(Tensor self, Tensor mat2) -> Tensor", two),
    op("aten::mv(Tensor self, Tensor vec) -> Tensor", two),
    op("aten::dot(Tensor self, Tensor tensor) -> Tensor", two),
    op("aten::vdot(Tensor self, Tensor other) -> Tensor", two),
    op("aten::inner(Tensor self, Tensor other) -> Tensor",
       [](Emit& g, Value a, Value b) { return inner(g, a, b); }),
    op("aten::outer(Tensor self, Tensor vec2) -> Tensor", outer_product),
    op("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       [](Emit& g, Value self, Value a, Value b, Scalar beta, Scalar alpha) {
         return accumulate(g, self, outer(g, a, b), beta, alpha, g.result_dtype());
       }),
    op("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       fused),
    op("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       batched),
    op("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       batched),
    op("aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       [](Emit& g, Value self, Value a, Value b, Scalar beta, Scalar alpha) {
         const DType t = g.result_dtype();
         Value sum = reduce(g, "ReduceSum", product(g, a, b, t), {0}, false);
         return accumulate(g, self, sum, beta, alpha, t);
       }),
    op("aten::chain_matmul(Tensor[] matrices) -> Tensor", many),
    op("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", many),
    op("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
       [](Emit& g, Value a, Value b, Ints da, Ints db) { return tensordot(g, a, b, da, db); }),
    op("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
       [](Emit& g, Value a, Value b, Value w, std::optional<Value> bias) {
         return bilinear(g, a, b, w, bias);
       }),
};

}  // namespace

Table matmul_rows() { return table; }

}  // namespace oe::lower
