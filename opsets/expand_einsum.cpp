// Einsum as transposes, products and sums.
#include <algorithm>
#include <map>
#include <string>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

using Labels = std::string;  // one letter an axis

struct Operand {
  T value;
  Labels labels;
  std::map<char, Int> size;
};

bool has(const Labels& l, char label) { return l.find(label) != Labels::npos; }
int64_t position(const Labels& l, char label) { return static_cast<int64_t>(l.find(label)); }

void drop_axis(Operand& o, int64_t axis) { o.labels.erase(o.labels.begin() + axis); }

// "ii": keeps the diagonal of each repeated label.
void take_diagonals(Builder& g, Operand& o) {
  for (size_t i = 0; i < o.labels.size(); ++i) {
    for (size_t j = i + 1; j < o.labels.size();) {
      if (o.labels[j] != o.labels[i]) {
        ++j;
        continue;
      }
      const Int& n = o.size.at(o.labels[i]);
      T rows = g.iota(n), mask = nullptr;
      Ints row_axes, column_axes;
      for (size_t k = 0; k < o.labels.size(); ++k) {
        if (k != i) row_axes.push_back(static_cast<int64_t>(k));
        if (k != j) column_axes.push_back(static_cast<int64_t>(k));
      }
      mask = equal(unsqueeze(rows, row_axes), unsqueeze(rows, column_axes));
      T kept = where(mask, o.value, 0);
      o.value = reduce("ReduceSum", kept, {static_cast<int64_t>(j)}, false);
      drop_axis(o, static_cast<int64_t>(j));
    }
  }
}

void sum_out(Operand& o, const Labels& labels) {
  Ints axes;
  for (char l : labels) axes.push_back(position(o.labels, l));
  if (axes.empty()) return;
  std::sort(axes.begin(), axes.end());
  o.value = reduce("ReduceSum", o.value, axes, false);
  for (size_t i = axes.size(); i-- > 0;) drop_axis(o, axes[i]);
}

void arrange(Operand& o, const Labels& order) {
  Ints perm;
  for (char l : order) perm.push_back(position(o.labels, l));
  o.value = transpose(o.value, perm);
  o.labels = order;
}

// Elementwise product: a label that one side lacks becomes an axis of size 1 there.
Operand multiply(Operand a, Operand b, const Labels& order) {
  auto widen = [&](Operand& o) {
    Labels own;
    Ints missing;
    for (size_t i = 0; i < order.size(); ++i) {
      if (has(o.labels, order[i]))
        own.push_back(order[i]);
      else
        missing.push_back(static_cast<int64_t>(i));
    }
    arrange(o, own);
    o.value = unsqueeze(o.value, missing);
  };
  widen(a);
  widen(b);
  return {a.value * b.value, order, {}};
}

// Contracts two operands; labels not in `wanted` are summed.
Operand contract(Operand a, Operand b, const Labels& wanted) {
  std::map<char, Int> size = a.size;
  size.insert(b.size.begin(), b.size.end());
  const auto alone = [&](const Operand& x, const Operand& other) {
    Labels labels;
    for (char l : x.labels)
      if (!has(wanted, l) && !has(other.labels, l)) labels += l;
    return labels;
  };
  const Labels only_a = alone(a, b), only_b = alone(b, a);
  sum_out(a, only_a);
  sum_out(b, only_b);

  Labels batch, inner, rows, columns;
  for (char l : a.labels) {
    if (!has(b.labels, l))
      rows.push_back(l);
    else
      (has(wanted, l) ? batch : inner).push_back(l);
  }
  for (char l : b.labels)
    if (!has(a.labels, l)) columns.push_back(l);
  Operand r;
  if (inner.empty()) {
    r = multiply(a, b, batch + rows + columns);
  } else {
    auto fold = [&](Operand& o, const Labels& second, const Labels& third) {
      arrange(o, batch + second + third);
      if (second.size() == 1 && third.size() == 1) return;
      Dims shape, tail{known(1), known(1)};
      for (char l : batch) shape.push_back(o.size.at(l));
      for (char l : second) tail[0] = tail[0] * size[l];
      for (char l : third) tail[1] = tail[1] * size[l];
      shape.push_back(tail[0]);
      shape.push_back(tail[1]);
      o.value = reshape(o.value, shape);
    };
    fold(a, rows, inner);
    fold(b, inner, columns);
    r = {matmul(a.value, b.value), batch + rows + columns, {}};
    if (rows.size() != 1 || columns.size() != 1) {
      Dims shape;
      for (char l : r.labels) shape.push_back(size[l]);
      r.value = reshape(r.value, shape);
    }
  }
  r.size = size;
  return r;
}

}  // namespace

void einsum(Rewriter& r, ir::Node& n) {
  std::string equation = n.attributes.get_or<std::string>("equation", "");
  std::erase(equation, ' ');
  if (has(equation, '.')) throw Unsupported("needs opset 12 or later for an equation with '...'");
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<Operand> operands;
  std::map<char, int> uses;
  for (size_t i = 0, from = 0; i < n.inputs.size(); ++i) {
    const size_t to = std::min(left.find(',', from), left.size());
    T x = r.in(i);
    Operand o{x, left.substr(from, to - from), {}};
    from = to + 1;
    for (int64_t k = 0; k < x.rank(); ++k) {
      Int& have = o.size[o.labels.at(static_cast<size_t>(k))];
      if (!have.known) have = size_of(x, k);
    }
    for (char l : o.labels) ++uses[l];
    operands.push_back(std::move(o));
  }
  Labels output;
  if (arrow != std::string::npos)
    output = equation.substr(arrow + 2);
  else  // every label used once, in alphabetical order
    for (const auto& [l, count] : uses)
      if (count == 1) output += l;
  for (Operand& o : operands) take_diagonals(r, o);
  Operand y = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    Labels wanted = output;
    for (size_t k = i + 1; k < operands.size(); ++k) wanted += operands[k].labels;
    y = contract(y, operands[i], wanted);
  }
  Labels rest;
  for (char l : y.labels)
    if (!has(output, l)) rest += l;
  sum_out(y, rest);
  arrange(y, output);
  r.bind(n.outputs[0], y.value);
}

}  // namespace oe::opsets
