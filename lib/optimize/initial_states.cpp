// LSTM, GRU and RNN start with zeros where no initial state is given.
//
//   h = ConstantOfShape (s)
//   y = LSTM (x, w, r, b, , h, h)    =>  y = LSTM (x, w, r, b)
#include <algorithm>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

constexpr int kMostSteps = 16;

bool is_zero(const Tensor& t) {
  return t.numel() <= 1 << 16 && is_float(t.dtype()) && byte_size(t.dtype()) >= 2 &&
         std::ranges::all_of(t.as_double(), [](double v) { return v == 0; });
}

// Whether every element is 0, by the nodes that move them.
bool is_zeros(const Rewriter& r, const Value* v, int steps = kMostSteps) {
  if (!v || steps == 0) return false;
  if (const TensorPtr t = r.constant(v)) return is_zero(*t);
  const Node* n = v->producer;
  if (!n) return false;
  if (n->is("ConstantOfShape")) {
    const auto* value = n->attributes.get<TensorPtr>("value");
    return !value || is_zero(**value);
  }
  for (const char* op : {"Identity", "Reshape", "Transpose", "Slice", "Expand", "Unsqueeze",
                         "Squeeze", "Tile", "Gather", "Split"})
    if (n->is(op)) return is_zeros(r, n->input(0), steps - 1);
  return n->is("Concat") && n->inputs.size() <= 4 &&
         std::ranges::all_of(n->inputs,
                             [&](const Value* part) { return is_zeros(r, part, steps / 4); });
}

}  // namespace

bool drop_initial_states(Model& m, const Options&) {
  Rewriter r(m);
  return r.walk([&](Node& n) {
    if (!n.is("LSTM") && !n.is("GRU") && !n.is("RNN")) return;
    for (const size_t i : {6, 5}) {
      if (!n.input(i) || !is_zeros(r, n.input(i))) continue;
      n.inputs[i] = nullptr;
      r.mark_changed();
    }
    while (n.inputs.size() > 3 && !n.inputs.back()) n.inputs.pop_back();
  });
}

}  // namespace oe::optimize
