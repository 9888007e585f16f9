// Names, sizes and classes of element types.
#include "lib/support/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace oe {
namespace {

struct Row {
  DType type;
  std::string_view name;
  size_t bytes;
};
constexpr std::array<Row, 21> kRows = {{
    {DType::Undefined, "undefined", 0},
    {DType::Float, "float", 4},
    {DType::UInt8, "uint8", 1},
    {DType::Int8, "int8", 1},
    {DType::UInt16, "uint16", 2},
    {DType::Int16, "int16", 2},
    {DType::Int32, "int32", 4},
    {DType::Int64, "int64", 8},
    {DType::String, "string", 0},
    {DType::Bool, "bool", 1},
    {DType::Float16, "float16", 2},
    {DType::Double, "double", 8},
    {DType::UInt32, "uint32", 4},
    {DType::UInt64, "uint64", 8},
    {DType::Complex64, "complex64", 8},
    {DType::Complex128, "complex128", 16},
    {DType::BFloat16, "bfloat16", 2},
    {DType::Float8E4M3FN, "float8e4m3fn", 1},
    {DType::Float8E4M3FNUZ, "float8e4m3fnuz", 1},
    {DType::Float8E5M2, "float8e5m2", 1},
    {DType::Float8E5M2FNUZ, "float8e5m2fnuz", 1},
}};

const Row& row(DType t) {
  auto i = static_cast<size_t>(t);
  return i < kRows.size() ? kRows[i] : kRows[0];
}

}  // namespace

size_t byte_size(DType t) { return row(t).bytes; }
std::string_view name(DType t) { return row(t).name; }

DType dtype_from_name(std::string_view name) {
  auto it = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == name; });
  return it == kRows.end() ? DType::Undefined : it->type;
}

bool is_float(DType t) {
  return t == DType::Float || t == DType::Double || t == DType::Float16 || t == DType::BFloat16 ||
         (t >= DType::Float8E4M3FN && t <= DType::Float8E5M2FNUZ);
}
bool is_signed_integer(DType t) {
  return t == DType::Int8 || t == DType::Int16 || t == DType::Int32 || t == DType::Int64;
}
double largest_finite(DType t) {
  switch (t) {
    case DType::Double:
      return std::numeric_limits<double>::max();
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return std::ldexp(255.0, 120);
    default:
      return std::numeric_limits<float>::max();
  }
}

bool is_integer(DType t) {
  return is_signed_integer(t) || t == DType::UInt8 || t == DType::UInt16 || t == DType::UInt32 ||
         t == DType::UInt64;
}
bool is_complex(DType t) { return t == DType::Complex64 || t == DType::Complex128; }
DType part_type(DType t) {
  if (t == DType::Complex64) return DType::Float;
  return t == DType::Complex128 ? DType::Double : t;
}

std::string to_string(const Dim& d) {
  switch (d.kind) {
    case Dim::Kind::Number:
      return std::to_string(d.number);
    case Dim::Kind::Symbol:
      return d.symbol;
    case Dim::Kind::Unknown:
      break;
  }
  return "?";
}

std::string to_string(const Shape& s) {
  if (!s) return "*";
  std::string out = "[";
  for (size_t i = 0; i < s->size(); ++i) {
    if (i) out += ",";
    out += to_string((*s)[i]);
  }
  return out + "]";
}

}  // namespace oe
