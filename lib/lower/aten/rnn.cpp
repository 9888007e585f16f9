// Recurrent layers: https://onnx.ai/onnx/operators/onnx__LSTM.html, onnx__GRU.html, onnx__RNN.html.
#include "lib/lower/aten/rnn.h"

#include <string>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// One kind of layer: its ONNX operator and the order of its gates there.
struct Kind {
  std::string_view op;
  Ints gates;              // ONNX position -> PyTorch position
  std::string activation;  // of the plain RNN
};

Kind lstm_kind() { return {"LSTM", {0, 3, 1, 2}, {}}; }  // i f g o -> i o f c
Kind gru_kind() { return {"GRU", {1, 0, 2}, {}}; }       // r z n -> z r h
Kind rnn_kind(std::string activation) { return {"RNN", {0}, std::move(activation)}; }

struct Layers {
  Values params;  // per layer and direction: w_ih, w_hh, then b_ih, b_hh, then w_hr
  bool biases = true;
  int64_t layers = 1;
  bool bidirectional = false;
  int64_t directions() const { return bidirectional ? 2 : 1; }
};

// [gates * H, ...] with the gates in ONNX order.
T reorder(Call& g, T w, const Kind& k, int64_t hidden, int64_t rank) {
  if (k.gates.size() == 1) return w;
  Ints split{static_cast<int64_t>(k.gates.size()), hidden}, joined{-1};
  if (rank == 2) {
    const int64_t columns = w.dim(1).value_or(-1);
    split.push_back(columns);
    joined = {static_cast<int64_t>(k.gates.size()) * hidden, columns};
  }
  return reshape(gather(reshape(w, split), g.i64s(k.gates), 0), joined);
}

struct Weights {
  T w, r, b = nullptr;
};

// Index in `params` of the first parameter of one direction of one layer.
size_t first_param(const Layers& l, int64_t layer, int64_t direction, bool projected) {
  const size_t each = 2 + (l.biases ? 2 : 0) + (projected ? 1 : 0);
  return static_cast<size_t>(layer * l.directions() + direction) * each;
}

// The parameters of the directions [from, to) of one layer, stacked on a new first axis.
Weights weights(Call& g, const Layers& l, const Kind& k, int64_t layer, int64_t hidden,
                int64_t from, int64_t to, bool projected) {
  Values w, r, b;
  for (int64_t d = from; d < to; ++d) {
    const size_t at = first_param(l, layer, d, projected);
    w.push_back(unsqueeze(reorder(g, l.params.at(at), k, hidden, 2), {0}));
    r.push_back(unsqueeze(reorder(g, l.params.at(at + 1), k, hidden, 2), {0}));
    if (l.biases) {
      T ih = reorder(g, l.params.at(at + 2), k, hidden, 1);
      T hh = reorder(g, l.params.at(at + 3), k, hidden, 1);
      b.push_back(unsqueeze(concat({ih, hh}, 0), {0}));
    }
  }
  Weights out{concat(w, 0), concat(r, 0)};
  if (l.biases) out.b = concat(b, 0);
  return out;
}

// The entries of a state that belong to one layer.
T layer_state(T state, const Layers& l, int64_t layer) {
  if (!state || l.layers == 1) return state;
  const int64_t d = l.directions();
  return slice(state, 0, known(layer * d), known((layer + 1) * d));
}

// LSTM whose output is projected, h = P * (o * tanh(c)), P: [projection, H]. ONNX has none, but the
// recurrence R * h is (R * P) * (o * tanh(c)): an LSTM of the unprojected output. Only the first
// step is different, R * h0; there h0 comes in as additional input, whose weights are R.
Values run_projected(Call& g, T x, T h0, T c0, const Layers& l, int64_t hidden, T lengths) {
  const Kind k = lstm_kind();
  T last = (lengths ? cast(lengths, DType::Int64) : unsqueeze(size(x, 0), {0})) - 1;
  T step = unsqueeze(g.iota(computed(size(x, 0))), {1, 2});
  Values hs, cs;
  for (int64_t layer = 0; layer < l.layers; ++layer) {
    Values ys;
    for (int64_t d = 0; d < l.directions(); ++d) {
      const int64_t entry = layer * l.directions() + d;
      Weights w = weights(g, l, k, layer, hidden, d, d + 1, true);
      T p = l.params.at(first_param(l, layer, d, true) + (l.biases ? 4 : 2));
      T first = d == 0 ? g.i64(0) : unsqueeze(last, {0, 2});
      T h = slice(h0, 0, known(entry), known(entry + 1));
      T start = where(equal(step, first), h, 0);
      Values in{concat({x, start}, 2),
                concat({w.w, w.r}, 2),
                matmul(w.r, p),
                w.b,
                lengths,
                nullptr,
                slice(c0, 0, known(entry), known(entry + 1))};
      Values out = nodes(
          "LSTM", in,
          {{"hidden_size", hidden}, {"direction", std::string(d == 0 ? "forward" : "reverse")}}, 3);
      T pt = transpose(p, {1, 0});
      ys.push_back(matmul(squeeze(out[0], {1}), pt));
      hs.push_back(matmul(out[1], pt));
      cs.push_back(out[2]);
    }
    x = concat(ys, 2);
  }
  return {x, concat(hs, 0), concat(cs, 0)};
}

// Runs all layers over x [T, B, I]; `lengths` (int32 [B]) may be null. Returns the output
// [T, B, directions * H] and the final states, layer by layer.
Values run(Call& g, T x, T h0, T c0, const Layers& l, const Kind& k, T lengths) {
  const int64_t gates = static_cast<int64_t>(k.gates.size());
  auto rows = l.params.at(0).dim(0);
  auto recurrent = l.params.at(1).dim(1);
  if (!rows || !recurrent) throw Unsupported("a recurrent layer whose hidden size is not known");
  const int64_t hidden = *rows / gates;
  if (*recurrent != hidden) return run_projected(g, x, h0, c0, l, hidden, lengths);
  Values hs, cs;
  for (int64_t layer = 0; layer < l.layers; ++layer) {
    const Weights w = weights(g, l, k, layer, hidden, 0, l.directions(), false);
    ir::Attributes a{{"hidden_size", hidden},
                     {"direction", std::string(l.bidirectional ? "bidirectional" : "forward")}};
    if (k.op == "GRU") a.set("linear_before_reset", int64_t{1});
    if (!k.activation.empty())
      a.set("activations", ir::Strings(static_cast<size_t>(l.directions()), k.activation));
    Values in{x, w.w, w.r, w.b, lengths, layer_state(h0, l, layer)};
    if (c0) in.push_back(layer_state(c0, l, layer));
    Values out = nodes(k.op, in, std::move(a), c0 ? 3 : 2);
    // [T, directions, B, H] -> [T, B, directions * H]
    x = l.bidirectional ? reshape(transpose(out[0], {0, 2, 1, 3}), Ints{0, 0, 2 * hidden})
                        : squeeze(out[0], {1});
    hs.push_back(out[1]);
    if (c0) cs.push_back(out[2]);
  }
  Values result{x, concat(hs, 0)};
  if (c0) result.push_back(concat(cs, 0));
  return result;
}

void refuse_dropout(double dropout, bool train, int64_t layers) {
  if (train && dropout > 0 && layers > 1)
    throw Unsupported("dropout between recurrent layers in training mode is random");
}

// x [T, B, I], or [B, T, I] when batch_first.
Values padded(Call& g, T x, T h0, T c0, const Layers& l, const Kind& k, bool batch_first) {
  const DType t = g.result_dtype();
  // LibTorch's own kernel of rnn takes several batch axes.
  if (x.rank() != 3)
    throw Unsupported("an input of rank " + std::to_string(x.rank()) +
                      ": ONNX has recurrent layers for rank 3 only");
  x = cast(x, t);
  if (batch_first) x = transpose(x, {1, 0, 2});
  Values y = run(g, x, h0, c0, l, k, nullptr);
  if (batch_first) y[0] = transpose(y[0], {1, 0, 2});
  return y;
}

// Packed data is padded, run with the sequences' lengths, and packed again.
Values packed(Call& g, T data, T batch_sizes, T h0, T c0, const Layers& l, const Kind& k) {
  T sizes = cast(batch_sizes, DType::Int64);
  T mask = step_mask(g, sizes);
  T x = pad_packed(g, data, sizes, number(0, data), 1);
  T lengths = cast(lengths_of(mask), DType::Int32);
  Values y = run(g, x, h0, c0, l, k, lengths);
  y[0] = pack(g, y[0], mask, 1);
  return y;
}

Values lstm_input(Call& g, T x, const Values& hx, const Values& params, bool biases, int64_t layers,
                  double dropout, bool train, bool bidirectional, bool batch_first) {
  refuse_dropout(dropout, train, layers);
  return padded(g, x, hx.at(0), hx.at(1), {params, biases, layers, bidirectional}, lstm_kind(),
                batch_first);
}
Values lstm_data(Call& g, T data, T sizes, const Values& hx, const Values& params, bool biases,
                 int64_t layers, double dropout, bool train, bool bidirectional) {
  refuse_dropout(dropout, train, layers);
  return packed(g, data, sizes, hx.at(0), hx.at(1), {params, biases, layers, bidirectional},
                lstm_kind());
}

enum class Cell { Gru, Tanh, Relu };
Kind kind(Cell c) {
  return c == Cell::Gru ? gru_kind() : rnn_kind(c == Cell::Tanh ? "Tanh" : "Relu");
}
template <Cell C>
Values cell_input(Call& g, T x, T hx, const Values& params, bool biases, int64_t layers,
                  double dropout, bool train, bool bidirectional, bool batch_first) {
  refuse_dropout(dropout, train, layers);
  return padded(g, x, hx, nullptr, {params, biases, layers, bidirectional}, kind(C), batch_first);
}
template <Cell C>
Values cell_data(Call& g, T data, T sizes, T hx, const Values& params, bool biases, int64_t layers,
                 double dropout, bool train, bool bidirectional) {
  refuse_dropout(dropout, train, layers);
  return packed(g, data, sizes, hx, nullptr, {params, biases, layers, bidirectional}, kind(C));
}

constexpr Lowering table[] = {
    op<lstm_input>(
        "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)"),
    op<lstm_data>(
        "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)"),
    op<cell_input<Cell::Gru>>(
        "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    op<cell_data<Cell::Gru>>(
        "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
    op<cell_input<Cell::Tanh>>(
        "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    op<cell_data<Cell::Tanh>>(
        "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
    op<cell_input<Cell::Relu>>(
        "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    op<cell_data<Cell::Relu>>(
        "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
};

}  // namespace

Table rnn_rows() { return table; }

}  // namespace oe::lower
