// Element types and dims, shared by the program and the ONNX graph. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oe {

// Numbering of onnx.TensorProto.DataType, so that no table is needed at the ONNX boundary.
enum class DType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
};

// Bytes of one element; 0 for Undefined and String.
size_t byte_size(DType t);
// ONNX's own spelling: "float", "int64", "bfloat16"; "undefined" for Undefined.
std::string_view name(DType t);
// Inverse of name(); Undefined when nothing matches.
DType dtype_from_name(std::string_view name);
bool is_float(DType t);  // float16, bfloat16, float, double, float8
// Of float16, bfloat16, float and double.
double largest_finite(DType t);
bool is_integer(DType t);  // signed and unsigned integers; bool is none
bool is_signed_integer(DType t);
bool is_complex(DType t);
DType part_type(DType t);  // of the parts of a complex number; any other type is itself

// One axis of a shape: a number, a named symbol, or unknown.
struct Dim {
  enum class Kind { Unknown, Number, Symbol };
  Kind kind = Kind::Unknown;
  int64_t number = 0;
  std::string symbol;

  static Dim unknown() { return {}; }
  static Dim of(int64_t n) { return {Kind::Number, n, {}}; }
  static Dim named(std::string s) { return {Kind::Symbol, 0, std::move(s)}; }
  bool is_number() const { return kind == Kind::Number; }
  bool is_symbol() const { return kind == Kind::Symbol; }
  bool operator==(const Dim&) const = default;
};
std::string to_string(const Dim& d);  // "3", "batch", "?"

// Absent: the rank is unknown. Empty: a 0-d tensor.
using Shape = std::optional<std::vector<Dim>>;
std::string to_string(const Shape& s);  // "[3,batch,?]", "[]", "*" for unknown rank

}  // namespace oe
