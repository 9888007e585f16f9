// Lists of tensors whose length is not known at export: ONNX sequences. Capture records every
// change of a list as the operator that gives the changed list (see
// lib/capture/lists/open_lists.h). https://onnx.ai/onnx/operators/onnx__SequenceInsert.html
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

// `first` and then element(i) for i = 0 .. count - 1.
T collected(T first, T count, const std::function<T(T i)>& element) {
  const auto append = [&](T i, const Values& list) {
    T out = node("SequenceInsert", {list[0], element(i)});
    out->type = first->type;
    return Values{out};
  };
  return count.builder().loop(count, {first}, append)[0];
}

T empty_like(T list) {
  const auto dtype = static_cast<int64_t>(list->type.element->dtype);
  return list.builder().op("SequenceEmpty", {}, {{"dtype", dtype}}, list->type);
}

T element_at(T list, T i) { return node("SequenceAt", {list, i}, {}, *list->type.element); }

T backwards(T list) {
  T last = length(list) - 1;
  return collected(empty_like(list), length(list), [&](T i) { return element_at(list, last - i); });
}

T sliced(Call& g, T list, const std::optional<Int>& start, const std::optional<Int>& end,
         int64_t step) {
  if (step < 0) {
    if (step != -1 || start || end)
      throw Unsupported("a list of unknown length is cut with a negative step");
    return backwards(list);
  }
  T from = start ? clamped(g, list, *start) : g.i64(0);
  T to = end ? clamped(g, list, *end) : length(list);
  const Int count = max(known(0), ceil_div(computed(to - from), known(step)));
  return collected(empty_like(list), g.value(count),
                   [&](T i) { return element_at(list, from + i * step); });
}

// The elements of both.
T both(T a, T b) {
  return collected(a, length(b), [&](T i) { return element_at(b, i); });
}

constexpr Lowering table[] = {
    op<length>("aten::len.t(t[] a) -> int"),
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
    op<backwards>("aten::reverse.t(t[] self) -> ()"),
    op<sliced>("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]"),
    op<both>("aten::add.t(t[] a, t[] b) -> t[]"),
};

}  // namespace

Table sequence_rows() { return table; }

}  // namespace oe::lower
