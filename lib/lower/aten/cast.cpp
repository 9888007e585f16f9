// Changes of element type; devices, layouts and memory formats mean nothing in ONNX.
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Capture recorded the type that the call gave.
T to_result(Call& g, T x, Rest) { return cast(x, g.result_dtype()); }

// src in self's type, broadcast to self's shape.
T copy(T self, T src, Rest) {
  src = cast(src, self.dtype());
  const bool same_shape = self->type.shape && src->type.shape && self.rank() == src.rank() &&
                          *self->type.shape == *src->type.shape;
  if (same_shape) {
    bool sized = true;
    for (const Dim& d : *self->type.shape) sized = sized && d.kind != Dim::Kind::Unknown;
    if (sized) return src;
  }
  return expand(src, shape(self));
}

constexpr Lowering table[] = {
    op<to_result>(
        "aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor"),
    op<to_result>(
        "aten::to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor"),
    op<to_result>(
        "aten::to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor"),
    op<to_result>(
        "aten::to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor"),
    op<to_result>(
        "aten::to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor"),
    op<to_result>(
        "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"),
    op<to_result>("aten::type_as(Tensor self, Tensor other) -> Tensor"),
    op("aten::cpu(Tensor self) -> Tensor", [](T x) { return x; }),
    op<to_result>(
        names("aten::_cast_Byte", "aten::_cast_Char", "aten::_cast_Double", "aten::_cast_Float",
              "aten::_cast_Half", "aten::_cast_Int", "aten::_cast_Long", "aten::_cast_Short"),
        "(Tensor self, bool non_blocking=False) -> Tensor"),
    op<copy>("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"),
};

}  // namespace

Table cast_rows() { return table; }

}  // namespace oe::lower
