// Changes of element type; devices, layouts and memory formats mean nothing in ONNX.
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Capture recorded the type that the call gave.
constexpr auto to_result = [](Emit& g, Value x, Skip) { return g.cast(x, g.result_dtype()); };
constexpr auto to_result_4 = [](Emit& g, Value x, Skip, Skip, Skip, Skip) {
  return g.cast(x, g.result_dtype());
};
constexpr auto to_result_5 = [](Emit& g, Value x, Skip, Skip, Skip, Skip, Skip) {
  return g.cast(x, g.result_dtype());
};
constexpr auto to_result_7 = [](Emit& g, Value x, Skip, Skip, Skip, Skip, Skip, Skip, Skip) {
  return g.cast(x, g.result_dtype());
};

// src in self's type, broadcast to self's shape.
Value copy(Emit& g, Value self, Value src, Skip) {
  src = g.cast(src, g.dtype(self));
  const bool same_shape = self->type.shape && src->type.shape && g.rank(self) == g.rank(src) &&
                          *self->type.shape == *src->type.shape;
  if (same_shape) {
    bool sized = true;
    for (const Dim& d : *self->type.shape) sized = sized && d.kind != Dim::Kind::Unknown;
    if (sized) return src;
  }
  return g.node("Expand", {src, g.shape(self)});
}

constexpr Lowering table[] = {
    op("aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor",
       to_result_4),
    op("aten::to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, "
       "bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
       to_result_5),
    op("aten::to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor",
       to_result_7),
    op("aten::to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor",
       to_result_4),
    op("aten::to.prim_Device(Tensor self, Device? device, int? dtype=None, bool "
       "non_blocking=False, bool copy=False) -> Tensor",
       to_result_4),
    op("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
       "memory_format=None) -> Tensor",
       [](Emit& g, Value x, Skip, Skip, Skip, Skip, Skip, Skip) {
         return g.cast(x, g.result_dtype());
       }),
    op("aten::type_as(Tensor self, Tensor other) -> Tensor", to_result),
    op("aten::cpu(Tensor self) -> Tensor", [](Emit&, Value x) { return x; }),
    op("aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op("aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op<copy>("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"),
};

}  // namespace

Table cast_rows() { return table; }

}  // namespace oe::lower
