// Reading the arguments of a call as the kinds that a lowering asks for.
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>

#include "lib/lower/promotion.h"
#include "lib/lower/schema_text.h"

namespace oe::lower {
namespace {

using program::Arg;
using program::Args;

std::string producer_name(const program::Value* v) {
  if (v->producer) return v->producer->op.substr(0, v->producer->op.find('.'));
  return v->name.empty() ? "the model" : "input '" + v->name + "'";
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// The number a known argument stands for; nullopt when it is none.
std::optional<double> known_number(const Arg& a) {
  if (auto* i = std::get_if<int64_t>(&a.v)) return static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&a.v)) return *d;
  if (auto* b = std::get_if<bool>(&a.v)) return *b;
  if (auto* v = a.value(); v && v->constant && v->constant->numel() == 1)
    return v->constant->as_double()[0];
  return std::nullopt;
}

Scalar::Kind scalar_kind(DType t) {
  if (t == DType::Bool) return Scalar::Kind::Bool;
  return is_float(t) ? Scalar::Kind::Float : Scalar::Kind::Int;
}

int64_t wrapped(T x, int64_t axis) { return x.ranked() ? x.axis(axis) : axis; }

}  // namespace

std::vector<std::string_view> schema_arguments(std::string_view schema) {
  std::vector<std::string_view> out;
  const size_t open = schema.find('(');
  size_t begin = open + 1;
  int depth = 0;
  for (size_t i = begin; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '(' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ')')) {
      std::string_view a = trim(schema.substr(begin, i - begin));
      if (!a.empty() && a != "*") out.push_back(a);
      begin = i + 1;
      if (c == ')') break;
    }
    if (c == ')' || c == ']') --depth;
  }
  return out;
}

std::string_view argument_name(std::string_view argument) {
  argument = trim(argument.substr(0, argument.find('=')));
  return argument.substr(argument.rfind(' ') + 1);
}

bool at_default(const Arg& value, std::string_view argument) {
  const size_t eq = argument.find('=');
  // Newer LibTorch versions add arguments; empty values are the ones that change nothing.
  std::string_view text = eq == std::string_view::npos ? "None" : argument.substr(eq + 1);
  if (value.is_none()) return text == "None";
  if (auto* list = std::get_if<Args>(&value.v)) {
    if (text.size() < 2 || text.front() != '[') {
      for (const Arg& a : *list)
        if (!at_default(a, argument)) return false;
      return !list->empty();
    }
    std::string inner(trim(text.substr(1, text.size() - 2)));
    size_t n = 0;
    while (!inner.empty()) {
      const size_t comma = inner.find(',');
      const std::string one = "x=" + std::string(trim(inner.substr(0, comma)));
      if (n >= list->size() || !at_default((*list)[n], one)) return false;
      ++n;
      inner = comma == std::string::npos ? "" : inner.substr(comma + 1);
    }
    return n == list->size();
  }
  if (auto* s = std::get_if<std::string>(&value.v))
    return text.size() >= 2 && text.substr(1, text.size() - 2) == *s;
  const auto number = known_number(value);
  if (!number) return false;
  if (text == "None" || text == "False" || text == "contiguous_format") return *number == 0;
  if (text == "True" || text == "Mean") return *number == 1;
  double expected = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), expected);
  return r.ec == std::errc() && expected == *number;
}

const Arg& Arguments::at(size_t index) const {
  static const Arg absent;
  return index < call_.args.size() ? call_.args[index] : absent;
}

size_t Arguments::count() const { return call_.args.size(); }
bool Arguments::none(size_t index) const {
  const Arg& a = at(index);
  return a.is_none() || (a.value() && a.value()->type.kind == program::Type::Kind::None);
}

std::string Arguments::name(size_t index) const {
  if (g_.row_) {
    const auto arguments = schema_arguments(g_.row_->signature);
    if (index < arguments.size()) return std::string(argument_name(arguments[index]));
  }
  return std::to_string(index);
}

NotKnown Arguments::not_known(size_t index, const program::Value* v) const {
  return NotKnown(name(index), producer_name(v));
}

std::optional<int64_t> Arguments::known_integer(const Arg& a, size_t index) const {
  if (auto* i = std::get_if<int64_t>(&a.v)) return *i;
  if (auto* b = std::get_if<bool>(&a.v)) return *b;
  if (auto* v = a.value()) {
    if (v->constant && v->constant->numel() == 1) return v->constant->as_int64()[0];
    return std::nullopt;
  }
  if (auto* list = std::get_if<Args>(&a.v); list && list->size() == 1)
    return known_integer((*list)[0], index);
  throw std::logic_error("argument '" + name(index) + "' is not an integer");
}

Int Arguments::integer(const Arg& a, size_t index) const {
  Int out;
  out.known = known_integer(a, index);
  if (out.known) return out;
  const Arg& one = std::holds_alternative<Args>(a.v) ? std::get<Args>(a.v)[0] : a;
  T v = cast(g_.lookup(one.value()), DType::Int64);
  if (v.ranked() && v.rank() > 0) v = reshape(v, Ints{});
  v->type.shape = std::vector<Dim>{};
  out.computed = v;
  return out;
}

template <>
T Arguments::read<T>(size_t index) const {
  const Arg& a = at(index);
  if (auto* v = a.value()) return g_.lookup(v);
  if (auto* i = std::get_if<int64_t>(&a.v)) return g_.i64(*i);
  if (auto* d = std::get_if<double>(&a.v)) return g_.number(*d, DType::Double);
  if (auto* b = std::get_if<bool>(&a.v)) return g_.boolean(*b);
  throw std::logic_error("argument '" + name(index) + "' is not a tensor");
}

// Complex numbers of a complex call, and real ones beside them, are in the type of its result's
// parts; where that is real, of its operands'.
template <>
C Arguments::read<C>(size_t index) const {
  const bool complex_result = is_complex(call_.outputs[0]->type);
  std::vector<size_t> all(call_.args.size());
  std::iota(all.begin(), all.end(), 0);
  const DType t = part_type(complex_result ? g_.result_dtype() : result_type(g_, all));
  const Arg& a = at(index);
  if (auto* z = std::get_if<program::ComplexNumber>(&a.v))
    return {g_.number(z->real, t), g_.number(z->imag, t)};
  const program::Value* v = a.value();
  if (!v || !is_complex(v->type)) return {cast(read<T>(index), t), nullptr};
  const Parts::Pair& parts = g_.parts_.of(v);
  return {cast(g_.lookup(parts.re), t), cast(g_.lookup(parts.im), t)};
}

template <>
Values Arguments::read<Values>(size_t index) const {
  const Arg& a = at(index);
  if (auto* v = a.value()) {
    if (v->type.kind == program::Type::Kind::List)
      throw Unsupported("argument '" + name(index) + "': the length of the list, which " +
                        producer_name(v) + " computes, is not known at export");
    return {g_.lookup(v)};
  }
  auto* list = std::get_if<Args>(&a.v);
  if (!list) return {read<T>(index)};
  Values out;
  // Lists in lists (of torch.tensor) come row by row; None is a null value.
  const std::function<void(const Args&)> flatten = [&](const Args& entries) {
    for (const Arg& e : entries) {
      if (auto* v = e.value())
        out.push_back(g_.lookup(v));
      else if (auto* i = std::get_if<int64_t>(&e.v))
        out.push_back(g_.i64(*i));
      else if (auto* d = std::get_if<double>(&e.v))
        out.push_back(g_.number(*d, DType::Double));
      else if (auto* b = std::get_if<bool>(&e.v))
        out.push_back(g_.boolean(*b));
      else if (auto* inner = std::get_if<Args>(&e.v))
        flatten(*inner);
      else
        out.push_back(nullptr);
    }
  };
  flatten(*list);
  return out;
}

template <>
List Arguments::read<List>(size_t index) const {
  auto* v = at(index).value();
  if (v && v->type.kind == program::Type::Kind::List) return {{}, g_.lookup(v)};
  return {read<Values>(index), nullptr};
}

template <>
int64_t Arguments::read<int64_t>(size_t index) const {
  if (auto i = known_integer(at(index), index)) return *i;
  throw not_known(index, at(index).value());
}

template <>
double Arguments::read<double>(size_t index) const {
  if (auto d = known_number(at(index))) return *d;
  if (auto* v = at(index).value()) throw not_known(index, v);
  throw std::logic_error("argument '" + name(index) + "' is not a number");
}

template <>
bool Arguments::read<bool>(size_t index) const {
  if (auto d = known_number(at(index))) return *d != 0;
  if (auto* v = at(index).value()) throw not_known(index, v);
  throw std::logic_error("argument '" + name(index) + "' is not a bool");
}

template <>
std::string Arguments::read<std::string>(size_t index) const {
  if (auto* s = std::get_if<std::string>(&at(index).v)) return *s;
  throw std::logic_error("argument '" + name(index) + "' is not a string");
}

// The first tensor, or the first of a list.
T Arguments::first_tensor() const {
  if (const program::Value* v = at(0).value(); v && g_.pairs_ && is_complex(v->type))
    return g_.lookup(g_.parts_.of(v).re);
  const auto none = [](T v) { return !v; };
  Values items = count() > 0 ? read<Values>(0) : Values{};
  std::erase_if(items, none);
  if (items.empty()) throw Unsupported("an axis of no tensor");
  return items[0];
}

template <>
Axis Arguments::read<Axis>(size_t index) const {
  return {wrapped(first_tensor(), read<int64_t>(index))};
}

template <>
Axes Arguments::read<Axes>(size_t index) const {
  const T x = first_tensor();
  Axes out;
  for (int64_t a : read<Ints>(index)) out.push_back(wrapped(x, a));
  return out;
}

template <>
Reduction Arguments::read<Reduction>(size_t index) const {
  return static_cast<Reduction>(read<int64_t>(index));
}

template <>
DType Arguments::read<DType>(size_t index) const {
  // A call of one part has the whole number's type as its argument.
  return part_type(from_scalar_type(read<int64_t>(index)));
}

template <>
Int Arguments::read<Int>(size_t index) const {
  return integer(at(index), index);
}

template <>
Dims Arguments::read<Dims>(size_t index) const {
  const Arg& a = at(index);
  Dims out;
  if (auto* list = std::get_if<Args>(&a.v)) {
    for (const Arg& e : *list) out.push_back(integer(e, index));
    return out;
  }
  const program::Value* v = a.value();
  const bool vector = v && v->type.kind == program::Type::Kind::Tensor && v->type.shape &&
                      v->type.shape->size() == 1;
  if (!vector) {
    if (v && v->type.kind == program::Type::Kind::List)
      throw Unsupported("argument '" + name(index) + "': the length of the list, which " +
                        producer_name(v) + " computes, is not known at export");
    return {integer(a, index)};
  }
  if (!(*v->type.shape)[0].is_number())
    throw Unsupported("argument '" + name(index) + "': the number of its entries is not known");
  if (v->constant) {
    for (int64_t i : v->constant->as_int64()) out.push_back(build::known(i));
    return out;
  }
  T all = cast(g_.lookup(v), DType::Int64);
  for (int64_t i = 0; i < (*v->type.shape)[0].number; ++i) {
    T one = gather(all, g_.i64(i), 0);
    one->type.shape = std::vector<Dim>{};
    out.push_back(computed(one));
  }
  return out;
}

template <>
Ints Arguments::read<Ints>(size_t index) const {
  const Arg& a = at(index);
  Ints out;
  if (auto* list = std::get_if<Args>(&a.v)) {
    for (const Arg& e : *list) {
      auto i = known_integer(e, index);
      if (!i) throw not_known(index, e.value());
      out.push_back(*i);
    }
    return out;
  }
  if (auto* v = a.value()) {
    if (!v->constant) throw not_known(index, v);
    return v->constant->as_int64();
  }
  return {read<int64_t>(index)};
}

template <>
Floats Arguments::read<Floats>(size_t index) const {
  const Arg& a = at(index);
  auto* list = std::get_if<Args>(&a.v);
  if (!list) return {read<double>(index)};
  Floats out;
  for (const Arg& e : *list) {
    auto d = known_number(e);
    if (!d && e.value()) throw not_known(index, e.value());
    if (!d) throw std::logic_error("argument '" + name(index) + "' has no numbers");
    out.push_back(*d);
  }
  return out;
}

template <>
Bools Arguments::read<Bools>(size_t index) const {
  Bools out;
  for (double d : read<Floats>(index)) out.push_back(d != 0);
  return out;
}

template <>
Scalar Arguments::read<Scalar>(size_t index) const {
  const Arg& a = at(index);
  Scalar s;
  if (auto* i = std::get_if<int64_t>(&a.v)) {
    s.i = *i;
    s.d = static_cast<double>(*i);
  } else if (auto* b = std::get_if<bool>(&a.v)) {
    s.kind = Scalar::Kind::Bool;
    s.i = *b;
    s.d = *b;
  } else if (auto* d = std::get_if<double>(&a.v)) {
    s.kind = Scalar::Kind::Float;
    s.d = *d;
    s.i = std::isfinite(*d) && std::fabs(*d) < 9e18 ? static_cast<int64_t>(*d) : 0;
  } else if (auto* v = a.value()) {
    s.kind = scalar_kind(v->type.dtype);
    if (v->constant && v->constant->numel() == 1) {
      s.d = v->constant->as_double()[0];
      s.i = s.kind == Scalar::Kind::Float ? static_cast<int64_t>(s.d) : v->constant->as_int64()[0];
    } else {
      s.known = false;
      const DType wide = s.kind == Scalar::Kind::Float  ? DType::Double
                         : s.kind == Scalar::Kind::Bool ? DType::Bool
                                                        : DType::Int64;
      s.computed = cast(g_.lookup(v), wide);
    }
  } else {
    throw std::logic_error("argument '" + name(index) + "' is not a number");
  }
  return s;
}

}  // namespace oe::lower
