// Example values: from the text after '=' in a SPEC, from files, or random.
#include "lib/torch/values.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"

namespace oe::torch_io {
namespace {

using nlohmann::json;

[[noreturn]] void usage(const std::string& path, const std::string& what,
                        const std::string& hint = {}) {
  throw Failure(ExitCode::Usage, "OE0205", "input '" + path + "': " + what, hint);
}

// Integers without a range of their own are 0 and 1: right for token ids, token types and masks
// alike, whose tables may be as small as that.
constexpr int64_t kIntegerLow = 0, kIntegerHigh = 2;

bool integral(c10::ScalarType t) { return c10::isIntegralType(t, /*includeBool=*/false); }

at::Tensor random_integers(const std::vector<int64_t>& sizes, int64_t low, int64_t high,
                           c10::ScalarType type, at::Generator generator) {
  return at::randint(low, std::max(high, low + 1), sizes, generator, at::kLong).to(type);
}

at::Tensor random_tensor(const std::vector<int64_t>& sizes, c10::ScalarType type,
                         const at::Generator& generator) {
  if (type == c10::ScalarType::Bool) return random_integers(sizes, 0, 2, type, generator);
  if (integral(type)) return random_integers(sizes, kIntegerLow, kIntegerHigh, type, generator);
  // Drawn in double or float and then cast, so that the numbers do not depend on a type's kernel.
  if (c10::isComplexType(type)) return at::randn(sizes, generator, at::kComplexDouble).to(type);
  return at::randn(sizes, generator, type == at::kDouble ? at::kDouble : at::kFloat).to(type);
}

std::vector<int64_t> sizes_of(const InputSpec& spec, const c10::IValue& like,
                              const std::string& path) {
  if (!spec.shape) {
    if (like.isTensor()) return like.toTensor().sizes().vec();
    usage(path, "has no shape", "write it as " + path + ":1x3x224x224");
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < spec.shape->size(); ++i) {
    const DimSpec& d = (*spec.shape)[i];
    const bool known =
        like.isTensor() && like.toTensor().dim() == static_cast<int64_t>(spec.shape->size());
    int64_t n = d.size ? *d.size : known ? like.toTensor().size(static_cast<int64_t>(i)) : 2;
    if (!d.size) n = std::max(d.low.value_or(n), std::min(d.high.value_or(n), n));
    sizes.push_back(n);
  }
  return sizes;
}

// JSON has no word for these; they travel as strings (see with_specials_quoted).
bool is_special(const json& j) { return j == "nan" || j == "inf" || j == "-inf"; }

double number_of(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  return j.is_string() ? std::strtod(j.get_ref<const std::string&>().c_str(), nullptr)
                       : j.get<double>();
}

// [1, nan, -inf] -> [1, "nan", "-inf"]
std::string with_specials_quoted(const std::string& text) {
  static const std::regex special(R"(-?\b(nan|inf)\b)");
  if (text.find('"') != std::string::npos) return text;
  return std::regex_replace(text, special, "\"$&\"");
}

void flatten(const json& j, size_t depth, std::vector<int64_t>& sizes, std::vector<json>& out,
             const std::string& path) {
  if (!j.is_array()) {
    if (depth != sizes.size() || !(j.is_number() || j.is_boolean() || is_special(j)))
      usage(path, "its nested lists are not a tensor of numbers");
    out.push_back(j);
    return;
  }
  if (out.empty() && depth == sizes.size()) sizes.push_back(static_cast<int64_t>(j.size()));
  if (depth >= sizes.size() || sizes[depth] != static_cast<int64_t>(j.size()))
    usage(path, "its nested lists have different lengths");
  for (const json& e : j) flatten(e, depth + 1, sizes, out, path);
}

// The numbers in another element type, none of them changed but for the rounding of floats.
at::Tensor represented(const at::Tensor& t, c10::ScalarType type, const std::string& path) {
  at::Tensor out = t.to(type);
  if (c10::isFloatingType(type) || c10::isComplexType(type)) return out;
  if (!out.to(t.scalar_type()).equal(t))
    usage(path,
          "a number in its value does not fit element type " + std::string(name(to_dtype(type))));
  return out;
}

at::Tensor tensor_from_json(const json& j, const InputSpec& spec, const c10::IValue& like,
                            const std::string& path) {
  std::vector<int64_t> sizes;
  std::vector<json> elements;
  flatten(j, 0, sizes, elements, path);
  const auto all = [&](auto&& is) { return std::all_of(elements.begin(), elements.end(), is); };
  c10::ScalarType natural = at::kFloat;
  if (!elements.empty() && all([](const json& e) { return e.is_boolean(); }))
    natural = at::kBool;
  else if (!elements.empty() && all([](const json& e) { return e.is_number_integer(); }))
    natural = at::kLong;
  const c10::ScalarType type = spec.dtype != DType::Undefined ? to_scalar_type(spec.dtype)
                               : like.isTensor()              ? like.toTensor().scalar_type()
                                                              : natural;
  at::Tensor t = at::empty(sizes, natural == at::kFloat ? at::kDouble : at::kLong);
  for (size_t i = 0; i < elements.size(); ++i) {
    const json& e = elements[i];
    if (natural == at::kFloat)
      t.mutable_data_ptr<double>()[i] = number_of(e);
    else
      t.mutable_data_ptr<int64_t>()[i] = e.is_boolean() ? e.get<bool>() : e.get<int64_t>();
  }
  t = represented(t, type, path);
  if (!spec.shape) return t;
  const std::vector<int64_t> wanted = sizes_of(spec, c10::IValue(t), path);
  if (t.numel() == 1) return t.reshape({}).expand(wanted).contiguous();
  if (t.numel() != c10::multiply_integers(wanted))
    usage(path, "the value has " + plural(elements.size(), "element") +
                    ", which does not match the shape");
  return t.reshape(wanted);
}

c10::IValue value_from_json(const json& j) {
  if (j.is_null()) return {};
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return j.get<std::string>();
  if (j.is_array()) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const json& e : j) list.push_back(value_from_json(e));
    return list;
  }
  c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
  for (const auto& [k, v] : j.items()) dict.insert(k, value_from_json(v));
  return dict;
}

// Lists of numbers become tensors where the type asks for tensors.
c10::IValue typed_from_json(const json& j, const c10::TypePtr& declared, const InputSpec& spec,
                            const c10::IValue& like, const std::string& path) {
  const c10::TypePtr type = strip_optional(declared);
  if (j.is_null()) return {};
  if (type->kind() == c10::TypeKind::TensorType) return tensor_from_json(j, spec, like, path);
  if (type->kind() == c10::TypeKind::ListType && j.is_array()) {
    const auto element = type->expectRef<c10::ListType>().getElementType();
    c10::impl::GenericList list(element);
    for (const json& e : j) list.push_back(typed_from_json(e, element, spec, {}, path));
    return list;
  }
  if (type->kind() == c10::TypeKind::TupleType && j.is_array()) {
    const auto& elements = type->expectRef<c10::TupleType>().elements();
    if (j.size() != elements.size()) return retype(value_from_json(j), declared, path);
    std::vector<c10::IValue> typed;
    for (size_t i = 0; i < elements.size(); ++i)
      typed.push_back(typed_from_json(j[i], elements[i], spec, {}, path + "." + std::to_string(i)));
    return c10::ivalue::Tuple::createNamed(std::move(typed), type->expect<c10::TupleType>());
  }
  if (type->kind() == c10::TypeKind::DictType && j.is_object()) {
    const auto& t = type->expectRef<c10::DictType>();
    c10::impl::GenericDict dict(t.getKeyType(), t.getValueType());
    for (const auto& [k, v] : j.items())
      dict.insert(retype(k, t.getKeyType(), path),
                  typed_from_json(v, t.getValueType(), spec, {}, path + "." + k));
    return dict;
  }
  if (type->kind() == c10::TypeKind::FloatType && is_special(j)) return number_of(j);
  return retype(value_from_json(j), declared, path);
}

// The text of "rand(a,b)" and "randint(a,b)".
bool parse_range(const std::string& text, const char* function, const std::string& path,
                 std::pair<double, double>& range) {
  static const std::regex number(R"([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)");
  const std::string begin = function + std::string("(");
  if (!text.starts_with(begin) || !text.ends_with(')')) return false;
  const std::vector<std::string> ends =
      split(text.substr(begin.size(), text.size() - begin.size() - 1), ',');
  std::vector<double> values;
  for (const std::string& end : ends) {
    const std::string stripped(strip(end));
    if (!std::regex_match(stripped, number))
      usage(path, "cannot read '" + stripped + "' in '" + text + "'",
            "write two numbers: " + begin + "0,1)");
    values.push_back(std::strtod(stripped.c_str(), nullptr));
  }
  if (values.size() != 2)
    usage(path, "'" + text + "' has " + plural(values.size(), "end") + ", not 2",
          "write two numbers: " + begin + "0,1)");
  if (values[0] > values[1]) usage(path, "'" + text + "' ends before it begins");
  range = {values[0], values[1]};
  return true;
}

// randint(a,b): a <= n < b.
std::pair<int64_t, int64_t> whole_range(const std::pair<double, double>& range,
                                        const std::string& text, const std::string& path) {
  constexpr double most = 9e18;
  for (const double end : {range.first, range.second})
    if (end != std::floor(end) || std::abs(end) > most)
      usage(path, "'" + text + "' needs whole numbers");
  if (range.first == range.second)
    usage(path, "'" + text + "' is an empty range: its end is excluded");
  return {static_cast<int64_t>(range.first), static_cast<int64_t>(range.second)};
}

c10::IValue from_file(const std::string& where, const c10::TypePtr& type, const InputSpec& spec,
                      const std::string& path, ExampleFiles& files) {
  c10::IValue v = files.value(where);
  if (v.isTensor()) {
    at::Tensor t = v.toTensor();
    if (spec.dtype != DType::Undefined) t = represented(t, to_scalar_type(spec.dtype), path);
    if (spec.shape && sizes_of(spec, c10::IValue(t), path) != t.sizes().vec())
      usage(path, where + " does not have the specified shape");
    v = t;
  }
  return retype(v, type, path);
}

// A number has no axes, and a type of its own: n:scalar@i64=3 is an int.
void require_number_form(const InputSpec& spec, const c10::TypePtr& type, const std::string& path) {
  const bool whole = type->kind() == c10::TypeKind::IntType;
  const bool flag = type->kind() == c10::TypeKind::BoolType;
  if (!whole && !flag && type->kind() != c10::TypeKind::FloatType) return;
  if (spec.shape && !spec.shape->empty())
    usage(path, "is of type " + type->repr_str() + " and has no axes",
          "write it as " + path + "=VALUE");
  if (spec.dtype == DType::Undefined) return;
  const bool fits = whole  ? is_integer(spec.dtype)
                    : flag ? spec.dtype == DType::Bool
                           : is_float(spec.dtype);
  if (!fits)
    usage(path, "is of type " + type->repr_str() + ", not " + std::string(name(spec.dtype)));
}

// Whole numbers that int64 does not hold; TorchScript has no other integers.
void refuse_huge(const json& j, const std::string& path) {
  if (j.is_number_unsigned() && j.get<uint64_t>() > uint64_t{INT64_MAX})
    usage(path, "the number " + j.dump() + " is too large");
  if (j.is_structured())
    for (const json& e : j) refuse_huge(e, path);
}

const std::vector<std::string>& value_words() {
  static const std::vector<std::string> words = {"zeros",     "ones",         "arange", "randn",
                                                 "rand(a,b)", "randint(a,b)", "none"};
  return words;
}

// A tensor from one of the words; nullopt when the text is none of them.
std::optional<at::Tensor> from_word(const InputSpec& spec, const c10::IValue& like,
                                    const std::string& path, uint64_t seed) {
  const auto type = [&](c10::ScalarType otherwise) {
    if (spec.dtype != DType::Undefined) return to_scalar_type(spec.dtype);
    return like.isTensor() ? like.toTensor().scalar_type() : otherwise;
  };
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const std::string& v = spec.value;
  std::pair<double, double> range;
  if (v.empty()) {
    const std::vector<int64_t> sizes = sizes_of(spec, like, path);
    const c10::ScalarType t = type(at::kFloat);
    if (like.isTensor() && integral(t) && integral(like.toTensor().scalar_type()) &&
        like.toTensor().numel() > 0 && has_data(like.toTensor()))
      return random_like(like.toTensor(), sizes, false, {}, seed).to(t);
    return random_tensor(sizes, t, generator);
  }
  if (v == "zeros") return at::full(sizes_of(spec, like, path), 0, type(at::kFloat));
  if (v == "ones") return at::full(sizes_of(spec, like, path), 1, type(at::kFloat));
  if (v == "randn") return random_tensor(sizes_of(spec, like, path), type(at::kFloat), generator);
  if (v == "arange") {
    const std::vector<int64_t> sizes = sizes_of(spec, like, path);
    const at::Tensor numbers = at::arange(c10::multiply_integers(sizes), at::kLong);
    return represented(numbers.reshape(sizes), type(at::kLong), path);
  }
  if (parse_range(v, "rand", path, range))
    return at::rand(sizes_of(spec, like, path), generator, at::kDouble)
        .mul(range.second - range.first)
        .add(range.first)
        .to(type(at::kFloat));
  if (parse_range(v, "randint", path, range)) {
    const auto [low, high] = whole_range(range, v, path);
    return represented(random_integers(sizes_of(spec, like, path), low, high, at::kLong, generator),
                       type(at::kLong), path);
  }
  return std::nullopt;
}

}  // namespace

c10::TypePtr strip_optional(c10::TypePtr type) {
  while (type->kind() == c10::TypeKind::OptionalType)
    type = type->expectRef<c10::OptionalType>().getElementType();
  return type;
}

c10::IValue retype(const c10::IValue& v, const c10::TypePtr& declared, const std::string& path) {
  if (v.isNone() && declared->kind() == c10::TypeKind::OptionalType) return v;
  const c10::TypePtr type = strip_optional(declared);
  switch (type->kind()) {
    case c10::TypeKind::IntType:
      if (v.isTensor() && v.toTensor().numel() == 1 && integral(v.toTensor().scalar_type()))
        return v.toTensor().item().toLong();
      break;
    case c10::TypeKind::FloatType:
      if (v.isInt()) return static_cast<double>(v.toInt());
      if (v.isTensor() && v.toTensor().numel() == 1 && v.toTensor().is_floating_point())
        return v.toTensor().item().toDouble();
      break;
    case c10::TypeKind::BoolType:
      if (v.isTensor() && v.toTensor().numel() == 1 && v.toTensor().scalar_type() == at::kBool)
        return v.toTensor().item().toBool();
      break;
    case c10::TypeKind::ListType: {
      const auto element = type->expectRef<c10::ListType>().getElementType();
      if (!v.isList() && !v.isTuple()) break;
      c10::impl::GenericList list(element);
      size_t i = 0;
      const auto elements = v.isList() ? v.toListRef() : v.toTupleRef().elements().asArrayRef();
      for (const c10::IValue& e : elements)
        list.push_back(retype(e, element, path + "." + std::to_string(i++)));
      return list;
    }
    case c10::TypeKind::DictType: {
      if (!v.isGenericDict()) break;
      const auto& dict_type = type->expectRef<c10::DictType>();
      c10::impl::GenericDict dict(dict_type.getKeyType(), dict_type.getValueType());
      for (const auto& e : v.toGenericDict())
        dict.insert(
            retype(e.key(), dict_type.getKeyType(), path),
            retype(e.value(), dict_type.getValueType(),
                   path + "." + (e.key().isString() ? e.key().toStringRef() : c10::str(e.key()))));
      return dict;
    }
    case c10::TypeKind::TupleType: {
      if (!v.isList() && !v.isTuple()) break;
      const auto tuple_type = type->expect<c10::TupleType>();
      const auto elements = v.isList() ? v.toListRef() : v.toTupleRef().elements().asArrayRef();
      if (elements.size() != tuple_type->elements().size())
        usage(path, "is a tuple of " + plural(tuple_type->elements().size(), "element") + ", but " +
                        std::to_string(elements.size()) + " were given");
      std::vector<c10::IValue> typed;
      for (size_t i = 0; i < elements.size(); ++i)
        typed.push_back(
            retype(elements[i], tuple_type->elements()[i], path + "." + std::to_string(i)));
      return c10::ivalue::Tuple::createNamed(std::move(typed), tuple_type);
    }
    default:
      break;
  }
  if (type->kind() == c10::TypeKind::AnyType || v.type()->isSubtypeOf(*type)) return v;
  usage(path, "is of type " + type->repr_str() + ", but " + v.type()->repr_str() + " was given");
}

c10::IValue make_value(const InputSpec& spec, const c10::TypePtr& declared, const c10::IValue& like,
                       const std::string& path, uint64_t seed, ExampleFiles& files) {
  const c10::TypePtr type = strip_optional(declared);
  const std::string& v = spec.value;
  if (v == "none") {
    if (declared->kind() != c10::TypeKind::OptionalType &&
        declared->kind() != c10::TypeKind::NoneType)
      usage(path, "is of type " + declared->repr_str() + " and cannot be none");
    return {};
  }
  if (v.starts_with("@")) return from_file(v.substr(1), declared, spec, path, files);
  const bool tensor =
      type->kind() == c10::TypeKind::TensorType || type->kind() == c10::TypeKind::AnyType;
  if (tensor)
    if (auto t = from_word(spec, like, path, seed)) return *t;
  if (v.empty()) {
    if (!like.isNone()) return like;
    usage(path, "is of type " + type->repr_str() + " and needs a value",
          "write it as " + path + "=VALUE");
  }
  require_number_form(spec, type, path);
  json j = json::parse(with_specials_quoted(v), nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded() && v.find(',') != std::string::npos)  // 11,7,4 of [11,7,4]
    j = json::parse(with_specials_quoted("[" + v + "]"), nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) {
    if (type->kind() == c10::TypeKind::StringType) return v;
    std::string hint = did_you_mean(v, value_words());
    if (hint.empty()) hint = "write a value as @FILE, JSON, or one of " + join(value_words(), ", ");
    usage(path, "cannot read the value '" + v + "'", hint);
  }
  refuse_huge(j, path);
  return typed_from_json(j, declared, spec, like, path);
}

c10::IValue represented_number(const c10::IValue& v, DType type, const std::string& path) {
  if (type != DType::Undefined) represented(number_tensor(v), to_scalar_type(type), path);
  return number_in(v, type);
}

bool has_data(const at::Tensor& t) { return t.numel() == 0 || t.storage().data() != nullptr; }

std::optional<Range> range_of(const InputSpec& spec, const std::string& path) {
  Range range;
  if (parse_range(spec.value, "rand", path, range)) return range;
  if (!parse_range(spec.value, "randint", path, range)) return std::nullopt;
  const auto [low, high] = whole_range(range, spec.value, path);
  return Range{static_cast<double>(low), static_cast<double>(high - 1)};
}

at::Tensor random_like(const at::Tensor& example, const std::vector<int64_t>& sizes, bool normal,
                       const std::optional<Range>& range, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const c10::ScalarType type = example.scalar_type();
  if (normal || type == c10::ScalarType::Bool || c10::isComplexType(type) || example.numel() == 0)
    return random_tensor(sizes, type, generator);
  if (!integral(type)) {
    const at::Tensor wide = example.to(at::kDouble);
    const auto [low, high] =
        range ? *range : Range{wide.min().item().toDouble(), wide.max().item().toDouble()};
    if (!std::isfinite(low) || !std::isfinite(high)) return random_tensor(sizes, type, generator);
    return at::rand(sizes, generator, at::kDouble).mul(high - low).add(low).to(type);
  }
  const at::Tensor wide = example.to(at::kLong);
  const int64_t low = range ? static_cast<int64_t>(range->first) : wide.min().item().toLong();
  const int64_t high = range ? static_cast<int64_t>(range->second) : wide.max().item().toLong();
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  at::Tensor t =
      random_integers(sizes, low, high < largest ? high + 1 : largest, at::kLong, generator);
  if (t.dim() == 1 && wide.dim() == 1 && wide.numel() > 1) {
    for (const bool descending : {false, true})
      if (wide.equal(std::get<0>(wide.sort(0, descending)))) {
        t = std::get<0>(t.sort(0, descending));
        break;
      }
  }
  return t.to(type);
}

uint64_t leaf_seed(uint64_t seed, size_t leaf) { return seed * 1000003 + leaf; }

}  // namespace oe::torch_io
