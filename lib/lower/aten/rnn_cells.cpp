// One step of a recurrent network, written out gate by gate.
#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;
using MaybeValue = std::optional<Value>;

// x @ w.T + b for a batch [B, I] or a single [I].
Value project(Emit& g, Value x, Value w, MaybeValue b) {
  if (b && g.rank(x) == 2) return g.node("Gemm", {x, w, *b}, {{"transB", int64_t{1}}});
  Value y = matmul(g, x, transpose(g, w, {1, 0}));
  return b ? add(g, y, *b) : y;
}

Values chunks(Emit& g, Value v, Value w, int64_t n, int64_t axis) {
  auto rows = g.dim(w, 0);
  if (!rows) throw Unsupported("a recurrent cell whose hidden size is not known");
  return split(g, v, axis, Ints(static_cast<size_t>(n), *rows / n));
}

Values lstm_cell(Emit& g, Value x, Value h, Value c, Value wi, Value wh, MaybeValue bi,
                 MaybeValue bh) {
  const int64_t axis = g.rank(x) - 1;
  Values gate = chunks(g, add(g, project(g, x, wi, bi), project(g, h, wh, bh)), wi, 4, axis);
  Value input = g.node("Sigmoid", {gate[0]}), forget = g.node("Sigmoid", {gate[1]});
  Value candidate = g.node("Tanh", {gate[2]}), output = g.node("Sigmoid", {gate[3]});
  Value next = add(g, mul(g, forget, c), mul(g, input, candidate));
  return {mul(g, output, g.node("Tanh", {next})), next};
}

Value gru_cell(Emit& g, Value x, Value h, Value wi, Value wh, MaybeValue bi, MaybeValue bh) {
  const int64_t axis = g.rank(x) - 1;
  Values a = chunks(g, project(g, x, wi, bi), wi, 3, axis);
  Values b = chunks(g, project(g, h, wh, bh), wh, 3, axis);
  Value reset = g.node("Sigmoid", {add(g, a[0], b[0])});
  Value update = g.node("Sigmoid", {add(g, a[1], b[1])});
  Value candidate = g.node("Tanh", {add(g, a[2], mul(g, reset, b[2]))});
  return add(g, candidate, mul(g, update, sub(g, h, candidate)));
}

template <FixedString Op>
constexpr auto plain_cell =
    [](Emit& g, Value x, Value h, Value wi, Value wh, MaybeValue bi, MaybeValue bh) {
      return g.node(Op.view(), {add(g, project(g, x, wi, bi), project(g, h, wh, bh))});
    };

constexpr Lowering table[] = {
    op("aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
       [](Emit& g, Value x, Values hx, Value wi, Value wh, MaybeValue bi, MaybeValue bh) {
         return lstm_cell(g, x, hx.at(0), hx.at(1), wi, wh, bi, bh);
       }),
    op("aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       [](Emit& g, Value x, Value h, Value wi, Value wh, MaybeValue bi, MaybeValue bh) {
         return gru_cell(g, x, h, wi, wh, bi, bh);
       }),
    op("aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       plain_cell<"Tanh">),
    op("aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
       plain_cell<"Relu">),
};

}  // namespace

Table rnn_cells_rows() { return table; }

}  // namespace oe::lower
