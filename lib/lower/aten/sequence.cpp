// Lists of tensors whose length is not known at export: ONNX sequences. Capture records every
// change of a list as the operator that gives the changed list (see lib/capture/open_lists.h).
// https://onnx.ai/onnx/operators/onnx__SequenceInsert.html
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T length(T list) { return unary("SequenceLength", list); }

// A position in [0, length] as lists count them: from the end when negative, then clamped.
T clamped(Call& g, T list, const Int& index) {
  const Int n = computed(length(list));
  const Int at = index.known
                     ? *index.known < 0 ? n + index : index
                     : computed(where(index.computed < 0, g.value(n + index), index.computed));
  return g.value(min(max(at, known(0)), n));
}

// The sequence of element(i) for i = 0 .. count - 1.
T collected(Call& g, T count, const ir::Type& type, const std::function<T(T i)>& element) {
  const ir::Type scalar = ir::Type::tensor(DType::Int64, std::vector<Dim>{});
  const ir::Type condition = ir::Type::tensor(DType::Bool, std::vector<Dim>{});
  auto body = g.graph("collect", {scalar, condition, type}, [&](const Values& in) {
    T e = element(in[0]);
    T out = node("SequenceInsert", {in[2], e});
    out->type = type;
    return Values{in[1], out};
  });
  body->outputs[1]->type = type;
  T empty = g.op("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(type.element->dtype)}});
  T out = node("Loop", {count, nullptr, empty}, {{"body", body}});
  out->type = type;
  return out;
}

T element_at(T list, T i) {
  T e = node("SequenceAt", {list, i});
  e->type = *list->type.element;
  return e;
}

T backwards(Call& g, T list) {
  T last = length(list) - 1;
  return collected(g, length(list), list->type, [&](T i) { return element_at(list, last - i); });
}

T sliced(Call& g, T list, std::optional<Int> start, std::optional<Int> end, int64_t step) {
  if (step < 0) {
    if (step != -1 || start || end)
      throw Unsupported("a list of unknown length is cut with a negative step");
    return backwards(g, list);
  }
  T from = start ? clamped(g, list, *start) : g.i64(0);
  T to = end ? clamped(g, list, *end) : length(list);
  const Int count = max(known(0), ceil_div(computed(to - from), known(step)));
  return collected(g, g.value(count), list->type,
                   [&](T i) { return element_at(list, from + i * step); });
}

// The elements of both.
T both(Call& g, T a, T b) {
  const ir::Type scalar = ir::Type::tensor(DType::Int64, std::vector<Dim>{});
  const ir::Type condition = ir::Type::tensor(DType::Bool, std::vector<Dim>{});
  auto body = g.graph("append", {scalar, condition, a->type}, [&](const Values& in) {
    T out = node("SequenceInsert", {in[2], element_at(b, in[0])});
    out->type = a->type;
    return Values{in[1], out};
  });
  body->outputs[1]->type = a->type;
  T out = node("Loop", {length(b), nullptr, a}, {{"body", body}});
  out->type = a->type;
  return out;
}

constexpr Lowering table[] = {
    op("aten::len.t(t[] a) -> int", [](T list) { return length(list); }),
    op("aten::__getitem__.t(t[] list, int idx) -> t",
       [](Call& g, T list, Int at) { return element_at(list, g.value(at)); }),
    op("aten::append.t(t[] self, t el) -> t[]",
       [](T list, T x) {
         return node("SequenceInsert", {list, x});
       }),
    op("aten::insert.t(t[] self, int idx, t el) -> ()",
       [](Call& g, T list, Int at, T x) {
         return node("SequenceInsert", {list, x, clamped(g, list, at)});
       }),
    op("aten::Delete.t(t[] self, int idx) -> ()",
       [](Call& g, T list, Int at) {
         return node("SequenceErase", {list, g.value(at)});
       }),
    op("aten::reverse.t(t[] self) -> ()", [](Call& g, T list) { return backwards(g, list); }),
    op("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
       [](Call& g, T list, std::optional<Int> start, std::optional<Int> end, int64_t step) {
         return sliced(g, list, start, end, step);
       }),
    op("aten::add.t(t[] a, t[] b) -> t[]", [](Call& g, T a, T b) { return both(g, a, b); }),
};

}  // namespace

Table sequence_rows() { return table; }

}  // namespace oe::lower
