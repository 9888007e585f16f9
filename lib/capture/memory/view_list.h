// Lists of views of a few tensors, of which only numbers differ from element to element: which
// tensor it is, where in it an element begins, or which row it is. Such a list is the tensors and a
// list of numbers, so that an element is a view like any other: what is written through it is
// written in the tensor.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"
#include "lib/capture/values/heap.h"
#include "lib/capture/values/snapshot.h"

namespace oe::capture {

class Executor;

class ViewList {
 public:
  explicit ViewList(Executor& ex) : ex_(ex) {}

  // The same views with other numbers.
  AbstractValue with(const AbstractValue& places, AbstractValue positions) const;
  // The same base, seen in the same way.
  bool same(const PlacesValue& a, const PlacesValue& b);
  // The pieces of a tensor: of split, chunk and unbind.
  AbstractValue cut(const OpInfo& op, const std::vector<AbstractValue>& args);
  AbstractValue element(const AbstractValue& places, const AbstractValue& index);
  // As LibTorch has the list in a world.
  c10::IValue value(const AbstractValue& places, size_t world);

  // Of an element, as far as it is known without making one.
  TensorValue element_type(const AbstractValue& places);

  // What two lists have in common, said with what is older than they are; nothing where their
  // elements are no views of one tensor, or such lists are not asked for (Plan::places).
  std::optional<AbstractValue> common(const Snapshot& a, const Snapshot& b, Older older);
  // The list as places like `like`; nothing where it has other elements.
  std::optional<Snapshot> opened(const Snapshot& list, const AbstractValue& like);
  // The same for what one world has, unrecorded.
  std::optional<Snapshot> opened_in(size_t world, const Snapshot& list, const AbstractValue& like);
  // Refused where the list, or one in it, is of views of a tensor that is not that old.
  void require_older(const Snapshot& list, Older older);

  // Copies of the elements, which are views no more: a stack or a sequence. Other content stays.
  AbstractValue copied(const AbstractValue& content);
  // The same for every list among the arguments; for the first one itself where it will be changed.
  std::vector<AbstractValue> copied(const std::vector<AbstractValue>& args, bool changed);

  // A method of a list of places; nothing where it is none, or becomes one of copies.
  std::optional<std::vector<AbstractValue>> method(const OpInfo& op,
                                                   const std::vector<AbstractValue>& args);
  // `e` is the element of `items` with that index: written, it is written there. False where that
  // is not kept.
  bool choose(const AbstractValue& e, const std::vector<AbstractValue>& items,
              const AbstractValue& index);

 private:
  std::optional<std::vector<ViewStep>> chain_of(const std::shared_ptr<TensorHandle>& h);
  std::optional<std::vector<ViewStep>> chain_of(const Pattern& p);
  bool same(const Pattern& a, const Pattern& b);
  std::optional<std::vector<AbstractValue>> numbers_in(const Pattern& p,
                                                       const AbstractValue& tensor);
  std::optional<AbstractValue> numbers_of(const PlacesValue& like, const AbstractValue& tensor);
  std::optional<Pattern> pattern_of(const std::vector<AbstractValue>& items, Older older);
  std::optional<AbstractValue> joined(const std::vector<AbstractValue>& lists,
                                      std::vector<AbstractValue> items, Older older);
  std::optional<AbstractValue> positions_in(const AbstractValue& like, const AbstractValue& places);
  AbstractValue view_of(const Pattern& p, const std::vector<AbstractValue>& numbers);
  AbstractValue view(const PlacesValue& places, const AbstractValue& numbers);
  AbstractValue one_of(const PlacesValue& places, const std::vector<AbstractValue>& columns,
                       size_t k);
  static c10::TypePtr positions_type(const AbstractValue& like);
  AbstractValue positions_of(const AbstractValue& like, const std::vector<AbstractValue>& numbers);

  // --- view_list_copies.cpp
  AbstractValue rows(const PlacesValue& places);
  AbstractValue collected(const AbstractValue& places);

  // --- view_list_methods.cpp
  std::optional<AbstractValue> like(const std::vector<AbstractValue>& lists,
                                    const AbstractValue* element);
  std::optional<AbstractValue> as_numbers(const AbstractValue& list, const AbstractValue& like);
  bool itemize(ListCell& list);
  void store(ListCell& list, const AbstractValue& like, const ListCell& numbers);

  Executor& ex_;
};

}  // namespace oe::capture
