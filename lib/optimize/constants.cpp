// Constant nodes become initializers, those of nested graphs too.
//
//   c = Constant <value = float[2] {1.0, 2.0}> ()       <float[2] c = {1.0, 2.0}>
//   y = Add (x, c)                                  =>  y = Add (x, c)
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

TensorPtr value_of(const Node& n) {
  if (const auto* t = n.attributes.get<TensorPtr>("value")) return *t;
  if (const auto* i = n.attributes.get<int64_t>("value_int"))
    return Tensor::of<int64_t>(DType::Int64, {}, {*i});
  if (const auto* f = n.attributes.get<float>("value_float"))
    return Tensor::of<float>(DType::Float, {}, {*f});
  if (const auto* s = n.attributes.get<std::string>("value_string"))
    return std::make_shared<const Tensor>(std::vector<int64_t>{}, Strings{*s});
  auto length = [](const auto& list) {
    return std::vector<int64_t>{static_cast<int64_t>(list.size())};
  };
  if (const auto* i = n.attributes.get<Ints>("value_ints"))
    return Tensor::of<int64_t>(DType::Int64, length(*i), *i);
  if (const auto* f = n.attributes.get<Floats>("value_floats"))
    return Tensor::of<float>(DType::Float, length(*f), *f);
  if (const auto* s = n.attributes.get<Strings>("value_strings"))
    return std::make_shared<const Tensor>(length(*s), *s);
  return nullptr;
}

}  // namespace

bool constants_to_initializers(Model& m, const Options&) {
  Rewriter r(m);
  return r.walk([&](Node& n) {
    if (!n.is("Constant")) return;
    if (TensorPtr t = value_of(n)) r.become_constant(n, std::move(t));
  });
}

}  // namespace oe::optimize
