// One step of a recurrent network, written out gate by gate.
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

// x @ w.T + b for a batch [B, I] or a single [I].
T project(T x, T w, MaybeValue b) {
  if (b && x.rank() == 2) return node("Gemm", {x, w, *b}, {{"transB", int64_t{1}}});
  T y = matmul(x, transpose(w, {1, 0}));
  return b ? y + *b : y;
}

Values chunks(T v, T w, int64_t n, int64_t axis) {
  auto rows = w.dim(0);
  if (!rows) throw Unsupported("a recurrent cell whose hidden size is not known");
  return split(v, axis, Ints(static_cast<size_t>(n), *rows / n));
}

// A cell takes rows, also where nothing else says so.
T rows(T x) { return x->type.shape ? x : with_rank(node("Identity", {x}), 2); }

Values lstm_cell(T x, const Values& hx, T wi, T wh, MaybeValue bi, MaybeValue bh) {
  Values gate = chunks(project(rows(x), wi, bi) + project(rows(hx.at(0)), wh, bh), wi, 4, 1);
  T input = sigmoid(gate[0]), forget = sigmoid(gate[1]);
  T candidate = tanh(gate[2]), output = sigmoid(gate[3]);
  T next = forget * hx.at(1) + input * candidate;
  return {output * tanh(next), next};
}

T gru_cell(T x, T h, T wi, T wh, MaybeValue bi, MaybeValue bh) {
  Values a = chunks(project(rows(x), wi, bi), wi, 3, 1);
  Values b = chunks(project(rows(h), wh, bh), wh, 3, 1);
  T reset = sigmoid(a[0] + b[0]);
  T update = sigmoid(a[1] + b[1]);
  T candidate = tanh(a[2] + reset * b[2]);
  return candidate + update * (h - candidate);
}

template <FixedString Op>
T plain_cell(T x, T h, T wi, T wh, MaybeValue bi, MaybeValue bh) {
  return unary(Op.view(), project(rows(x), wi, bi) + project(rows(h), wh, bh));
}

constexpr Lowering table[] = {
    op<lstm_cell>(
        "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)"),
    op<gru_cell>(
        "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"),
    op<plain_cell<"Tanh">>(
        "aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"),
    op<plain_cell<"Relu">>(
        "aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"),
};

}  // namespace

Table rnn_cells_rows() { return table; }

}  // namespace oe::lower
