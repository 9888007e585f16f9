// Changes of element type; devices, layouts and memory formats mean nothing in ONNX.
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Capture recorded the type that the call gave.
constexpr auto to_result = [](Call& g, T x, Skip) { return cast(x, g.result_dtype()); };
constexpr auto to_result_4 = [](Call& g, T x, Skip, Skip, Skip, Skip) {
  return cast(x, g.result_dtype());
};
constexpr auto to_result_5 = [](Call& g, T x, Skip, Skip, Skip, Skip, Skip) {
  return cast(x, g.result_dtype());
};
constexpr auto to_result_7 = [](Call& g, T x, Skip, Skip, Skip, Skip, Skip, Skip, Skip) {
  return cast(x, g.result_dtype());
};

// src in self's type, broadcast to self's shape.
T copy(T self, T src, Skip) {
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
    op("aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
       to_result_4),
    op("aten::to.device(Tensor self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
       to_result_5),
    op("aten::to.dtype_layout(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
       to_result_7),
    op("aten::to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor",
       to_result_4),
    op("aten::to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor",
       to_result_4),
    op("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
       [](Call& g, T x, Skip, Skip, Skip, Skip, Skip, Skip) { return cast(x, g.result_dtype()); }),
    op("aten::type_as(Tensor self, Tensor other) -> Tensor", to_result),
    op("aten::cpu(Tensor self) -> Tensor", [](Call&, T x) { return x; }),
    op(names("aten::_cast_Byte", "aten::_cast_Char", "aten::_cast_Double", "aten::_cast_Float",
             "aten::_cast_Half", "aten::_cast_Int", "aten::_cast_Long", "aten::_cast_Short"),
       "(Tensor self, bool non_blocking=False) -> Tensor", to_result),
    op<copy>("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"),
};

}  // namespace

Table cast_rows() { return table; }

}  // namespace oe::lower
