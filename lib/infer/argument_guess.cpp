// The arguments of a method as far as they are known, and a guess of the rest.
#include "lib/infer/argument_guess.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "lib/infer/shadow.h"
#include "lib/torch/convert.h"
#include "lib/torch/values.h"

namespace oe::infer {
namespace {

using torch_io::Slot;
using Kind = ArgumentGuess::Kind;

// Names that say that a tensor holds indices, lengths or flags.
bool names_integers(const std::string& path) {
  static const std::regex words(
      R"((^|[._])(\w*ids|tokens?|\w*idx|\w*index|\w*indices|\w*lens|\w*lengths?|labels?|\w*mask)\d*$)",
      std::regex::icase);
  return std::regex_search(path, words);
}

bool is_open(const InputSpec& s) {
  return s.value.empty() || s.value == "randn" || s.value == "zeros" || s.value == "ones" ||
         s.value.starts_with("rand");
}

void fill_from_spec(ArgumentGuess& p, const InputSpec& s, const c10::IValue& like) {
  p.spec = std::make_shared<const InputSpec>(s);
  if (s.dtype != DType::Undefined) {
    p.dtype = torch_io::to_scalar_type(s.dtype);
    p.fixed[kType] = true;
  }
  if (like.isTensor() && s.dtype == DType::Undefined) {
    p.dtype = like.toTensor().scalar_type();
    p.fixed[kType] = true;
  }
  if (!s.shape && like.isTensor()) {
    p.sizes = like.toTensor().sizes().vec();
    p.fixed[kRank] = true;
    for (size_t i = 0; i < p.sizes.size(); ++i) p.fixed[static_cast<int>(i)] = true;
  }
  if (!s.shape) return;
  p.fixed[kRank] = true;
  const std::vector<int64_t> usual = usual_sizes(s.shape->size());
  p.sizes.clear();
  for (size_t i = 0; i < s.shape->size(); ++i) {
    const DimSpec& d = (*s.shape)[i];
    const bool known =
        like.isTensor() && like.toTensor().dim() == static_cast<int64_t>(usual.size());
    const bool named = !d.symbol.empty() || d.low || d.high;
    int64_t n = d.size.value_or(known   ? like.toTensor().size(static_cast<int64_t>(i))
                                : named ? 2
                                        : usual[i]);
    if (!d.size) n = std::max(d.low.value_or(n), std::min(d.high.value_or(n), n));
    p.sizes.push_back(n);
    // '?' is to be found; an axis with a name or bounds has a size as good as any.
    if (d.size || !d.symbol.empty() || d.low || d.high) p.fixed[static_cast<int>(i)] = true;
  }
}

ArgumentGuess from_slot(const Slot& s, c10::ScalarType weights, uint64_t seed,
                        torch_io::ExampleFiles& files) {
  const c10::TypePtr type = torch_io::strip_optional(s.type);
  ArgumentGuess p = new_place(s.type, s.path, weights);
  if (s.kind != Slot::Kind::Leaf) {
    p.kind = s.kind == Slot::Kind::List   ? Kind::List
             : s.kind == Slot::Kind::Dict ? Kind::Dict
                                          : Kind::Tuple;
    p.present = true;
    p.keys = s.keys;
    if (s.open) return p;
    p.children.clear();
    p.fixed[kLength] = true;
    for (const Slot& c : s.children) p.children.push_back(from_slot(c, weights, seed, files));
    return p;
  }
  const c10::IValue like = s.known.value_or(c10::IValue());
  if (s.spec && p.kind == Kind::Tensor && is_open(*s.spec)) {
    p.present = true;
    fill_from_spec(p, *s.spec, like);
  } else if (s.spec) {
    p = ArgumentGuess();
    p.path = s.path;
    p.spec = std::make_shared<const InputSpec>(*s.spec);
    p.type = type;
    p.value = torch_io::make_value(*s.spec, s.type, like, s.path, seed, files);
  } else if (like.isTensor() && !torch_io::has_data(like.toTensor())) {
    p.present = true;
    p.sizes = like.toTensor().sizes().vec();
    p.dtype = like.toTensor().scalar_type();
    p.fixed[kRank] = p.fixed[kType] = true;
    for (size_t i = 0; i < p.sizes.size(); ++i) p.fixed[static_cast<int>(i)] = true;
  } else if (s.known) {
    p = ArgumentGuess();
    p.path = s.path;
    p.type = type;
    p.value = *s.known;
  }
  return p;
}

template <class P, class G>
void collect(P& p, std::vector<G>& out) {
  out.push_back(&p);
  if (p.present)
    for (auto& c : p.children) collect(c, out);
}

at::Tensor tensor_of(const ArgumentGuess& p, bool computed, int draw) {
  const int64_t n = c10::multiply_integers(p.sizes);
  const auto options = at::TensorOptions().dtype(p.dtype);
  if (!computed && n > kComputed) return at::empty(p.sizes, options.device(c10::kMeta));
  const at::Generator generator =
      at::detail::createCPUGenerator(p.index + 1 + 1000 * static_cast<uint64_t>(draw));
  if (c10::isIntegralType(p.dtype, /*includeBool=*/true))
    return at::randint(p.low, std::max(p.high, p.low + 1), p.sizes, generator, at::kLong)
        .to(p.dtype);
  if (p.unit) return at::rand(p.sizes, generator, at::kFloat).to(p.dtype);
  return at::randn(p.sizes, generator, at::kFloat).to(p.dtype);
}

c10::IValue value_of(const ArgumentGuess& p, bool computed, int draw,
                     std::vector<std::pair<at::Tensor, Mask>>& tensors) {
  if (!p.present) return {};
  switch (p.kind) {
    case Kind::Tensor:
      tensors.emplace_back(tensor_of(p, computed, draw), bit_of(p.index));
      return tensors.back().first;
    case Kind::Given:
      if (computed) return map_tensors(p.value, [](const at::Tensor& t) { return t.to(at::kCPU); });
      return map_tensors(p.value, without_data);
    case Kind::Number:
    case Kind::String:
      return p.value;
    default:
      break;
  }
  std::vector<c10::IValue> children;
  for (const ArgumentGuess& c : p.children)
    children.push_back(value_of(c, computed, draw, tensors));
  if (p.kind == Kind::Tuple)
    return c10::ivalue::Tuple::createNamed(std::move(children), p.type->expect<c10::TupleType>());
  if (p.kind == Kind::List) {
    c10::impl::GenericList list(p.type->expectRef<c10::ListType>().getElementType());
    for (c10::IValue& c : children) list.push_back(std::move(c));
    return list;
  }
  const auto& t = p.type->expectRef<c10::DictType>();
  c10::impl::GenericDict dict(t.getKeyType(), t.getValueType());
  for (size_t i = 0; i < children.size(); ++i) dict.insert(p.keys[i], std::move(children[i]));
  return dict;
}

void add_specs(const ArgumentGuess& p, std::vector<InputSpec>& out) {
  InputSpec s;
  s.name = p.path;
  if (!p.present) {
    s.value = "none";
    out.push_back(s);
    return;
  }
  switch (p.kind) {
    case Kind::Given:
      if (!p.spec) return;  // the file knows it
      s = *p.spec;
      s.name = p.path;
      break;
    case Kind::Number:
      if (p.value.isBool())
        s.value = p.value.toBool() ? "true" : "false";
      else
        s.value = p.value.isInt() ? std::to_string(p.value.toInt())
                                  : nlohmann::json(p.value.toDouble()).dump();
      break;
    case Kind::String:
      s.value = nlohmann::json(p.value.toStringRef()).dump();
      break;
    case Kind::Tensor: {
      if (p.spec) s = *p.spec;
      s.name = p.path;
      const bool named = s.shape && s.shape->size() == p.sizes.size();
      std::vector<DimSpec> dims = named ? *s.shape : std::vector<DimSpec>(p.sizes.size());
      for (size_t i = 0; i < dims.size(); ++i) dims[i].size = p.sizes[i];
      s.shape = std::move(dims);
      s.dtype = torch_io::to_dtype(p.dtype);
      if (s.value.empty() && c10::isIntegralType(p.dtype, false) && (p.low != 0 || p.high != 2))
        s.value = "randint(" + std::to_string(p.low) + "," + std::to_string(p.high) + ")";
      if (s.value.empty() && p.unit) s.value = "rand(0,1)";
      break;
    }
    default:
      if (p.children.empty() && p.kind != Kind::Tuple) {
        s.value = p.kind == Kind::List ? "[]" : "{}";
        break;
      }
      for (const ArgumentGuess& c : p.children) add_specs(c, out);
      return;
  }
  out.push_back(std::move(s));
}

}  // namespace

bool ArgumentGuess::assign(const std::vector<int64_t>& to, const std::string& why) {
  const bool same_rank = sizes.size() == to.size();
  if (is_fixed(kRank) && !same_rank) return false;
  for (size_t i = 0; i < to.size(); ++i)
    if (is_fixed(static_cast<int>(i)) && sizes[i] != to[i]) return false;
  const std::vector<int64_t> were = same_rank ? sizes : usual_sizes(to.size());
  if (!same_rank) {
    reason.clear();
    reason[kRank] = why;
  }
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] != were[i]) reason[static_cast<int>(i)] = why;
  sizes = to;
  return true;
}

std::vector<ArgumentGuess*> Guess::places() {
  std::vector<ArgumentGuess*> all;
  for (ArgumentGuess& p : arguments) collect(p, all);
  return all;
}

std::vector<const ArgumentGuess*> Guess::places() const {
  std::vector<const ArgumentGuess*> all;
  for (const ArgumentGuess& p : arguments) collect(p, all);
  return all;
}

std::string Guess::key() const {
  std::string key;
  for (const ArgumentGuess* p : places()) {
    key += p->path + (p->present ? ":" : "-");
    if (p->kind == Kind::Tensor) {
      for (const int64_t n : p->sizes) key += std::to_string(n) + "x";
      key += "@" + std::to_string(static_cast<int>(p->dtype)) + std::to_string(p->low) + "<" +
             std::to_string(p->high) + (p->unit ? "u" : "");
    } else if (p->kind == Kind::Number || p->kind == Kind::String) {
      key += c10::str(p->value);
    }
    key += ";";
  }
  return key;
}

Mask bit_of(size_t index) { return Mask{1} << std::min<size_t>(index, 63); }

std::vector<int64_t> usual_sizes(size_t rank) {
  switch (rank) {
    case 0:
      return {};
    case 1:
      return {16};
    case 2:
      return {1, 16};
    case 3:
      return {1, 16, 16};
    case 4:
      return {1, 3, 224, 224};
    case 5:
      return {1, 3, 16, 112, 112};
    default: {
      std::vector<int64_t> sizes(rank, 4);
      sizes[0] = 1;
      return sizes;
    }
  }
}

ArgumentGuess new_place(const c10::TypePtr& declared, const std::string& path,
                        c10::ScalarType weights) {
  ArgumentGuess p;
  p.path = path;
  p.type = torch_io::strip_optional(declared);
  p.optional = declared->kind() == c10::TypeKind::OptionalType;
  p.present = !p.optional;
  switch (p.type->kind()) {
    case c10::TypeKind::TensorType:
      p.kind = Kind::Tensor;
      p.dtype = names_integers(path) ? c10::ScalarType::Long : weights;
      if (p.dtype != weights) p.reason[kType] = "chosen by its name: another type may work as well";
      p.sizes = usual_sizes(2);
      break;
    case c10::TypeKind::IntType:
    case c10::TypeKind::NumberType:
      p.kind = Kind::Number;
      p.value = int64_t{1};
      break;
    case c10::TypeKind::FloatType:
      p.kind = Kind::Number;
      p.value = 1.0;
      break;
    case c10::TypeKind::BoolType:
      p.kind = Kind::Number;
      p.value = false;
      break;
    case c10::TypeKind::StringType:
      p.kind = Kind::String;
      p.value = std::string();
      break;
    case c10::TypeKind::TupleType: {
      p.kind = Kind::Tuple;
      const auto& t = p.type->expectRef<c10::TupleType>();
      const auto names = t.names();
      for (size_t i = 0; i < t.elements().size(); ++i)
        p.children.push_back(new_place(
            t.elements()[i], path + "." + (names ? std::string((*names)[i]) : std::to_string(i)),
            weights));
      break;
    }
    case c10::TypeKind::ListType:
      p.kind = Kind::List;
      p.children.push_back(
          new_place(p.type->expectRef<c10::ListType>().getElementType(), path + ".0", weights));
      break;
    case c10::TypeKind::DictType:
      p.kind = Kind::Dict;
      break;
    default:
      break;
  }
  return p;
}

void number(Guess& g) {
  size_t i = 0;
  for (ArgumentGuess* p : g.places()) p->index = i++;
}

Guess first_guess(const std::vector<Slot>& slots, c10::ScalarType weights, uint64_t seed,
                  torch_io::ExampleFiles& files) {
  Guess g;
  for (const Slot& s : slots) g.arguments.push_back(from_slot(s, weights, seed, files));
  number(g);
  return g;
}

bool is_complete(const Guess& g, bool but_types) {
  for (const ArgumentGuess* p : g.places()) {
    if (p->kind == Kind::Given || p->kind == Kind::Tuple) continue;
    if (p->kind == Kind::Tensor) {
      if (!p->is_fixed(kRank) || (!but_types && !p->is_fixed(kType))) return false;
      for (size_t i = 0; i < p->sizes.size(); ++i)
        if (!p->is_fixed(static_cast<int>(i))) return false;
    } else if (!p->is_fixed(kLength)) {
      return false;
    }
  }
  return true;
}

Arguments arguments_of(const Guess& g, bool computed, int draw) {
  Arguments all;
  for (const ArgumentGuess& p : g.arguments) {
    Cell c;
    c.value = value_of(p, computed, draw, all.tensors);
    // Which entries there are, and numbers, depend on these places; tensors have their own masks.
    std::vector<const ArgumentGuess*> inner;
    collect(p, inner);
    for (const ArgumentGuess* i : inner)
      if (i->kind != Kind::Tensor) c.mask |= bit_of(i->index);
    all.values.push_back(std::move(c));
  }
  return all;
}

std::vector<InputSpec> specs_of(const Guess& g) {
  std::vector<InputSpec> out;
  for (const ArgumentGuess& p : g.arguments) add_specs(p, out);
  return out;
}

}  // namespace oe::infer
