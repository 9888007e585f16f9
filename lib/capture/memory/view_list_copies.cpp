// Copies of the elements of a list of views: a stack where they are rows, else a sequence.
#include <ranges>
#include <utility>

#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

bool selects_rows(const PlacesValue& p) {
  if (p.kinds.size() != 1 || p.kinds[0].steps.size() != 1) return false;
  const ViewStep& step = p.kinds[0].steps[0];
  return step.op == "aten::select.int" && !step.args[0].is(K::Uninitialized) &&
         step.args[1].is(K::Uninitialized);
}

}  // namespace

// Along axis 0, where the elements are rows.
AbstractValue ViewList::rows(const PlacesValue& p) {
  const AbstractValue zero = AbstractValue::of(int64_t{0});
  const Pattern& kind = p.kinds[0];
  const AbstractValue front =
      ex_.apply("aten::movedim.int", {AbstractValue::of(kind.base), kind.steps[0].args[0], zero});
  return ex_.apply("aten::index_select", {front, zero, p.positions});
}

// One after the other, by a loop.
AbstractValue ViewList::collected(const AbstractValue& places) {
  const PlacesValue& p = *places.places();
  PerWorld lists = ex_.worlds.map([&](size_t w) { return value(places, w); });
  const AbstractValue count = ex_.open_lists.length(p.positions);
  Worlds::Set some = 0;
  ex_.worlds.each([&](size_t w) {
    if (ex_.apply.value(count, w).toInt() > 0) some |= Worlds::only(w);
  });
  if (!ex_.recorder.on())
    return ex_.contents.sequence(
        {}, std::move(lists),
        *ex_.views.read(some ? element(places, AbstractValue::of(int64_t{0}))
                             : AbstractValue::of(p.kinds[0].base)));
  program::Program& program = ex_.recorder.program();
  auto block = std::make_unique<program::Block>();
  const int first_axis = ex_.recorder.new_axis_id();
  TensorValue type;
  program::Arg appended;
  ex_.control.in_scope(block.get(), [&] {
    ex_.worlds.within(ex_.worlds.active(), ex_.worlds.real() & some, [&] {
      AbstractValue index = AbstractValue::of(int64_t{0});
      index.taint = Taint::Data;
      index.recorded = program.new_value(program::Type::integer(), "i");
      block->params.push_back(index.recorded);
      const TensorValuePtr e = ex_.views.read(element(places, index));
      type = *e;
      for (Axis& a : type.axes)  // of this element alone
        if (!a.is_static() && a.id > first_axis) a = {Taint::Data, 0};
      const program::Type list = program::Type::list(ex_.recorder.type_of(type));
      block->params.push_back(program.new_value(list));
      program::Node* n = ex_.recorder.record(
          "aten::append.t", {{block->params.back()}, {ex_.recorder.value(e)}}, ex_.site.here());
      block->returns = {{true}, {ex_.recorder.add_output(n, list)}};
    });
  });
  const AbstractValue none = ex_.contents.sequence_of({}, &type);
  program::Node* loop = ex_.recorder.record(
      "prim::Loop", {ex_.apply.arg(count), {true}, ex_.apply.arg(none)}, ex_.site.here());
  loop->blocks.push_back(std::move(block));
  const program::Type list = program::Type::list(ex_.recorder.type_of(type));
  return ex_.contents.sequence({ex_.recorder.add_output(loop, list)}, std::move(lists),
                               std::move(type));
}

AbstractValue ViewList::copied(const AbstractValue& content) {
  if (!content.is(K::ViewList)) return content;
  const PlacesValue& p = *content.places();
  const AbstractValue out = selects_rows(p) ? rows(p) : collected(content);
  for (const Pattern& kind : p.kinds) Heap::share(*storage_of(out), *kind.base->storage);
  return out;
}

}  // namespace oe::capture
