// The parts of the program's complex values.
#include "lib/lower/complex/parts.h"

#include <span>

namespace oe::lower {
namespace {

// Every second element of a complex constant, from `first` on.
TensorPtr part_of(const Tensor& t, size_t first) {
  const auto every_second = [&]<class N>(std::span<const N> all) {
    std::vector<N> out;
    out.reserve(all.size() / 2);
    for (size_t i = first; i < all.size(); i += 2) out.push_back(all[i]);
    return Tensor::of<N>(part_type(t.dtype()), t.dims(), out);
  };
  const auto n = static_cast<size_t>(2 * t.numel());
  if (t.dtype() == DType::Complex64)
    return every_second(std::span(static_cast<const float*>(t.data()), n));
  return every_second(std::span(static_cast<const double*>(t.data()), n));
}

}  // namespace

bool is_complex(const program::Type& t) {
  return t.kind == program::Type::Kind::Tensor && oe::is_complex(t.dtype);
}

bool is_complex(const program::Arg& a) {
  if (std::holds_alternative<program::ComplexNumber>(a.v)) return true;
  if (auto* v = a.value()) return is_complex(v->type);
  if (auto* list = std::get_if<program::Args>(&a.v))
    for (const program::Arg& e : *list)
      if (is_complex(e)) return true;
  return false;
}

program::Value* Parts::made(program::Type type) {
  values_.push_back({0, std::move(type), "", nullptr, nullptr});
  return &values_.back();
}

const Parts::Pair& Parts::of(const program::Value* v) {
  auto [it, fresh] = pairs_.try_emplace(v);
  if (!fresh) return it->second;
  const auto part = [&](const char* suffix, size_t first) {
    program::Value* p = made(program::Type::tensor(part_type(v->type.dtype), v->type.shape));
    p->name = v->name.empty() ? "" : v->name + suffix;
    p->producer = v->producer;
    if (v->constant) p->constant = part_of(*v->constant, first);
    return p;
  };
  it->second = {part(".real", 0), part(".imag", 1)};
  return it->second;
}

}  // namespace oe::lower
