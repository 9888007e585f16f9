// Arguments by type and by the names that LibTorch gives them.
#include "tests/axes/samples.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>

#include "lib/support/text.h"

namespace oe::axes {
namespace {

using Kind = Value::Kind;
using c10::TypeKind;

bool is_list_of(const c10::TypePtr& type, TypeKind kind) {
  const auto list = type->cast<c10::ListType>();
  return list && list->getElementType()->kind() == kind;
}

bool is_tensors(const c10::TypePtr& type) {
  const auto list = type->cast<c10::ListType>();
  if (!list) return false;
  const auto optional = list->getElementType()->cast<c10::OptionalType>();
  return (optional ? optional->getElementType() : list->getElementType())->kind() ==
         TypeKind::TensorType;
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

Value fixed(c10::IValue v) {
  Value out;
  out.fixed = std::move(v);
  return out;
}

Value number(Size size) {
  Value out;
  out.kind = Kind::Int;
  out.size = size;
  return out;
}

Value boolean(bool b) {
  Value out;
  out.kind = Kind::Bool;
  out.fixed = b;
  return out;
}

Value tensor(TensorSpec spec) {
  Value out;
  out.kind = Kind::Tensor;
  out.tensor = std::move(spec);
  return out;
}

Value list_of(c10::TypePtr element, std::vector<Value> items = {}) {
  Value out;
  out.kind = Kind::List;
  out.element = std::move(element);
  out.items = std::move(items);
  return out;
}

// A value that is given, as what may vary.
Value given(const c10::IValue& v, const c10::TypePtr& type) {
  if (v.isInt()) return number({-1, 1, v.toInt()});
  if (v.isBool()) return boolean(v.toBool());
  if (v.isIntList() && type->kind() == TypeKind::ListType) {
    Value out = list_of(c10::IntType::get());
    for (const int64_t n : v.toIntVector()) out.items.push_back(number({-1, 1, n}));
    return out;
  }
  return fixed(v);
}

// Element types, devices, layouts: numbers that never are sizes.
bool is_enumeration(const c10::Argument& a) {
  const TypeKind kind = without_optional(a.real_type())->kind();
  return kind == TypeKind::ScalarTypeType || kind == TypeKind::LayoutType ||
         kind == TypeKind::MemoryFormatType || kind == TypeKind::DeviceObjType;
}

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  Value of(const c10::Argument& a) {
    const c10::TypePtr type = without_optional(a.type());
    const bool optional = type != a.type();
    if (is_enumeration(a)) {
      if (a.default_value() || optional) return fixed(a.default_value().value_or(c10::IValue()));
      if (type->kind() == TypeKind::DeviceObjType) return fixed(c10::Device(c10::kCPU));
      return fixed(int64_t{6});  // float32
    }
    if (a.default_value() && !a.name().starts_with("return_") &&
        random_.chance(type->kind() == TypeKind::TensorType ? 30 : 60))
      return given(*a.default_value(), type);
    if (optional && random_.chance(50)) return fixed({});
    return of_type(type, a.name(), a.N());
  }

 private:
  Value of_type(const c10::TypePtr& type, const std::string& name, std::optional<int32_t> n) {
    switch (type->kind()) {
      case TypeKind::TensorType:
        return tensor({shape(), dtype(name), 2, {}, random_.next()});
      case TypeKind::IntType:
        return number(integer(name));
      case TypeKind::NumberType:
        if (random_.chance(30)) return fixed(0.5);
        return number(integer(name));
      case TypeKind::FloatType:
        return fixed(random_.chance(50) ? 0.5 : 1.0);
      case TypeKind::BoolType:
        // Results that a flag leaves out are whatever the kernel left there.
        if (name.starts_with("return_") && name != "return_mask") return fixed(true);
        return boolean(random_.chance(50));
      case TypeKind::StringType:
        return fixed(string(name));
      default:
        break;
    }
    if (is_list_of(type, TypeKind::IntType)) return integers(name, n);
    if (is_tensors(type)) return tensors(type);
    if (is_list_of(type, TypeKind::BoolType))
      return fixed(std::vector<bool>(static_cast<size_t>(n.value_or(2)), true));
    if (is_list_of(type, TypeKind::FloatType))
      return fixed(std::vector<double>(static_cast<size_t>(n.value_or(2)), 2.0));
    if (is_list_of(type, TypeKind::NumberType)) {
      Value out = list_of(c10::NumberType::get());
      for (int i = 0; i < 2; ++i) out.items.push_back(number({-1, 1, random_.below(3)}));
      return out;
    }
    return fixed({});
  }

  Size letter() { return {static_cast<int>(random_.below(4))}; }
  Size axis() {
    const int64_t which = random_.below(100);
    if (which < 82) return letter();
    if (which < 90) return {-1, 1, 1};
    if (which < 95) return {kOne};
    return {-1, 1, random_.below(3) + 2};
  }

  std::vector<Size> shape() {
    std::vector<Size> out;
    if (!shapes_.empty() && random_.chance(60)) {
      out = random_.of(shapes_);
      const int64_t change = random_.below(10);
      if (change == 0 && !out.empty()) out.erase(out.begin());
      if (change == 1 && !out.empty()) out.pop_back();
      if (change == 2 && !out.empty()) out = {random_.of(out)};
      if (change == 3 && out.size() > 1) std::swap(out[out.size() - 1], out[out.size() - 2]);
      if (change == 4 && !out.empty()) out[static_cast<size_t>(below(out.size()))] = axis();
    } else {
      const int64_t rank = random_.of(ranks_);
      for (int64_t i = 0; i < rank; ++i) out.push_back(axis());
    }
    shapes_.push_back(out);
    return out;
  }
  int64_t below(size_t n) { return random_.below(static_cast<int64_t>(n)); }

  c10::ScalarType dtype(const std::string& name) {
    static const std::set<std::string> integers = {
        "index",   "indices", "target",      "repeats",
        "offsets", "lengths", "batch_sizes", "tensor_indices_or_sections"};
    if (integers.contains(name)) return random_.chance(85) ? c10::kLong : c10::kBool;
    if (name == "mask" || name == "condition") return random_.chance(80) ? c10::kBool : c10::kLong;
    const int64_t which = random_.below(100);
    return which < 74 ? c10::kFloat : which < 92 ? c10::kLong : c10::kBool;
  }

  static bool is_dim(const std::string& name) {
    static const std::set<std::string> names = {
        "dim",         "dims",      "dim0",      "dim1",      "dim2",    "axis",
        "axis0",       "axis1",     "axes",      "start_dim", "end_dim", "source",
        "destination", "dimension", "dims_self", "dims_other"};
    return names.contains(name);
  }

  Size integer(const std::string& name) {
    if (is_dim(name)) return {-1, 1, random_.of(dims_)};
    if (random_.chance(50)) return letter();
    return {-1, 1, random_.of(small_)};
  }

  Value integers(const std::string& name, std::optional<int32_t> n) {
    Value out = list_of(c10::IntType::get());
    if (is_dim(name) || name == "shifts") {
      std::vector<int64_t> choice = {0, 1, 2};
      const int64_t count = random_.below(3) + (random_.chance(90) ? 1 : 0);
      for (int64_t i = 0; i < count && !choice.empty(); ++i) {
        const size_t at = static_cast<size_t>(below(choice.size()));
        out.items.push_back(number({-1, 1, choice[at] - (random_.chance(10) ? 3 : 0)}));
        choice.erase(choice.begin() + static_cast<long>(at));
      }
      return out;
    }
    if (!shapes_.empty() && random_.chance(35)) {
      for (const Size& s : random_.of(shapes_)) out.items.push_back(number(s));
      if (random_.chance(40) && !out.items.empty())
        out.items[static_cast<size_t>(below(out.items.size()))] = number({-1, 1, -1});
      if (random_.chance(20)) out.items.insert(out.items.begin(), number(axis()));
      return out;
    }
    const int64_t count = n.value_or(0) > 0 ? *n : random_.below(4) + 1;
    for (int64_t i = 0; i < count; ++i)
      out.items.push_back(number(random_.chance(50) ? letter() : Size{-1, 1, random_.of(small_)}));
    return out;
  }

  Value tensors(const c10::TypePtr& type) {
    const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
    Value out = list_of(element);
    if (element->kind() == TypeKind::OptionalType) {  // indices
      const int64_t count = random_.below(3) + 1;
      for (int64_t i = 0; i < count; ++i) {
        if (random_.chance(25)) {
          out.items.push_back(fixed({}));
        } else {
          const c10::ScalarType type = random_.chance(75) ? c10::kLong : c10::kBool;
          out.items.push_back(tensor({shape(), type, 2, {}, random_.next()}));
        }
      }
      return out;
    }
    const std::vector<Size> first = shape();
    const int64_t count = random_.below(3) + 1;
    for (int64_t i = 0; i < count; ++i) {
      TensorSpec spec{first, c10::kFloat, 2, {}, random_.next()};
      if (random_.chance(40) && !first.empty())
        spec.shape[static_cast<size_t>(below(first.size()))] = axis();
      if (random_.chance(15)) spec.shape = shape();
      out.items.push_back(tensor(std::move(spec)));
    }
    return out;
  }

  std::string string(const std::string& name) {
    static const std::map<std::string, std::vector<std::string>> texts = {
        {"mode", {"constant", "reflect", "replicate", "circular"}},
        {"reduce", {"sum", "amax", "mean", "prod"}},
        {"reduction", {"sum", "mean", "none"}},
        {"rounding_mode", {"floor", "trunc"}},
        {"padding", {"same", "valid"}},
        {"indexing", {"ij", "xy"}},
        {"interpolation", {"linear", "nearest"}},
        {"approximate", {"none", "tanh"}},
        {"equation", {"ij,jk->ik", "i,j->ij", "bij,bjk->bik", "ij->ji", "ii->i", "ij,ij->j"}},
        {"side", {"left", "right"}}};
    const auto it = texts.find(name);
    return it == texts.end() ? "none" : random_.of(it->second);
  }

  Random& random_;
  std::vector<std::vector<Size>> shapes_;  // of the tensors so far
  inline static const std::vector<int64_t> ranks_ = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4};
  inline static const std::vector<int64_t> dims_ = {0, 0, 1, 1, 2, -1, -1, -2};
  inline static const std::vector<int64_t> small_ = {0, 1, 1, 2, 2, -1, 3};
};

// "self=f[a,2] dim=1" and what is in it.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::map<std::string, Value> arguments() {
    std::map<std::string, Value> out;
    while (at_ < text_.size()) {
      const size_t equals = text_.find('=', at_);
      if (equals == std::string_view::npos) fail();
      const std::string name(text_.substr(at_, equals - at_));
      at_ = equals + 1;
      out.emplace(name, value());
      if (at_ < text_.size() && text_[at_++] != ' ') fail();
    }
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("cannot read '" + std::string(text_) + "' from its character " +
                             std::to_string(at_));
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  std::string until(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string out(text_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

  Value value() {
    if (take("None")) return fixed({});
    if (take("True")) return boolean(true);
    if (take("False")) return boolean(false);
    if (take("'")) {
      const std::string text = until("'");
      ++at_;
      return fixed(text);
    }
    if (take("(")) {
      Value out = list_of(c10::TensorType::get());
      while (!take(")")) {
        out.items.push_back(value());
        take(";");
      }
      return out;
    }
    if (take("{")) {
      TensorSpec spec;
      spec.dtype = c10::kLong;
      for (const std::string& n : oe::split(until("}"), ',')) spec.values.push_back(std::stoll(n));
      spec.shape = {{-1, 1, static_cast<int64_t>(spec.values.size())}};
      ++at_;
      return tensor(std::move(spec));
    }
    if (take("[")) {
      const std::string_view list = text_.substr(at_, text_.find(']', at_) - at_);
      if (list.find('.') == std::string_view::npos) return numbers();
      std::vector<double> out;
      for (const std::string& n : oe::split(until("]"), ',')) out.push_back(std::stod(n));
      ++at_;
      return fixed(out);
    }
    const std::string rest(text_.substr(at_, text_.find_first_of(" ;)", at_) - at_));
    if (const size_t open = rest.find('['); open != std::string::npos) return tensor_value(open);
    const std::string text = until(" ;)");
    if (text.find('.') != std::string::npos) return fixed(std::stod(text));
    return number(size(text));
  }

  Value tensor_value(size_t open) {
    static const std::map<char, c10::ScalarType> types = {
        {'f', c10::kFloat}, {'i', c10::kLong}, {'b', c10::kBool}, {'c', c10::kComplexFloat}};
    TensorSpec spec;
    spec.dtype = types.at(text_[at_]);
    spec.seed = at_ + 1;
    if (open > 1) spec.high = std::stoll(std::string(text_.substr(at_ + 1, open - 1)));
    at_ += open + 1;
    for (const Value& v : numbers().items) spec.shape.push_back(v.size);
    return tensor(std::move(spec));
  }

  Value numbers() {
    Value out = list_of(c10::IntType::get());
    for (const std::string& n : oe::split(until("]"), ','))
      if (n == "None")
        out.items.push_back(fixed({}));
      else if (!n.empty())
        out.items.push_back(number(size(n)));
    ++at_;
    return out;
  }

  Size size(const std::string& text) const {
    const size_t letter = text.find_first_of("abcdefg");
    if (letter == std::string::npos) return {-1, 1, std::stoll(text)};
    Size out{text[letter] - 'a'};
    if (letter > 0) out.times = std::stoll(text.substr(0, letter));
    if (letter + 1 < text.size()) out.plus = std::stoll(text.substr(letter + 1));
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string outside(const c10::FunctionSchema& schema) {
  const auto has = [](const std::vector<c10::Argument>& list, std::string_view what) {
    return std::ranges::any_of(list, [&](const c10::Argument& a) {
      return a.real_type()->str().find(what) != std::string::npos;
    });
  };
  if (schema.is_mutable()) return "writes an argument";
  if (!has(schema.returns(), "Tensor")) return "gives no tensor";
  for (const c10::Argument& a : schema.arguments())
    if (a.name() == "names" || a.real_type()->str().find("Dimname") != std::string::npos)
      return "names axes";
  if (schema.is_vararg() || schema.is_varret()) return "has any number of arguments";
  return "";
}

Sample drawn(const c10::FunctionSchema& schema, Random& random) {
  Drawing drawing(random);
  Sample out;
  for (const c10::Argument& a : schema.arguments()) out.push_back(drawing.of(a));
  return out;
}

Sample parse(const c10::FunctionSchema& schema, std::string_view arguments) {
  std::map<std::string, Value> named = Parser(arguments).arguments();
  Sample out;
  for (const c10::Argument& a : schema.arguments()) {
    const c10::TypePtr type = without_optional(a.type());
    const auto it = named.find(a.name());
    if (it == named.end()) {
      out.push_back(given(a.default_value().value_or(c10::IValue()), type));
      if (is_enumeration(a)) out.back() = fixed(a.default_value().value_or(c10::IValue()));
      if (a.type()->kind() == TypeKind::DeviceObjType) out.back() = fixed(c10::Device(c10::kCPU));
      continue;
    }
    Value v = std::move(it->second);
    named.erase(it);
    if (const auto list = type->cast<c10::ListType>(); list && v.kind == Kind::List) {
      v.element = list->getElementType();
      if (v.element->kind() == TypeKind::VarType) v.element = c10::IntType::get();
    }
    if (is_enumeration(a) && v.kind == Kind::Int) v = fixed(v.size.plus);
    out.push_back(std::move(v));
  }
  if (!named.empty())
    throw std::runtime_error(schema.name() + " has no argument " + named.begin()->first);
  return out;
}

}  // namespace oe::axes
