// Einstein summation as transposes, products and sums: the ONNX operator exists only from opset 12.
#include <algorithm>
#include <map>
#include <string>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Labels are letters; the axes of "..." are numbered from the right as 256, 257, ...
using Labels = std::vector<int>;
constexpr int ellipsis = 256;

struct Operand {
  T value;
  Labels labels;
  std::map<int, Int> size;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool explicit_output = false;
};

Equation parse(const std::string& text) {
  Equation e;
  std::string s;
  for (char c : text)
    if (c != ' ') s.push_back(c);
  const size_t arrow = s.find("->");
  e.explicit_output = arrow != std::string::npos;
  if (e.explicit_output) e.output = s.substr(arrow + 2);
  std::string left = s.substr(0, arrow), part;
  for (char c : left) {
    if (c == ',') {
      e.inputs.push_back(std::move(part));
      part.clear();
    } else {
      part.push_back(c);
    }
  }
  e.inputs.push_back(std::move(part));
  return e;
}

// `axes`: how many axes "..." stands for here.
Labels labels_of(const std::string& term, int axes) {
  Labels r;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      for (int k = axes; k-- > 0;) r.push_back(ellipsis + k);
      i += 2;
    } else {
      r.push_back(term[i]);
    }
  }
  return r;
}

bool has(const Labels& l, int label) { return std::find(l.begin(), l.end(), label) != l.end(); }
int64_t position(const Labels& l, int label) {
  return std::find(l.begin(), l.end(), label) - l.begin();
}

void drop_axis(Operand& o, int64_t axis) { o.labels.erase(o.labels.begin() + axis); }

bool dim_is_one(T v, int64_t axis) {
  const Dim& d = v->type.shape->at(static_cast<size_t>(axis));
  return d.is_number() && d.number == 1;
}

// "ii": keeps the diagonal of each repeated label.
void take_diagonals(Call& g, Operand& o) {
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
  for (int l : labels) axes.push_back(position(o.labels, l));
  if (axes.empty()) return;
  std::sort(axes.begin(), axes.end());
  o.value = reduce("ReduceSum", o.value, axes, false);
  for (size_t i = axes.size(); i-- > 0;) drop_axis(o, axes[i]);
}

void arrange(Operand& o, const Labels& order) {
  Ints perm;
  for (int l : order) perm.push_back(position(o.labels, l));
  o.value = transpose(o.value, perm);
  o.labels = order;
}

Labels join(std::initializer_list<const Labels*> parts) {
  Labels r;
  for (const Labels* p : parts) r.insert(r.end(), p->begin(), p->end());
  return r;
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
  std::map<int, Int> size = a.size;
  for (const auto& [l, n] : b.size)
    if (!size.count(l) || size[l].known == 1) size[l] = n;
  auto one = [](const Operand& o, int l) { return o.size.at(l).known == 1; };
  Labels only_a, only_b;
  for (int l : a.labels) {
    const bool shared = has(b.labels, l);
    // Of a broadcast pair the longer side can be summed on its own.
    if (!has(wanted, l) && (!shared || one(b, l))) only_a.push_back(l);
  }
  for (int l : b.labels)
    if (!has(wanted, l) && (!has(a.labels, l) || (one(a, l) && !one(b, l)))) only_b.push_back(l);
  Labels shared_a, shared_b;
  for (int l : only_a)
    if (has(b.labels, l)) shared_a.push_back(l);
  for (int l : only_b)
    if (has(a.labels, l)) shared_b.push_back(l);
  sum_out(a, join({&only_a, &shared_b}));
  sum_out(b, join({&only_b, &shared_a}));

  Labels batch, inner, rows, columns;
  for (int l : a.labels) {
    if (!has(b.labels, l))
      rows.push_back(l);
    else
      (has(wanted, l) ? batch : inner).push_back(l);
  }
  for (int l : b.labels)
    if (!has(a.labels, l)) columns.push_back(l);
  Operand r;
  if (inner.empty()) {
    r = multiply(a, b, join({&batch, &rows, &columns}));
  } else {
    auto fold = [&](Operand& o, const Labels& second, const Labels& third) {
      arrange(o, join({&batch, &second, &third}));
      if (second.size() == 1 && third.size() == 1) return;
      Dims shape, tail{known(1), known(1)};
      for (int l : batch) shape.push_back(o.size.at(l));
      for (int l : second) tail[0] = tail[0] * size[l];
      for (int l : third) tail[1] = tail[1] * size[l];
      shape.push_back(tail[0]);
      shape.push_back(tail[1]);
      o.value = reshape(o.value, shape);
    };
    fold(a, rows, inner);
    fold(b, inner, columns);
    r = {matmul(a.value, b.value), join({&batch, &rows, &columns}), {}};
    if (rows.size() != 1 || columns.size() != 1) {
      Dims shape;
      for (int l : r.labels) shape.push_back(size[l]);
      r.value = reshape(r.value, shape);
    }
  }
  r.size = size;
  return r;
}

// Operands whose sizes for a label may differ get the longer one: it is not known before the run
// which of them is the one of size 1, and products of matrices repeat no inner axis.
void agree(std::vector<Operand>& operands) {
  struct Place {
    Operand* operand;
    int64_t axis;
  };
  std::map<int, std::vector<Place>> places;
  for (Operand& o : operands)
    for (size_t i = 0; i < o.labels.size(); ++i)
      places[o.labels[i]].push_back({&o, static_cast<int64_t>(i)});
  for (auto& [label, all] : places) {
    std::erase_if(all, [](const Place& p) { return dim_is_one(p.operand->value, p.axis); });
    const bool same = std::all_of(all.begin(), all.end(), [&](const Place& p) {
      return same_dim(p.operand->value, p.axis, all[0].operand->value, all[0].axis);
    });
    if (all.size() < 2 || same) continue;
    Int size = known(1);
    for (const Place& p : all) size = broadcast_size(size, p.operand->size.at(label));
    for (const Place& p : all) {
      p.operand->value = widened(p.operand->value, p.axis, size);
      p.operand->size[label] = size;
    }
  }
}

T einsum(Call& g, const std::string& equation, const Values& tensors, Rest) {
  Equation e = parse(equation);
  const DType t = g.result_dtype();
  // MatMul has no small integers.
  const DType work = t == DType::UInt8 || t == DType::Int8 || t == DType::Int16 ? DType::Int32 : t;
  std::vector<Operand> operands;
  int widest = 0;
  std::map<int, int> uses;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& term = e.inputs.at(i);
    const int64_t rank = tensors[i].rank();
    const bool dots = term.find('.') != std::string::npos;
    const int axes = dots ? static_cast<int>(rank - (static_cast<int64_t>(term.size()) - 3)) : 0;
    widest = std::max(widest, axes);
    Operand o{
        with_dims(cast(tensors[i], work), *tensors[i]->type.shape), labels_of(term, axes), {}};
    for (int64_t k = 0; k < rank; ++k) {
      Int n = size_of(tensors[i], k);
      Int& have = o.size[o.labels.at(static_cast<size_t>(k))];
      if (!have.known) have = n;
    }
    for (int l : o.labels) ++uses[l];
    operands.push_back(std::move(o));
  }
  Labels output;
  if (e.explicit_output) {
    output = labels_of(e.output, widest);
  } else {  // the ellipsis, then every label used once, in alphabetical order
    output = labels_of("...", widest);
    for (const auto& [l, n] : uses)
      if (n == 1 && l < ellipsis) output.push_back(l);
  }
  agree(operands);
  for (Operand& o : operands) take_diagonals(g, o);
  Operand r = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    Labels wanted = output;
    for (size_t k = i + 1; k < operands.size(); ++k) wanted = join({&wanted, &operands[k].labels});
    r = contract(r, operands[i], wanted);
  }
  Labels rest;
  for (int l : r.labels)
    if (!has(output, l)) rest.push_back(l);
  sum_out(r, rest);
  // "..." in the output may stand for axes that no operand has here: then it stands for nothing.
  Labels order;
  for (int l : output)
    if (has(r.labels, l)) order.push_back(l);
  arrange(r, order);
  return cast(r.value, t);
}

constexpr Lowering table[] = {
    // The contraction order in `path` changes rounding only.
    op<einsum>("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"),
};

}  // namespace

Table einsum_rows() { return table; }

}  // namespace oe::lower
