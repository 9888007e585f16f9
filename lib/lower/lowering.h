// One table row per aten schema. The function's parameters mirror the schema by position.
//
//   constexpr Lowering table[] = {
//       op("aten::relu(Tensor self) -> Tensor", same<"Relu">),
//       op("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) ->
//       Tensor",
//          [](T x, double alpha, double scale, double input_scale) { ... }),
//       op(names("aten::permute", "aten::permute_copy"), "(Tensor self, int[] dims) -> Tensor",
//          [](T x, const Axes& dims) { return transpose(x, dims); }),
//   };
//
// A function that needs recorded facts of the call, or creates a value from no other, takes
// `Call& g` before them.
//
// Parameter kind      accepts
// T                   Tensor; also a number, which arrives as a 0-d int64, double or bool value
// C                   Tensor or Scalar of a complex call, in the parts' type of the call
// Values              Tensor[] of known length
// List                Tensor[] of any length
// int64_t, double, bool, std::string   known constants; computed ones throw NotKnown with the name
// Axis                int, wrapped into [0, rank) of the call's first tensor where that is known
// Axes                int[] of those
// Reduction           int: none, mean or sum
// DType               a ScalarType
// Ints, Floats, Bools int[], float[], bool[], all known; an int given for int[n] is one entry
// Int, Dims           int and int[] that may be computed
// Scalar              Scalar, known or computed
// std::optional<K>    any of these with None allowed
// Skip                an argument that does not matter here (device, layout, generator, ...)
// Rest                last: all further arguments, if any, of which none matters
//
// The result is T, C or Values (one per output, two for a complex one; a null one is a result that
// ONNX cannot express).
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/lower/call.h"

namespace oe::lower {

struct Skip {};
struct Rest {};
// Tensor[] of any length: the items where their number is known, else an ONNX sequence.
struct List {
  Values items;
  T sequence = nullptr;
};
using Floats = std::vector<double>;
using Bools = std::vector<bool>;
struct Axis {
  int64_t value;
  operator int64_t() const { return value; }
};
struct Axes : Ints {
  using Ints::Ints;
};
enum class Reduction { None, Mean, Sum };

// Reads argument `index` of the call as the requested kind. Defined in arguments.cpp.
class Arguments {
 public:
  Arguments(Call& g, const program::Node& call) : g_(g), call_(call) {}
  template <class K>
  K get(size_t index) const;
  size_t count() const;

 private:
  template <class K>
  K read(size_t index) const;
  bool none(size_t index) const;
  const program::Arg& at(size_t index) const;
  std::string name(size_t index) const;  // its name in the row's schema
  NotKnown not_known(size_t index, const program::Value* v) const;
  std::optional<int64_t> known_integer(const program::Arg& a, size_t index) const;
  Int integer(const program::Arg& a, size_t index) const;
  T first_tensor() const;  // the tensor to whose axes an Axis refers
  Call& g_;
  const program::Node& call_;
};

template <>
T Arguments::read<T>(size_t index) const;
template <>
C Arguments::read<C>(size_t index) const;
template <>
Values Arguments::read<Values>(size_t index) const;
template <>
List Arguments::read<List>(size_t index) const;
template <>
int64_t Arguments::read<int64_t>(size_t index) const;
template <>
double Arguments::read<double>(size_t index) const;
template <>
bool Arguments::read<bool>(size_t index) const;
template <>
std::string Arguments::read<std::string>(size_t index) const;
template <>
Axis Arguments::read<Axis>(size_t index) const;
template <>
Axes Arguments::read<Axes>(size_t index) const;
template <>
Reduction Arguments::read<Reduction>(size_t index) const;
template <>
DType Arguments::read<DType>(size_t index) const;
template <>
Ints Arguments::read<Ints>(size_t index) const;
template <>
Floats Arguments::read<Floats>(size_t index) const;
template <>
Bools Arguments::read<Bools>(size_t index) const;
template <>
Int Arguments::read<Int>(size_t index) const;
template <>
Dims Arguments::read<Dims>(size_t index) const;
template <>
Scalar Arguments::read<Scalar>(size_t index) const;

template <class K>
struct is_optional : std::false_type {};
template <class K>
struct is_optional<std::optional<K>> : std::true_type {};

template <class K>
K Arguments::get(size_t index) const {
  if constexpr (std::is_same_v<K, Skip> || std::is_same_v<K, Rest>) {
    return {};
  } else if constexpr (is_optional<K>::value) {
    if (none(index)) return std::nullopt;
    return read<typename K::value_type>(index);
  } else {
    return read<K>(index);
  }
}

// The names of one operator: an alias, a *_copy variant or an overload with the same arguments.
struct Names {
  static constexpr size_t kMost = 8;
  std::array<std::string_view, kMost> list{};
  size_t count = 0;
  constexpr auto begin() const { return list.begin(); }
  constexpr auto end() const { return list.begin() + count; }
};
template <class... S>
constexpr Names names(S... s) {
  static_assert(sizeof...(s) <= Names::kMost);
  return {{std::string_view(s)...}, sizeof...(s)};
}

using Thunk = Values (*)(Call&, const Arguments&);

struct Lowering {
  Names names;                 // "aten::permute", "aten::permute_copy"
  std::string_view signature;  // "(Tensor self, int[] dims) -> Tensor"
  Thunk run;
  // How many leading arguments the function takes: the others must have their default. With Rest it
  // takes all.
  size_t parameters;
  // Two letters for each parameter, for the test against LibTorch's registry: the kind (see
  // kind()), and
  // '?' where None is allowed.
  const char* kinds;
};

namespace detail {
template <class K>
constexpr char kind() {
  if constexpr (is_optional<K>::value) return kind<typename K::value_type>();
  if constexpr (std::is_same_v<K, Skip>) return '_';
  if constexpr (std::is_same_v<K, Rest>) return '*';
  if constexpr (std::is_same_v<K, T>) return 'V';
  if constexpr (std::is_same_v<K, C>) return 'C';
  if constexpr (std::is_same_v<K, Values> || std::is_same_v<K, List>) return 'L';
  if constexpr (std::is_same_v<K, int64_t> || std::is_same_v<K, Axis> ||
                std::is_same_v<K, Reduction>)
    return 'i';
  if constexpr (std::is_same_v<K, double>) return 'd';
  if constexpr (std::is_same_v<K, bool>) return 'b';
  if constexpr (std::is_same_v<K, std::string>) return 's';
  if constexpr (std::is_same_v<K, DType>) return 't';
  if constexpr (std::is_same_v<K, Int>) return 'n';
  if constexpr (std::is_same_v<K, Dims>) return 'N';
  if constexpr (std::is_same_v<K, Ints> || std::is_same_v<K, Axes>) return 'I';
  if constexpr (std::is_same_v<K, Floats>) return 'F';
  if constexpr (std::is_same_v<K, Bools>) return 'B';
  if constexpr (std::is_same_v<K, Scalar>) return 'S';
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
template <class... A>
inline constexpr size_t arity_of = (std::is_same_v<A, Rest> || ...) ? SIZE_MAX : sizeof...(A);

inline Values as_values(T v) { return {v}; }
inline Values as_values(Values v) { return v; }
inline Values as_values(const C& v) { return {v.re, v.im}; }

// How a row's function is called: with the call in front of its arguments, or without.
template <class F>
struct Signature;
template <class L, class R, class... A>
struct Signature<R (L::*)(Call&, A...) const> {
  static constexpr size_t arity = arity_of<std::decay_t<A>...>;
  static constexpr const char* kinds = kinds_of<std::decay_t<A>...>.text;
  static Values run(Call& g, const Arguments& a) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return as_values(L{}(g, a.get<std::decay_t<A>>(I)...));
    }
    (std::make_index_sequence<sizeof...(A)>{});
  }
};
template <class L, class R, class... A>
struct Signature<R (L::*)(A...) const> {
  static constexpr size_t arity = arity_of<std::decay_t<A>...>;
  static constexpr const char* kinds = kinds_of<std::decay_t<A>...>.text;
  static Values run(Call&, const Arguments& a) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return as_values(L{}(a.get<std::decay_t<A>>(I)...));
    }
    (std::make_index_sequence<sizeof...(A)>{});
  }
};
// A plain function as an object, so that both kinds of rows share their code.
template <auto F, class R, class... A>
struct Function {
  R operator()(A... a) const { return F(std::forward<A>(a)...); }
};
template <auto F, class R, class... A>
constexpr Function<F, R, A...> function(R (*)(A...)) {
  return {};
}
}  // namespace detail

// A row from a captureless lambda (its type is default-constructible, so no object is kept).
template <class L>
constexpr Lowering op(Names names, std::string_view signature, L) {
  using S = detail::Signature<decltype(&L::operator())>;
  return {names, signature, &S::run, S::arity, S::kinds};
}
template <class L>
constexpr Lowering op(std::string_view schema, L f) {
  const size_t open = schema.find('(');
  return op(names(schema.substr(0, open)), schema.substr(open), f);
}

// A row from a plain function: op<masked_fill>("aten::masked_fill.Tensor(...) -> Tensor").
template <auto F>
constexpr Lowering op(std::string_view schema) {
  return op(schema, detail::function<F>(F));
}
template <auto F>
constexpr Lowering op(Names names, std::string_view signature) {
  return op(names, signature, detail::function<F>(F));
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
    [](Call& g, T x) { return unary(Op.view(), cast(x, g.result_dtype())); };

// Every family's table; the families are listed in CMakeLists.txt.
using Table = std::span<const Lowering>;
std::span<const Table> tables();
std::span<const Table> complex_tables();
// The row for "aten::add.Tensor"; null when the operator has none.
const Lowering* find(std::string_view op);
// The row that is used if an operand or a result is complex.
const Lowering* find_complex(std::string_view op);

}  // namespace oe::lower
