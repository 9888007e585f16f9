// Call: recorded types, scalars and the values of the program.
#include "lib/lower/call.h"

namespace oe::lower {

DType from_scalar_type(int64_t scalar_type) {
  // c10/core/ScalarType.h; the numbers are part of the serialized format.
  switch (scalar_type) {
    case 0:
      return DType::UInt8;
    case 1:
      return DType::Int8;
    case 2:
      return DType::Int16;
    case 3:
      return DType::Int32;
    case 4:
      return DType::Int64;
    case 5:
      return DType::Float16;
    case 6:
      return DType::Float;
    case 7:
      return DType::Double;
    case 9:
      return DType::Complex64;
    case 10:
      return DType::Complex128;
    case 11:
      return DType::Bool;
    case 15:
      return DType::BFloat16;
    case 23:
      return DType::Float8E5M2;
    case 24:
      return DType::Float8E4M3FN;
    case 25:
      return DType::Float8E5M2FNUZ;
    case 26:
      return DType::Float8E4M3FNUZ;
    case 27:
      return DType::UInt16;
    case 28:
      return DType::UInt32;
    case 29:
      return DType::UInt64;
    default:
      throw Unsupported("ONNX has no element type for ScalarType " + std::to_string(scalar_type));
  }
}

T Call::lookup(const program::Value* v) {
  if (pairs_ && is_complex(v->type)) throw Unsupported("its operand is complex");
  if (auto it = values_.find(v); it != values_.end()) return at(it->second);
  if (!v->constant)
    throw std::logic_error("value %" + std::to_string(v->id) + " is used before it is computed");
  ir::Value* made = model().new_initializer(v->name.empty() ? "const" : v->name, v->constant);
  // Constants of the code are named after the place they stand in.
  made->state = !v->name.empty() && !v->name.ends_with("constant") && v->name != "argument";
  values_.emplace(v, made);
  return at(made);
}

T Call::scalar(const Scalar& s, DType t) {
  if (!s.known) return cast(s.computed, t);
  return s.kind == Scalar::Kind::Float ? number(s.d, t) : integer(s.i, t);
}

DType Call::result_dtype(size_t output) const { return call_->outputs.at(output)->type.dtype; }
const Shape& Call::result_shape(size_t output) const {
  return call_->outputs.at(output)->type.shape;
}

Ints Call::known(const Dims& d, std::string_view argument) const {
  Ints out;
  for (const Int& i : d) {
    if (!i.known) {
      const ir::Node* producer = i.computed->producer;
      const bool named = producer && producer->origin;
      throw NotKnown(std::string(argument), named ? producer->origin->op : "the graph");
    }
    out.push_back(*i.known);
  }
  return out;
}

}  // namespace oe::lower
