// Lists of tensors whose length is not known at export: ONNX sequences. Capture records every
// change of a list as the operator that gives the changed list (see lib/capture/open_lists.cpp).
// https://onnx.ai/onnx/operators/onnx__SequenceInsert.html
#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

Value length(Emit& g, Value list) { return g.node("SequenceLength", {list}); }

// A position in [0, length] as lists count them: from the end when negative, then clamped.
Value clamped(Emit& g, Value list, const Int& index) {
  const Int n = from_value(length(g, list));
  const Int at = index.known
                     ? *index.known < 0 ? add(g, n, index) : index
                     : from_value(g.node("Where", {g.node("Less", {index.computed, g.i64(0)}),
                                                   g.to_value(add(g, n, index)), index.computed}));
  return g.to_value(min(g, max(g, at, known(0)), n));
}

// The sequence of element(i) for i = 0 .. count - 1.
Value collected(Emit& g, Value count, const ir::Type& type,
                const std::function<Value(Value i)>& element) {
  const ir::Type scalar = ir::Type::tensor(DType::Int64, std::vector<Dim>{});
  const ir::Type condition = ir::Type::tensor(DType::Bool, std::vector<Dim>{});
  auto body = g.graph("collect", {scalar, condition, type}, [&](const Values& in) {
    Value e = element(in[0]);
    Value out = g.node("SequenceInsert", {in[2], e});
    out->type = type;
    return Values{in[1], out};
  });
  body->outputs[1]->type = type;
  Value empty = g.node("SequenceEmpty", {}, {{"dtype", static_cast<int64_t>(type.element->dtype)}});
  Value out = g.node("Loop", {count, nullptr, empty}, {{"body", body}});
  out->type = type;
  return out;
}

Value element_at(Emit& g, Value list, Value i) {
  Value e = g.node("SequenceAt", {list, i});
  e->type = *list->type.element;
  return e;
}

Value backwards(Emit& g, Value list) {
  Value last = g.node("Sub", {length(g, list), g.i64(1)});
  return collected(g, length(g, list), list->type, [&](Value i) {
    return element_at(g, list, g.node("Sub", {last, i}));
  });
}

Value sliced(Emit& g, Value list, std::optional<Int> start, std::optional<Int> end, int64_t step) {
  if (step < 0) {
    if (step != -1 || start || end)
      throw Unsupported("a list of unknown length is cut with a negative step");
    return backwards(g, list);
  }
  Value from = start ? clamped(g, list, *start) : g.i64(0);
  Value to = end ? clamped(g, list, *end) : length(g, list);
  const Int count =
      max(g, known(0), ceil_div(g, from_value(g.node("Sub", {to, from})), known(step)));
  return collected(g, g.to_value(count), list->type, [&](Value i) {
    return element_at(g, list, g.node("Add", {from, g.node("Mul", {i, g.i64(step)})}));
  });
}

// The elements of both.
Value both(Emit& g, Value a, Value b) {
  const ir::Type scalar = ir::Type::tensor(DType::Int64, std::vector<Dim>{});
  const ir::Type condition = ir::Type::tensor(DType::Bool, std::vector<Dim>{});
  auto body = g.graph("append", {scalar, condition, a->type}, [&](const Values& in) {
    Value out = g.node("SequenceInsert", {in[2], element_at(g, b, in[0])});
    out->type = a->type;
    return Values{in[1], out};
  });
  body->outputs[1]->type = a->type;
  Value out = g.node("Loop", {length(g, b), nullptr, a}, {{"body", body}});
  out->type = a->type;
  return out;
}

constexpr Lowering table[] = {
    op("aten::len.t(t[] a) -> int", [](Emit& g, Value list) { return length(g, list); }),
    op("aten::__getitem__.t(t[] list, int idx) -> t",
       [](Emit& g, Value list, Int at) { return element_at(g, list, g.to_value(at)); }),
    op("aten::append.t(t[] self, t el) -> t[]",
       [](Emit& g, Value list, Value x) {
         return g.node("SequenceInsert", {list, x});
       }),
    op("aten::insert.t(t[] self, int idx, t el) -> ()",
       [](Emit& g, Value list, Int at, Value x) {
         return g.node("SequenceInsert", {list, x, clamped(g, list, at)});
       }),
    op("aten::Delete.t(t[] self, int idx) -> ()",
       [](Emit& g, Value list, Int at) {
         return g.node("SequenceErase", {list, g.to_value(at)});
       }),
    op("aten::reverse.t(t[] self) -> ()", [](Emit& g, Value list) { return backwards(g, list); }),
    op("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]",
       [](Emit& g, Value list, std::optional<Int> start, std::optional<Int> end, int64_t step) {
         return sliced(g, list, start, end, step);
       }),
    op("aten::add.t(t[] a, t[] b) -> t[]", [](Emit& g, Value a, Value b) { return both(g, a, b); }),
};

}  // namespace

Table sequence_rows() { return table; }

}  // namespace oe::lower
