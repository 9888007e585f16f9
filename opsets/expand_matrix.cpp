// Einsum by matrix products, and Col2Im by gathering.
#include <algorithm>
#include <set>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

struct Term {
  T value = nullptr;
  std::string labels;  // one character an axis
};

bool has(const std::string& s, char c) { return s.find(c) != std::string::npos; }

T arranged(const Term& t, const std::string& order) {
  Ints perm;
  for (char c : order) perm.push_back(static_cast<int64_t>(t.labels.find(c)));
  return transpose(t.value, perm);
}

// Sums away the labels that nobody else needs.
Term reduced(Term t, const std::string& needed) {
  Ints axes;
  std::string left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (has(needed, t.labels[i]))
      left += t.labels[i];
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return t;
  return {reduce("ReduceSum", t.value, axes, false), left};
}

Term product(Rewriter& r, Term a, Term b, const std::string& needed) {
  a = reduced(a, needed + b.labels);
  b = reduced(b, needed + a.labels);
  std::string batch, left, right, inner;
  for (char c : a.labels) (has(b.labels, c) ? (has(needed, c) ? batch : inner) : left) += c;
  for (char c : b.labels)
    if (!has(a.labels, c)) right += c;
  const auto size_of_label = [&](char c) {
    const Term& t = has(a.labels, c) ? a : b;
    return vector(size(t.value, static_cast<int64_t>(t.labels.find(c))));
  };
  const auto sizes = [&](const std::string& labels) {
    Values v;
    for (char c : labels) v.push_back(size_of_label(c));
    return v;
  };
  const auto total = [&](const std::string& labels) {
    T v = r.i64s({1});
    for (char c : labels) v = v * size_of_label(c);
    return v;
  };
  const auto folded = [&](const Term& t, const std::string& rows, const std::string& columns) {
    Values shape = sizes(batch);
    shape.push_back(total(rows));
    shape.push_back(total(columns));
    return reshape(arranged(t, batch + rows + columns), concat(shape, 0),
                   static_cast<int64_t>(batch.size()) + 2);
  };
  T m = matmul(folded(a, left, inner), folded(b, inner, right));
  const std::string labels = batch + left + right;
  const Values shape = sizes(labels);
  T y = reshape(m, shape.empty() ? r.i64s({}) : concat(shape, 0),
                static_cast<int64_t>(labels.size()));
  return {y, labels};
}

}  // namespace

void einsum(Rewriter& r, ir::Node& n) {
  std::string equation = n.attributes.get_or<std::string>("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow), output;
  if (equation.find('.') != std::string::npos)
    throw Unsupported("needs opset 12 or later for an equation with '...'");
  std::vector<Term> terms;
  for (size_t i = 0, from = 0; i < n.inputs.size(); ++i) {
    const size_t to = std::min(left.find(',', from), left.size());
    terms.push_back({r.in(i), left.substr(from, to - from)});
    from = to + 1;
    const std::string& labels = terms.back().labels;
    if (std::set<char>(labels.begin(), labels.end()).size() != labels.size())
      throw Unsupported("needs opset 12 or later for a label that occurs twice in an operand");
  }
  if (arrow != std::string::npos) {
    output = equation.substr(arrow + 2);
  } else {  // labels that occur once, in alphabetical order
    std::string all = left;
    std::erase(all, ',');
    const std::set<char> unique(all.begin(), all.end());
    for (char c : unique)
      if (std::count(all.begin(), all.end(), c) == 1) output += c;
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = output;
    for (size_t j = i + 1; j < terms.size(); ++j) needed += terms[j].labels;
    result = product(r, result, terms[i], needed);
  }
  result = reduced(result, output);
  r.bind(n.outputs[0], arranged(result, output));
}

void affine_grid(Rewriter& r, ir::Node& n) {
  T theta = r.in(0), target = r.in(1);
  const DType t = theta.dtype();
  const bool corners = n.attributes.get_or<int64_t>("align_corners", 0) != 0;
  const auto length = target.dim(0);
  if (!length) throw Unsupported("");
  const int64_t axes = *length - 2;
  const auto known = ints(target);
  // Along each axis -1 ... 1, between the centres or between the edges of the outer pixels.
  Values extents, columns;
  for (int64_t a = 0; a < axes; ++a) {
    const auto i = static_cast<size_t>(a + 2);
    extents.push_back(known ? r.i64((*known)[i]) : gather(target, r.i64(a + 2), 0));
  }
  T shape = r.i64s({});
  for (T e : extents) shape = concat({shape, vector(e)}, 0);
  for (int64_t a = axes - 1; a >= 0; --a) {  // x, the last axis, comes first
    T count = extents[static_cast<size_t>(a)];
    T i = cast(arange(count), t), one = r.number(1, t), two = r.number(2, t), x = nullptr;
    if (corners) {
      T last = cast(clamp(r, count - 1, r.i64(1), nullptr), t);
      x = i * two / last - one;
    } else {
      T odd = i * two + one;
      x = odd / cast(count, t) - one;
    }
    Ints others;
    for (int64_t b = 0; b <= axes; ++b)
      if (b != a) others.push_back(b);
    columns.push_back(expand(unsqueeze(x, others), concat({shape, r.i64s({1})}, 0)));
  }
  columns.push_back(full(concat({shape, r.i64s({1})}, 0), r.number(1, t)));
  T points = reshape(concat(columns, axes), Ints{-1, axes + 1});
  T grid = matmul(points, transpose(theta, {0, 2, 1}));
  T result = concat({vector(size(theta, 0)), shape, r.i64s({axes})}, 0);
  r.bind(n.outputs[0], reshape(grid, result, axes + 2));
}

namespace {

// One axis of Col2Im: `counts` blocks of `block` places each, over an image with padding.
struct BlockAxis {
  int64_t image, block, stride, dilation, low, counts;
};

// [image, k]: the places, [block, counts] in a row, that add to each element of the axis; what has
// fewer than k ends with the place behind all of them, where a zero is.
TensorPtr contributions(const BlockAxis& b) {
  std::vector<Ints> lists(static_cast<size_t>(b.image));
  size_t width = 1;
  for (int64_t p = 0; p < b.block; ++p)
    for (int64_t c = 0; c < b.counts; ++c) {
      const int64_t at = c * b.stride + p * b.dilation - b.low;
      if (at < 0 || at >= b.image) continue;
      Ints& list = lists[static_cast<size_t>(at)];
      list.push_back(p * b.counts + c);
      width = std::max(width, list.size());
    }
  Ints table;
  for (Ints& list : lists) {
    list.resize(width, b.block * b.counts);
    table.insert(table.end(), list.begin(), list.end());
  }
  return Tensor::of<int64_t>(DType::Int64, {b.image, static_cast<int64_t>(width)}, table);
}

}  // namespace

// Axis by axis every element of the image gathers what adds to it.
void col_to_im(Rewriter& r, ir::Node& n) {
  const auto image = ints(r.in(1)), block = ints(r.in(2));
  if (!image || !block) throw Unsupported("needs opset 18 or later where the sizes are computed");
  T x = r.in(0);
  const size_t axes = image->size();
  const auto strides = n.attributes.get_or<Ints>("strides", Ints(axes, 1));
  const auto dilations = n.attributes.get_or<Ints>("dilations", Ints(axes, 1));
  const auto pads = n.attributes.get_or<Ints>("pads", Ints(2 * axes, 0));
  std::vector<BlockAxis> all;
  Ints apart = {0, -1}, perm = {0, 1}, joined = {0, 0};
  for (size_t i = 0; i < axes; ++i) {
    BlockAxis b{(*image)[i], (*block)[i], strides[i], dilations[i], pads[i], 0};
    const int64_t canvas = b.image + pads[i] + pads[i + axes];
    b.counts = (canvas - b.dilation * (b.block - 1) - 1) / b.stride + 1;
    all.push_back(b);
    apart.push_back(b.block);
    perm.push_back(static_cast<int64_t>(2 + i));
    perm.push_back(static_cast<int64_t>(2 + axes + i));
    joined.push_back(b.block * b.counts);
  }
  for (const BlockAxis& b : all) apart.push_back(b.counts);
  T y = reshape(transpose(reshape(x, apart), perm), joined);
  const auto rank = static_cast<int64_t>(axes) + 2;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    Ints behind(static_cast<size_t>(2 * rank), 0);
    behind[static_cast<size_t>(rank + axis)] = 1;
    y = node("Pad", {y, r.i64s(behind)}, {}, ranked(x.dtype(), rank));
    y = gather(y, r.tensor(contributions(all[i])), axis);
    y = reduce("ReduceSum", y, {axis + 1}, false);
  }
  y->type = ranked(x.dtype(), rank);
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
