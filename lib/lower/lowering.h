// One table row per aten schema. The lambda's parameters mirror the schema by position.
//
//   constexpr Lowering table[] = {
//       op("aten::relu(Tensor self) -> Tensor", same<"Relu">),
//       op("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) ->
//       Tensor",
//          [](Emit& g, Value x, double alpha, double scale, double input_scale) { ... }),
//   };
//
// Parameter kinds and what they accept:
//   Value                    Tensor; also a number, which arrives as a 0-d int64/double/bool value
//   std::optional<Value>     Tensor? (nullopt: None)
//   Values                   Tensor[] of known length;  List  of any length
//   int64_t double bool std::string   known constants; computed ones throw NotKnown with the name
//   DType                    a ScalarType argument;  std::optional<DType> for ScalarType?
//   Floats                   float[] all known;  Bools  bool[] all known
//   Ints                     int[] all known;  int given where int[n] is wanted arrives as one
//   entry Int, Dims                int and int[] that may be computed Scalar Scalar, known or
//   computed std::optional<T>         any of the above with None allowed Skip an argument that does
//   not matter here (device, layout, generator, ...)
// The result is Value or Values (one per output).
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/lower/emit.h"

namespace oe::lower {

struct Skip {};
// Tensor[] of any length: the items where their number is known, else an ONNX sequence.
struct List {
  Values items;
  Value sequence = nullptr;
};
using Floats = std::vector<double>;
using Bools = std::vector<bool>;

// Reads argument `index` of the call as the kind asked for. Defined in arguments.cpp.
class Arguments {
 public:
  Arguments(Emit& g, const program::Node& call) : g_(g), call_(call) {}
  template <class T>
  T get(size_t index) const;
  size_t count() const;

 private:
  template <class T>
  T read(size_t index) const;
  bool none(size_t index) const;
  const program::Arg& at(size_t index) const;
  std::string name(size_t index) const;  // as the row's schema has it
  NotKnown not_known(size_t index, const program::Value* v) const;
  std::optional<int64_t> known_integer(const program::Arg& a, size_t index) const;
  Int integer(const program::Arg& a, size_t index) const;
  Emit& g_;
  const program::Node& call_;
};

using Thunk = Values (*)(Emit&, const Arguments&);

struct Lowering {
  std::string_view schema;  // "aten::relu(Tensor self) -> Tensor"
  Thunk run;
  size_t parameters;  // how many leading arguments the lambda takes (the rest must be default)
  // Two letters a parameter, for the test against LibTorch's registry: the kind (see kind()), and
  // '?' where None is allowed.
  const char* kinds;
};

template <>
Value Arguments::read<Value>(size_t index) const;
template <>
Values Arguments::read<Values>(size_t index) const;
template <>
int64_t Arguments::read<int64_t>(size_t index) const;
template <>
double Arguments::read<double>(size_t index) const;
template <>
bool Arguments::read<bool>(size_t index) const;
template <>
List Arguments::read<List>(size_t index) const;
template <>
std::string Arguments::read<std::string>(size_t index) const;
template <>
DType Arguments::read<DType>(size_t index) const;
template <>
Int Arguments::read<Int>(size_t index) const;
template <>
Dims Arguments::read<Dims>(size_t index) const;
template <>
Ints Arguments::read<Ints>(size_t index) const;
template <>
Floats Arguments::read<Floats>(size_t index) const;
template <>
Bools Arguments::read<Bools>(size_t index) const;
template <>
Scalar Arguments::read<Scalar>(size_t index) const;

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
T Arguments::get(size_t index) const {
  if constexpr (std::is_same_v<T, Skip>) {
    return {};
  } else if constexpr (is_optional<T>::value) {
    if (none(index)) return std::nullopt;
    return read<typename T::value_type>(index);
  } else {
    return read<T>(index);
  }
}

namespace detail {
template <class T>
constexpr char kind() {
  if constexpr (is_optional<T>::value) return kind<typename T::value_type>();
  if constexpr (std::is_same_v<T, Skip>) return '_';
  if constexpr (std::is_same_v<T, Value>) return 'V';
  if constexpr (std::is_same_v<T, Values> || std::is_same_v<T, List>) return 'L';
  if constexpr (std::is_same_v<T, int64_t>) return 'i';
  if constexpr (std::is_same_v<T, double>) return 'd';
  if constexpr (std::is_same_v<T, bool>) return 'b';
  if constexpr (std::is_same_v<T, std::string>) return 's';
  if constexpr (std::is_same_v<T, DType>) return 't';
  if constexpr (std::is_same_v<T, Int>) return 'n';
  if constexpr (std::is_same_v<T, Dims>) return 'N';
  if constexpr (std::is_same_v<T, Ints>) return 'I';
  if constexpr (std::is_same_v<T, Floats>) return 'F';
  if constexpr (std::is_same_v<T, Bools>) return 'B';
  if constexpr (std::is_same_v<T, Scalar>) return 'S';
}
template <class... A>
struct Kinds {
  char text[2 * sizeof...(A) + 1]{};
  constexpr Kinds() {
    size_t at = 0;
    ((text[at++] = kind<A>(), text[at++] = is_optional<A>::value ? '?' : ' '), ...);
  }
};
template <class... A>
inline constexpr Kinds<A...> kinds_of;
template <class L, class R, class... A>
constexpr const char* kinds(R (L::*)(Emit&, A...) const) {
  return kinds_of<std::decay_t<A>...>.text;
}

inline Values as_values(Value v) { return {v}; }
inline Values as_values(Values v) { return v; }

template <class L, class R, class... A, size_t... I>
Values call(R (L::*f)(Emit&, A...) const, Emit& g, const Arguments& a, std::index_sequence<I...>) {
  return as_values((L{}.*f)(g, a.get<std::decay_t<A>>(I)...));
}
template <class L, class R, class... A>
constexpr size_t arity(R (L::*)(Emit&, A...) const) {
  return sizeof...(A);
}
// A plain function as an object, so that both kinds of rows go one way.
template <auto F, class R, class... A>
struct Function {
  R operator()(Emit& g, A... a) const { return F(g, a...); }
};
template <auto F, class R, class... A>
constexpr Function<F, R, A...> function(R (*)(Emit&, A...)) {
  return {};
}
}  // namespace detail

// A row from a captureless lambda (its type is default-constructible, so no object is kept).
template <class L>
constexpr Lowering op(std::string_view schema, L) {
  constexpr size_t n = detail::arity(&L::operator());
  return {schema,
          [](Emit& g, const Arguments& a) {
            return detail::call<L>(&L::operator(), g, a, std::make_index_sequence<n>{});
          },
          n, detail::kinds(&L::operator())};
}

// A row from a plain function: op<masked_fill>("aten::masked_fill.Tensor(...) -> Tensor").
template <auto F>
constexpr Lowering op(std::string_view schema) {
  return op(schema, detail::function<F>(F));
}

template <size_t N>
struct FixedString {
  char text[N]{};
  constexpr FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

// x -> Op(x) in the result's type: integers given to a float operator are cast first.
template <FixedString Op>
inline constexpr auto same =
    [](Emit& g, Value x) { return g.node(Op.view(), {g.cast(x, g.result_dtype())}); };

// Every family's table; registry.cpp lists them all.
using Table = std::span<const Lowering>;
std::span<const Table> tables();
// The row for "aten::add.Tensor"; null when the operator has none.
const Lowering* find(std::string_view op);

}  // namespace oe::lower
