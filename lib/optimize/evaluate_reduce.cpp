// Evaluation of reductions of integers: exact whatever the order of summation.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

template <class T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T product(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

struct Sum {
  static constexpr bool kEmpty = true;  // whether a reduction of nothing has a value
  template <class T>
  static constexpr T start = 0;
  template <class T>
  static T run(T a, T b) {
    return sum(a, b);
  }
};
struct Prod {
  static constexpr bool kEmpty = true;
  template <class T>
  static constexpr T start = 1;
  template <class T>
  static T run(T a, T b) {
    return product(a, b);
  }
};
struct Largest {
  static constexpr bool kEmpty = false;
  template <class T>
  static constexpr T start = std::numeric_limits<T>::lowest();
  template <class T>
  static T run(T a, T b) {
    return std::max(a, b);
  }
};
struct Smallest {
  static constexpr bool kEmpty = false;
  template <class T>
  static constexpr T start = std::numeric_limits<T>::max();
  template <class T>
  static T run(T a, T b) {
    return std::min(a, b);
  }
};

template <class Op>
TensorPtr reduce(const Node& n, const Inputs& in, int64_t limit) {
  const TensorPtr& x = in[0];
  const auto rank = static_cast<int64_t>(x->dims().size());
  auto axes = axes_of(in.size() > 1 ? in[1] : nullptr, rank);
  // ONNX Runtime reduces int32 and int64; narrower types stay computed.
  if (!axes || (x->dtype() != DType::Int64 && x->dtype() != DType::Int32)) return nullptr;
  if (axes->empty()) {
    if (n.attributes.get_or<int64_t>("noop_with_empty_axes", 0)) return x;
    for (int64_t i = 0; i < rank; ++i) axes->push_back(i);
  }
  const bool keep = n.attributes.get_or<int64_t>("keepdims", 1);
  Dims kept = x->dims(), dims;
  bool empty = false;
  for (int64_t a : *axes) {
    empty |= kept[a] == 0;
    kept[a] = 1;
  }
  for (int64_t i = 0; i < rank; ++i)
    if (keep || !std::binary_search(axes->begin(), axes->end(), i)) dims.push_back(kept[i]);
  if ((empty && !Op::kEmpty) || !fits(x->dims(), x->dtype(), limit) ||
      !fits(dims, x->dtype(), limit))
    return nullptr;
  Builder out(x->dtype(), dims);
  // Strides of the result as the input's positions see it: 0 along reduced axes.
  const Dims into = broadcast_strides(kept, x->dims());
  dispatch(x->dtype(), [&](auto element) {
    using T = decltype(element);
    const T* v = x->values<T>().data();
    T* r = out.data<T>();
    std::fill(r, r + count(dims), Op::template start<T>);
    for_each_pair(x->dims(), into, into,
                  [&](int64_t i, int64_t o, int64_t) { r[o] = Op::template run<T>(r[o], v[i]); });
    return true;
  });
  return std::move(out).finish();
}

constexpr std::array kReductions = {
    EvaluatorRow{"ReduceSum", reduce<Sum>},
    EvaluatorRow{"ReduceProd", reduce<Prod>},
    EvaluatorRow{"ReduceMax", reduce<Largest>},
    EvaluatorRow{"ReduceMin", reduce<Smallest>},
};

}  // namespace

std::span<const EvaluatorRow> reduction_evaluators() { return kReductions; }

}  // namespace oe::optimize
