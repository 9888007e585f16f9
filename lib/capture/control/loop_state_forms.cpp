// What single worlds have of a loop's state, in the form that the loop has found for all.
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "lib/capture/control/loop_state.h"
#include "lib/capture/executor.h"

namespace oe::capture {
namespace {

// A concrete list in the form of an open one, in world w.
Snapshot in_form(const Snapshot& content, const std::vector<Snapshot>& items, size_t w) {
  Snapshot out;
  out.sym.kind = content.sym.kind;
  if (content.sym.is(K::Tuple)) {
    for (size_t k = 0; k < content.items.size(); ++k) {
      std::vector<Snapshot> column;
      for (const Snapshot& e : items) column.push_back(e.items.at(k));
      out.items.push_back(in_form(content.items[k], column, w));
    }
    return out;
  }
  const size_t worlds = w + 1;
  if (content.sym.is(K::Sequence)) {
    c10::impl::GenericList list(c10::TensorType::get());
    for (const Snapshot& e : items)
      if (e.tensor->c.has(w)) list.push_back(e.tensor->c.at(w));
    auto seq = std::make_shared<SequenceValue>();
    seq->c = PerWorld::sized(worlds);
    seq->c.set(w, list);
    out.sym = AbstractValue::of(std::shared_ptr<const SequenceValue>(std::move(seq)));
    return out;
  }
  std::vector<at::Tensor> tensors;
  for (const Snapshot& e : items) {
    const PerWorld& c = e.tensor ? e.tensor->c : e.sym.c;
    if (!c.has(w)) continue;
    const c10::IValue& v = c.at(w);
    tensors.push_back(v.isTensor()   ? v.toTensor()
                      : v.isInt()    ? at::scalar_tensor(v.toInt(), at::kLong)
                      : v.isDouble() ? at::scalar_tensor(v.toDouble(), at::kDouble)
                                     : at::scalar_tensor(v.toBool(), at::kBool));
  }
  const at::Tensor& like =
      content.tensor->c.has(w) ? content.tensor->c.at(w).toTensor() : example(*content.tensor);
  out.tensor = std::make_shared<TensorValue>(*content.tensor);
  out.tensor->c = PerWorld::sized(worlds);
  std::vector<int64_t> none = like.sizes().vec();
  none[0] = 0;
  out.tensor->c.set(w, tensors.empty() ? at::zeros(none, like.options()) : at::stack(tensors));
  return out;
}

// Open content of world w, in which every tensor may have had one size so far, with the sequences
// that `content` has.
Snapshot with_sequences(const Snapshot& content, const Snapshot& own, size_t w) {
  Snapshot out = own;
  if (content.sym.is(K::Tuple)) {
    for (size_t k = 0; k < out.items.size(); ++k)
      out.items[k] = with_sequences(content.items.at(k), own.items[k], w);
  } else if (content.sym.is(K::Sequence) && own.tensor) {
    c10::impl::GenericList list(c10::TensorType::get());
    if (own.tensor->c.has(w))
      for (const at::Tensor& t : own.tensor->c.at(w).toTensor().unbind()) list.push_back(t);
    auto seq = std::make_shared<SequenceValue>();
    seq->c = PerWorld::sized(w + 1);
    seq->c.set(w, list);
    out = Snapshot{};
    out.sym = AbstractValue::of(std::shared_ptr<const SequenceValue>(std::move(seq)));
  }
  return out;
}

}  // namespace

// In its own world a list has a length and an optional is there or not: the loop's form for all.
std::vector<const Snapshot*> LoopState::in_form_of_loop(Executor& ex,
                                                        const std::vector<const Snapshot*>& found,
                                                        std::vector<Snapshot>& made) const {
  made.resize(found.size());
  std::vector<const Snapshot*> out = found;
  for (size_t w = 0; w < found.size(); ++w) {
    if (!found[w]) continue;
    if (init.sym.is(K::Maybe) && !found[w]->sym.is(K::Maybe)) {
      made[w] = as_maybe(*found[w]);
      out[w] = &made[w];
    } else if (init.open && init.items[0].sym.is(K::ViewList)) {
      const auto same = ex.places.opened_in(w, *found[w], init.items[0].sym);
      if (same) made[w] = *same;
      out[w] = same ? &made[w] : nullptr;
    } else if (init.open && !found[w]->open) {
      made[w] = *found[w];
      made[w].open = true;
      made[w].items = {in_form(init.items[0], found[w]->items, w)};
      out[w] = &made[w];
    } else if (init.open && has_sequence(init.items[0].sym)) {
      made[w] = *found[w];
      made[w].items = {with_sequences(init.items[0], found[w]->items.at(0), w)};
      out[w] = &made[w];
    } else if (init.sym.is(K::Dict) && !same_structure(ex, init, *found[w])) {
      Snapshot wanted = init;
      made[w] = *found[w];
      const bool same = same_keys(wanted, made[w]) && wanted.keys.size() == init.keys.size();
      out[w] = same ? &made[w] : nullptr;
    }
  }
  return out;
}

}  // namespace oe::capture
