// Evaluation of elementwise operators: integers wrap, division by zero is refused, float and double
// only where IEEE arithmetic leaves no choice.
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

// Integer arithmetic wraps; unsigned 64-bit arithmetic does that without undefined behaviour.
template <class T>
uint64_t bits(T v) {
  return static_cast<uint64_t>(v);
}

struct Add {
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>)
      r = static_cast<T>(bits(a) + bits(b));
    else
      r = a + b;
    return true;
  }
};
struct Sub {
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>)
      r = static_cast<T>(bits(a) - bits(b));
    else
      r = a - b;
    return true;
  }
};
struct Mul {
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>)
      r = static_cast<T>(bits(a) * bits(b));
    else
      r = a * b;
    return true;
  }
};

template <class T>
bool divides(T a, T b) {  // whether a / b is defined for integers
  if (b == 0) return false;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1) && a == std::numeric_limits<T>::min()) return false;
  return true;
}

struct Div {  // integers truncate toward zero
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>) {
      if (!divides(a, b)) return false;
    }
    r = static_cast<T>(a / b);
    return true;
  }
};
struct Mod {  // the sign of the divisor, as Python's %
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>) {
      if (!divides(a, b)) return false;
      r = static_cast<T>(a % b);
      if (r != 0 && ((r < 0) != (b < 0))) r = static_cast<T>(r + b);
      return true;
    } else {
      return false;
    }
  }
};
struct Fmod {  // the sign of the dividend, as C's %
  template <class T>
  static bool run(T a, T b, T& r) {
    if constexpr (std::is_integral_v<T>) {
      if (!divides(a, b)) return false;
      r = static_cast<T>(a % b);
    } else {
      r = std::fmod(a, b);
    }
    return true;
  }
};
struct Min {
  template <class T>
  static bool run(T a, T b, T& r) {
    r = a < b ? a : b;
    return std::is_integral_v<T>;
  }
};
struct Max {
  template <class T>
  static bool run(T a, T b, T& r) {
    r = a > b ? a : b;
    return std::is_integral_v<T>;
  }
};
struct Equal {
  template <class T>
  static bool run(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  static bool run(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool run(T a, T b) {
    return a <= b;
  }
};
struct And {
  static bool run(uint8_t a, uint8_t b) { return a && b; }
};
struct Or {
  static bool run(uint8_t a, uint8_t b) { return a || b; }
};
struct Xor {
  static bool run(uint8_t a, uint8_t b) { return !a != !b; }
};

TensorPtr cleared(bool ok, Builder&& b) { return ok ? std::move(b).finish() : nullptr; }

template <class Op>
TensorPtr arithmetic_pair(const Tensor& a, const Tensor& b, int64_t limit) {
  auto dims = broadcast(a.dims(), b.dims());
  if (!dims || a.dtype() != b.dtype() || !fits(*dims, a.dtype(), limit)) return nullptr;
  Builder out(a.dtype(), *dims);
  const Dims from_a = broadcast_strides(a.dims(), *dims);
  const Dims from_b = broadcast_strides(b.dims(), *dims);
  const bool ok = dispatch(a.dtype(), [&](auto element) {
    using T = decltype(element);
    const T *x = a.values<T>().data(), *y = b.values<T>().data();
    T* r = out.data<T>();
    bool all = true;
    for_each_pair(*dims, from_a, from_b, [&](int64_t i, int64_t ia, int64_t ib) {
      all = all && Op::template run<T>(x[ia], y[ib], r[i]);
    });
    return all;
  });
  return cleared(ok, std::move(out));
}

template <class Op>
TensorPtr arithmetic(const Node&, const Inputs& in, int64_t limit) {
  if (in.size() != 2 || !in[1]) return nullptr;
  return arithmetic_pair<Op>(*in[0], *in[1], limit);
}

// Min and Max take any number of inputs.
template <class Op>
TensorPtr variadic(const Node&, const Inputs& in, int64_t limit) {
  TensorPtr r = in[0];
  if (!is_integer(r->dtype())) return nullptr;
  for (size_t i = 1; r && i < in.size(); ++i)
    r = in[i] ? arithmetic_pair<Op>(*r, *in[i], limit) : nullptr;
  return r;
}

TensorPtr mod(const Node& n, const Inputs& in, int64_t limit) {
  return n.attributes.get_or<int64_t>("fmod", 0) ? arithmetic<Fmod>(n, in, limit)
                                                 : arithmetic<Mod>(n, in, limit);
}

template <class Op, bool kSwap = false>
TensorPtr comparison(const Node&, const Inputs& in, int64_t limit) {
  if (in.size() != 2 || !in[1] || in[0]->dtype() != in[1]->dtype()) return nullptr;
  const Tensor &a = *in[kSwap ? 1 : 0], &b = *in[kSwap ? 0 : 1];
  auto dims = broadcast(a.dims(), b.dims());
  if (!dims || !fits(*dims, DType::Bool, limit)) return nullptr;
  Builder out(DType::Bool, *dims);
  auto* r = out.data<uint8_t>();
  const DType t = a.dtype() == DType::Bool ? DType::UInt8 : a.dtype();
  const bool ok = dispatch(t, [&](auto element) {
    using T = decltype(element);
    const T *x = a.values<T>().data(), *y = b.values<T>().data();
    for_each_pair(*dims, broadcast_strides(a.dims(), *dims), broadcast_strides(b.dims(), *dims),
                  [&](int64_t i, int64_t ia, int64_t ib) { r[i] = Op::run(x[ia], y[ib]); });
    return true;
  });
  return cleared(ok, std::move(out));
}

template <class Op>
TensorPtr logical(const Node& n, const Inputs& in, int64_t limit) {
  if (in[0]->dtype() != DType::Bool) return nullptr;
  return comparison<Op>(n, in, limit);
}

TensorPtr logical_not(const Node&, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  if (x.dtype() != DType::Bool || !fits(x.dims(), DType::Bool, limit)) return nullptr;
  Builder out(DType::Bool, x.dims());
  auto* r = out.data<uint8_t>();
  for (uint8_t v : x.values<uint8_t>()) *r++ = !v;
  return std::move(out).finish();
}

struct Neg {
  template <class T>
  static bool run(T v, T& r) {
    if constexpr (std::is_integral_v<T>)
      r = static_cast<T>(0 - bits(v));
    else
      r = -v;
    return std::is_signed_v<T>;
  }
};
struct Abs {
  template <class T>
  static bool run(T v, T& r) {
    if constexpr (std::is_integral_v<T>)
      r = v < T(0) ? static_cast<T>(0 - bits(v)) : v;
    else
      r = std::fabs(v);
    return true;
  }
};
template <auto kDouble, auto kFloat>
struct Rounding {  // float and double only, as the operators are
  template <class T>
  static bool run(T v, T& r) {
    if constexpr (std::is_same_v<T, double>)
      r = kDouble(v);
    else if constexpr (std::is_same_v<T, float>)
      r = kFloat(v);
    else
      r = v;
    return std::is_floating_point_v<T>;
  }
};
double floor64(double v) { return std::floor(v); }
float floor32(float v) { return std::floor(v); }
double ceil64(double v) { return std::ceil(v); }
float ceil32(float v) { return std::ceil(v); }
double sqrt64(double v) { return std::sqrt(v); }
float sqrt32(float v) { return std::sqrt(v); }

template <class Op>
TensorPtr unary(const Node&, const Inputs& in, int64_t limit) {
  const Tensor& x = *in[0];
  if (!fits(x.dims(), x.dtype(), limit)) return nullptr;
  Builder out(x.dtype(), x.dims());
  const bool ok = dispatch(x.dtype(), [&](auto element) {
    using T = decltype(element);
    T* r = out.data<T>();
    bool all = true;
    for (T v : x.values<T>()) all = all && Op::template run<T>(v, *r++);
    return all;
  });
  return cleared(ok, std::move(out));
}

TensorPtr where(const Node&, const Inputs& in, int64_t limit) {
  if (in.size() != 3 || !in[1] || !in[2] || in[1]->dtype() != in[2]->dtype()) return nullptr;
  const Tensor &c = *in[0], &x = *in[1], &y = *in[2];
  auto dims = broadcast(x.dims(), y.dims());
  if (dims) dims = broadcast(*dims, c.dims());
  if (!dims || c.dtype() != DType::Bool || !fits(*dims, x.dtype(), limit)) return nullptr;
  TensorPtr full_x = strided_copy(x, *dims, 0, broadcast_strides(x.dims(), *dims));
  TensorPtr full_y = strided_copy(y, *dims, 0, broadcast_strides(y.dims(), *dims));
  Builder out(x.dtype(), *dims);
  const size_t size = byte_size(x.dtype());
  const auto *px = static_cast<const std::byte*>(full_x->data()),
             *py = static_cast<const std::byte*>(full_y->data());
  const auto* pc = c.values<uint8_t>().data();
  auto* r = out.data<std::byte>();
  for_each_pair(*dims, broadcast_strides(c.dims(), *dims), Dims(dims->size(), 0),
                [&](int64_t i, int64_t ic, int64_t) {
                  std::memcpy(r + i * size, (pc[ic] ? px : py) + i * size, size);
                });
  return std::move(out).finish();
}

constexpr std::array kElementwise = {
    EvaluatorRow{"Add", arithmetic<Add>},
    EvaluatorRow{"Sub", arithmetic<Sub>},
    EvaluatorRow{"Mul", arithmetic<Mul>},
    EvaluatorRow{"Div", arithmetic<Div>},
    EvaluatorRow{"Mod", mod},
    EvaluatorRow{"Min", variadic<Min>},
    EvaluatorRow{"Max", variadic<Max>},
    EvaluatorRow{"Equal", comparison<Equal>},
    EvaluatorRow{"Less", comparison<Less>},
    EvaluatorRow{"Greater", comparison<Less, true>},
    EvaluatorRow{"LessOrEqual", comparison<LessOrEqual>},
    EvaluatorRow{"GreaterOrEqual", comparison<LessOrEqual, true>},
    EvaluatorRow{"And", logical<And>},
    EvaluatorRow{"Or", logical<Or>},
    EvaluatorRow{"Xor", logical<Xor>},
    EvaluatorRow{"Not", logical_not},
    EvaluatorRow{"Where", where},
    EvaluatorRow{"Neg", unary<Neg>},
    EvaluatorRow{"Abs", unary<Abs>},
    EvaluatorRow{"Floor", unary<Rounding<floor64, floor32>>},
    EvaluatorRow{"Ceil", unary<Rounding<ceil64, ceil32>>},
    EvaluatorRow{"Sqrt", unary<Rounding<sqrt64, sqrt32>>},
};

}  // namespace

std::span<const EvaluatorRow> elementwise_evaluators() { return kElementwise; }

}  // namespace oe::optimize
