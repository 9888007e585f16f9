// Values as the arguments of operators: what LibTorch gets in a world, and what is recorded.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

bool is_custom_class(const ObjectCell& o) {
  return o.type->name() && o.type->name()->prefix().find("torch.classes") != std::string::npos;
}

}  // namespace

c10::IValue Apply::value(const AbstractValue& s, size_t w) {
  auto missing = [&]() -> c10::IValue {
    if (ex_.made_up.wanted(w)) {
      if (s.is_number()) return ex_.made_up.of(s);
      if (s.is(K::Tensor)) return ex_.made_up.of(ex_.views.read(s.tensor()), w);
    }
    fail(w, "a value is not known in this world");
    throw Unreachable{"a value is not known in this world"};
  };
  switch (s.kind) {
    case K::None:
      return {};
    case K::Tensor: {
      TensorValuePtr t = ex_.views.read(s.tensor());
      return t->c.has(w) ? t->c.at(w) : missing();
    }
    case K::List: {
      if (s.list()->is_open()) return ex_.open_lists.value(s.list()->open, s.list()->element, w);
      c10::impl::GenericList list(s.list()->element);
      list.reserve(s.list()->items.size());
      for (const AbstractValue& e : s.list()->items) list.push_back(value(e, w));
      return list;
    }
    case K::Dict: {
      c10::impl::GenericDict dict(s.dict()->key, s.dict()->value);
      for (const auto& [k, v] : s.dict()->items) {
        const bool perhaps = v.is(K::Maybe) && s.dict()->may_lack_entries();
        if (!perhaps || value(v.tuple().at(0), w).toBool())
          dict.insert(value(k, w), value(perhaps ? v.tuple().at(1) : v, w));
      }
      return dict;
    }
    case K::Tuple: {
      std::vector<c10::IValue> items;
      for (const AbstractValue& e : s.tuple()) items.push_back(value(e, w));
      if (auto t = s.type() ? s.type()->cast<c10::TupleType>() : nullptr; t && t->schema())
        return c10::ivalue::Tuple::createNamed(std::move(items), t);
      return c10::ivalue::Tuple::create(std::move(items));
    }
    case K::Object: {
      // One of LibTorch's own classes: what it holds is in C++.
      if (s.object()->object && is_custom_class(*s.object())) return s.object()->object;
      auto object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, s.object()->type),
                                                s.object()->type->numAttributes());
      return c10::IValue(object);
    }
    case K::Maybe:
      return value(s.tuple().at(0), w).toBool() ? value(s.tuple().at(1), w) : c10::IValue();
    case K::Sequence:
      return s.sequence()->c.has(w) ? s.sequence()->c.at(w) : missing();
    case K::Uninitialized:
      ex_.site.refuse("OE4009", "a value is used that was never assigned");
    default:
      return s.c.has(w) ? s.c.at(w) : missing();
  }
}

program::Arg Apply::arg(const AbstractValue& s) {
  if (!ex_.recorder.on()) return {};
  switch (s.kind) {
    case K::None:
      return {};
    case K::Tensor:
      return {ex_.recorder.value(ex_.views.read(s.tensor()))};
    case K::Sequence:
      return {s.sequence()->recorded};
    case K::ViewList:
      return arg(ex_.places.copied(s));
    case K::Maybe:
      ex_.site.refuse(
          "OE4012",
          "a value that is None or something else, depending on the input, is used as it is",
          "test it with 'is None' first: ONNX operators take no optional values");
    case K::List: {
      if (s.list()->is_open()) return arg(s.list()->open);
      program::Args items;
      for (const AbstractValue& e : s.list()->items) items.push_back(arg(e));
      return {std::move(items)};
    }
    case K::Int:
    case K::Float:
    case K::Bool:
      if (s.taint != Taint::Constant) {
        if (!s.recorded)
          throw Failure(ExitCode::Internal, "OE1005", "a computed number was never recorded", "",
                        ex_.site.here());
        return {s.recorded};
      }
      if (s.is(K::Int)) return {s.c.at(0).toInt()};
      if (s.is(K::Float)) return {s.c.at(0).toDouble()};
      return {s.c.at(0).toBool()};
    case K::String:
      if (s.taint != Taint::Constant)
        ex_.site.refuse("OE4010", "a string depends on the input; ONNX graphs cannot compute it");
      return {s.c.at(0).toStringRef()};
    case K::Opaque:
      if (s.c.at(0).isDevice()) return {s.c.at(0).toDevice().str()};
      if (s.c.at(0).isComplexDouble()) {
        const c10::complex<double> z = s.c.at(0).toComplexDouble();
        return {program::ComplexNumber{z.real(), z.imag()}};
      }
      return {};
    case K::Object:
      // No row takes one: the operator itself is what is reported, with its line.
      if (is_custom_class(*s.object())) return {};
      [[fallthrough]];
    default:
      ex_.site.refuse("OE4012", "a value of this kind cannot be an argument of an ONNX operator");
  }
}

}  // namespace oe::capture
