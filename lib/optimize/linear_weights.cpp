// New weights for linear operators: computed in float64 and rounded once.
#include "lib/optimize/linear_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace oe::optimize {

using namespace ir;

namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // of changed weights, in one run of a pass

bool is_zero(const Numbers& v) {
  return std::ranges::all_of(v, [](double x) { return x == 0; });
}

}  // namespace

bool finite(const Numbers& v) {
  return std::ranges::all_of(v, [](double x) { return std::isfinite(x); });
}

bool is_padded(const Node& n) {
  if (n.attributes.get_or<std::string>("auto_pad", "NOTSET") != "NOTSET") return true;
  const auto* pads = n.attributes.get<Ints>("pads");
  return pads && std::ranges::any_of(*pads, [](int64_t p) { return p != 0; });
}

bool is_foldable(DType t) { return t == DType::Float || t == DType::Double; }

TensorPtr tensor_of(const Numbers& v, std::vector<int64_t> dims, DType t) {
  if (t == DType::Double) return Tensor::of<double>(t, std::move(dims), v);
  return Tensor::of<float>(t, std::move(dims), std::vector<float>(v.begin(), v.end()));
}

// The weight is [M, C / group, ...] for Conv, [C, M / group, ...] for ConvTranspose, and a matrix
// for Gemm and MatMul: its rows are channels of the result or of the input.
struct LinearWeights::Layout {
  size_t rows, columns, kernel, groups;
  bool by_result;

  Layout(const Node& n, const Tensor& w)
      : rows(static_cast<size_t>(w.dims()[0])),
        columns(static_cast<size_t>(w.dims()[1])),
        kernel(static_cast<size_t>(w.numel()) / (rows * columns)),
        groups(static_cast<size_t>(n.attributes.get_or<int64_t>("group", 1))),
        by_result(n.is("Conv") ||
                  (n.is("Gemm") && n.attributes.get_or<int64_t>("transB", 0) != 0)) {}
  Channels channels() const {
    const size_t other = columns * groups;
    return by_result ? Channels{rows, other} : Channels{other, rows};
  }
  // Calls with each element, and its channels in the result and in the input.
  template <class F>
  void for_each(const F& f) const {
    for (size_t row = 0, i = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        const size_t other = row / (rows / groups) * columns + column;
        const size_t out = by_result ? row : other, in = by_result ? other : row;
        for (size_t k = 0; k < kernel; ++k, ++i) f(i, out, in);
      }
  }
};

// The elements are in one of two vectors, by the type of the weight: weights are large.
struct LinearWeights::Weights {
  TensorPtr old;
  Layout layout;
  std::vector<float> singles;
  Numbers doubles;
  Numbers bias;  // zeros where there is none

  Weights(const TensorPtr& w, const Node& n) : old(w), layout(n, *w) {
    if (w->dtype() == DType::Float) {
      singles.resize(static_cast<size_t>(w->numel()));
      std::memcpy(singles.data(), w->data(), w->nbytes());
    } else {
      doubles = w->as_double();
    }
    bias.resize(layout.channels().results, 0);
  }
  // Each element w becomes f(w, its channel in the result, its channel in the input).
  template <class F>
  void map(const F& f) {
    layout.for_each([&](size_t i, size_t out, size_t in) {
      if (singles.empty())
        doubles[i] = f(doubles[i], out, in);
      else
        singles[i] = static_cast<float>(f(static_cast<double>(singles[i]), out, in));
    });
  }
  bool is_finite() const {
    return finite(doubles) && finite(bias) &&
           std::ranges::all_of(singles, [](float x) { return std::isfinite(x); });
  }
  TensorPtr data() const {
    return singles.empty() ? Tensor::of<double>(DType::Double, old->dims(), doubles)
                           : Tensor::of<float>(DType::Float, old->dims(), singles);
  }
};

bool LinearWeights::is_linear(const Node& n) const {
  if (n.is("Gemm"))
    return n.attributes.get_or<float>("alpha", 1) == 1 &&
           n.attributes.get_or<float>("beta", 1) == 1 &&
           n.attributes.get_or<int64_t>("transA", 0) == 0;
  return n.is("Conv") || n.is("ConvTranspose") || n.is("MatMul");
}

std::optional<LinearWeights::Channels> LinearWeights::channels(const Node& n) const {
  if (!is_linear(n)) return std::nullopt;
  const TensorPtr w = r_.constant(n.inputs[1]);
  if (!w || !is_foldable(w->dtype()) || w->numel() == 0 || w->dims().size() < 2 ||
      (n.is("MatMul") && w->dims().size() != 2))
    return std::nullopt;
  return Layout(n, *w).channels();
}

std::optional<LinearWeights::Weights> LinearWeights::weights(const Node& n) const {
  if (!channels(n)) return std::nullopt;
  const TensorPtr w = r_.constant(n.inputs[1]);
  if (bytes_ + w->nbytes() > kMostBytes) return std::nullopt;
  Weights out(w, n);
  if (!n.input(2)) return out;
  const TensorPtr b = r_.constant(n.inputs[2]);
  if (!b || b->dtype() != w->dtype() || b->numel() != static_cast<int64_t>(out.bias.size()))
    return std::nullopt;
  out.bias = b->as_double();
  return out;
}

bool LinearWeights::set(Node& n, const Weights& w) {
  const bool has_bias = !n.is("MatMul");
  if (!w.is_finite() || (!has_bias && !is_zero(w.bias))) return false;
  bytes_ += w.old->nbytes();
  const std::string name = n.inputs[1]->name;
  std::string bias_name = n.input(2) ? n.inputs[2]->name : name;
  if (bias_name == name) {
    const size_t at = name.rfind("weight");
    bias_name = at == std::string::npos ? name + ".bias" : name.substr(0, at) + "bias";
  }
  const DType type = w.old->dtype();
  const auto changed = [&](Value* from, const std::string& name, TensorPtr data) {
    if (!from || !made_.contains(from)) {
      from = r_.model().new_initializer(name + suffix_, std::move(data));
      made_.insert(from);
    } else {
      from->data = std::move(data);  // changed again: it is this node's own
    }
    return from;
  };
  n.inputs[1] = changed(n.inputs[1], name, w.data());
  if (has_bias && (n.input(2) || !is_zero(w.bias))) {
    n.inputs.resize(3);
    n.inputs[2] = changed(n.inputs[2], bias_name,
                          tensor_of(w.bias, {static_cast<int64_t>(w.bias.size())}, type));
  }
  r_.mark_changed();
  return true;
}

bool LinearWeights::map_result(Node& n, const Affine& a) {
  auto w = weights(n);
  if (!w || w->layout.channels().results != a.s.size()) return false;
  w->map([&](double x, size_t out, size_t) { return x * a.s[out]; });
  for (size_t c = 0; c < w->bias.size(); ++c) w->bias[c] = w->bias[c] * a.s[c] + a.t[c];
  return set(n, *w);
}

bool LinearWeights::map_input(Node& n, const Affine& a) {
  auto w = weights(n);
  if (!w || w->layout.channels().inputs != a.s.size()) return false;
  w->map([&](double x, size_t out, size_t in) {
    w->bias[out] += x * a.t[in];
    return x * a.s[in];
  });
  return set(n, *w);
}

}  // namespace oe::optimize
