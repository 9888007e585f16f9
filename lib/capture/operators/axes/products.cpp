// Axes of matrix products, attention and recurrent networks.
#include <algorithm>
#include <map>
#include <string>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

Axes matmul(const AxisCall& c) {
  // `self` of addmm and its like is only added to the product.
  const TensorValue& a = c.tensor({"mat1", "batch1", "mat", "vec1", "self"});
  const TensorValue& b = c.tensor({"mat2", "batch2", "vec2", "vec", "tensor", "other"});
  const size_t ra = a.axes.size(), rb = b.axes.size();
  std::vector<Axis> axes;
  if (c.op.base == "aten::addr") return std::vector<Axis>{a.axes[0], b.axes[0]};
  if (c.op.base == "aten::addbmm") return std::vector<Axis>{a.axes[1], b.axes[2]};
  std::vector<const TensorValue*> batch;
  TensorValue ba = a, bb = b;
  if (ra > 2) {
    ba.axes.resize(ra - 2);
    batch.push_back(&ba);
  }
  if (rb > 2) {
    bb.axes.resize(rb - 2);
    batch.push_back(&bb);
  }
  const size_t batch_rank = std::max(ra > 2 ? ra - 2 : 0, rb > 2 ? rb - 2 : 0);
  axes = broadcast_axes(c, batch, batch_rank);
  if (ra > 1) axes.push_back(a.axes[ra - 2]);
  if (rb > 1) axes.push_back(b.axes[rb - 1]);
  return axes;
}

Axes linear(const AxisCall& c) {
  std::vector<Axis> axes = c.self().axes;
  axes.pop_back();
  const TensorValue& weight = c.tensor({"weight"});
  if (weight.axes.size() == 2) axes.push_back(weight.axes[0]);
  return axes;
}

// The leading axes are broadcast, the last but one is the query's, the last one the values'.
Axes attention(const AxisCall& c) {
  if (c.index != 0) return std::nullopt;
  std::vector<TensorValue> leading;
  size_t rank = 0;
  for (const char* name : {"query", "key", "value"}) {
    leading.push_back(c.tensor({name}));
    std::vector<Axis>& axes = leading.back().axes;
    axes.resize(axes.size() - 2);
    // The other two have fewer heads, or are not broadcast.
    const bool flash = c.op.base == "aten::_scaled_dot_product_flash_attention_for_cpu";
    if ((flash || c.computed({"enable_gqa"}) || c.constant("enable_gqa").value_or(0) != 0) &&
        leading.size() > 1)
      axes.clear();
    rank = std::max(rank, axes.size());
  }
  if (rank + 2 != c.rank) return std::nullopt;
  std::vector<const TensorValue*> in;
  for (const TensorValue& t : leading) in.push_back(&t);
  std::vector<Axis> axes = broadcast_axes(c, in, rank);
  axes.push_back(c.tensor({"query"}).axes.end()[-2]);
  axes.push_back(c.tensor({"value"}).axes.back());
  return axes;
}
// Every letter is one axis; a size of 1 gives way to the other operand's.
Axes einsum(const AxisCall& c) {
  const AbstractValue* given = c.arg("equation");
  if (!given) return std::nullopt;  // of lists of axes
  const AbstractValue& equation = *given;
  if (!equation.is(K::String) || equation.taint != Taint::Constant) return std::nullopt;
  std::string text = equation.c.at(0).toStringRef();
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  std::map<char, std::vector<std::pair<const TensorValue*, size_t>>> letters;
  std::vector<TensorValuePtr> operands;
  for (const AbstractValue& s : c.arg("tensors")->list()->items) operands.push_back(c.read(s));
  size_t operand = 0, axis = 0;
  for (size_t i = 0; i < arrow; ++i) {
    if (text[i] == ',') {
      ++operand, axis = 0;
      continue;
    }
    if (operand >= operands.size() || axis >= operands[operand]->axes.size()) return std::nullopt;
    letters[text[i]].emplace_back(operands[operand].get(), axis++);
  }
  std::vector<Axis> axes;
  for (size_t i = arrow + 2; i < text.size(); ++i) axes.push_back(broadcast(c, letters[text[i]]));
  return axes;
}

// lstm, gru, rnn: the result, and the state after the last step.
Axes recurrent(const AxisCall& c) {
  const auto batch_first = c.constant("batch_first");
  // Packed where it has none.
  if (!batch_first || c.computed({"num_layers", "bidirectional", "has_biases"}))
    return std::nullopt;
  std::vector<Axis> axes = c.self().axes;
  if (c.rank != axes.size()) return std::nullopt;
  // As long as the state, and as the weights say: where one of them is static, it is.
  const AbstractValue& states = *c.arg("hx");
  const bool listed = states.is(K::List);
  const size_t mine = listed && c.index > 0 ? c.index - 1 : 0;
  const TensorValue& state = *c.read(listed ? states.list()->items.at(mine) : states);
  bool fixed = state.ranked && state.axes.back().is_static();
  bool weights = true;
  for (const AbstractValue& s : c.arg("params")->list()->items)
    for (const Axis& a : c.read(s)->axes) weights = weights && a.is_static();
  fixed = fixed || weights;
  // Where one of the two has a batch of one, the simple networks broadcast it.
  const size_t at = *batch_first ? 0 : 1;
  const Axis batch = c.op.base == "aten::lstm" || state.axes.size() != 3 || axes.size() != 3
                         ? axes.at(at)
                         : broadcast(c, {{&c.self(), at}, {&state, 1}});
  if (c.rank == 3) axes[at] = batch;
  const Axis features = fixed ? Axis{} : c.fresh(Taint::Shape);
  if (c.index == 0) {
    axes.back() = features;
    return axes;
  }
  if (c.rank == 3) return std::vector<Axis>{{}, batch, features};
  std::vector<Axis> unbatched(c.rank);
  unbatched.back() = features;
  return unbatched;
}

// One step of these: the state keeps its size.
Axes cell(const AxisCall& c) {
  const AbstractValue& state = *c.arg("hx");
  const AbstractValue& mine = state.is(K::List) ? state.list()->items.at(c.index) : state;
  return c.read(mine)->axes;
}

Axes outer(const AxisCall& c) {
  return std::vector<Axis>{c.self().axes[0], c.tensor({"vec2"}).axes[0]};
}

constexpr AxisRow kProducts[] = {
    {"aten::matmul", matmul},
    {"aten::mm", matmul},
    {"aten::bmm", matmul},
    {"aten::addmm", matmul},
    {"aten::addmv", matmul},
    {"aten::addr", matmul},
    {"aten::addbmm", matmul},
    {"aten::baddbmm", matmul},
    {"aten::mv", matmul},
    {"aten::dot", matmul},
    {"aten::linalg_matmul", matmul},
    {"aten::outer", outer},
    {"aten::linear", linear},
    {"onnx_export::integer_linear", linear},
    {"aten::scaled_dot_product_attention", attention},
    {"aten::_scaled_dot_product_attention_math", attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", attention},
    {"aten::einsum", einsum},
    {"aten::lstm", recurrent},
    {"aten::gru", recurrent},
    {"aten::rnn_tanh", recurrent},
    {"aten::rnn_relu", recurrent},
    {"aten::lstm_cell", cell},
    {"aten::gru_cell", cell},
    {"aten::rnn_tanh_cell", cell},
    {"aten::rnn_relu_cell", cell},
};

}  // namespace

std::span<const AxisRow> product_axes() { return kProducts; }

}  // namespace oe::capture
