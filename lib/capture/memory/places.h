// Lists of views of a few tensors, of which only numbers differ from element to element: which
// tensor it is, where in it an element begins, or which row it is. Such a list is the tensors and a
// list of numbers, so that an element is a view like any other: what is written through it is
// written in the tensor.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/frozen.h"
#include "lib/capture/values/heap.h"
#include "lib/capture/values/sym.h"

namespace oe::capture {

class Executor;

class Places {
 public:
  explicit Places(Executor& ex) : ex_(ex) {}

  // The same views with other numbers.
  Sym with(const Sym& places, Sym positions) const;
  // The same base, seen in the same way.
  bool same(const PlacesValue& a, const PlacesValue& b);
  // The pieces of a tensor: of split, chunk and unbind.
  Sym cut(const OpInfo& op, const std::vector<Sym>& args);
  Sym element(const Sym& places, const Sym& index);
  // As LibTorch has the list in a world.
  c10::IValue value(const Sym& places, size_t world);

  // Of an element, as far as it is known without making one.
  TensorValue element_type(const Sym& places);

  // What two lists have in common, said with what is older than they are; nothing where their
  // elements are no views of one tensor, or such lists are not asked for (Plan::places).
  std::optional<Sym> common(const Frozen& a, const Frozen& b, Older older);
  // The list as places like `like`; nothing where it has other elements.
  std::optional<Frozen> opened(const Frozen& list, const Sym& like);
  // The same for what one world has, unrecorded.
  std::optional<Frozen> opened_in(size_t world, const Frozen& list, const Sym& like);
  // Refused where the list, or one in it, is of views of a tensor that is not that old.
  void require_older(const Frozen& list, Older older);

  // Copies of the elements, which are views no more: a stack or a sequence. Other content stays.
  Sym copied(const Sym& content);
  // The same for every list among the arguments; for the first one itself where it will be changed.
  std::vector<Sym> copied(const std::vector<Sym>& args, bool changed);

  // A method of a list of places; nothing where it is none, or becomes one of copies.
  std::optional<std::vector<Sym>> method(const OpInfo& op, const std::vector<Sym>& args);
  // `e` is the element of `items` with that index: written, it is written there. False where that
  // is not kept.
  bool choose(const Sym& e, const std::vector<Sym>& items, const Sym& index);

 private:
  std::optional<std::vector<ViewStep>> chain_of(const std::shared_ptr<TensorHandle>& h);
  std::optional<std::vector<ViewStep>> chain_of(const Pattern& p);
  bool same(const Pattern& a, const Pattern& b);
  std::optional<std::vector<Sym>> numbers_in(const Pattern& p, const Sym& tensor);
  std::optional<Sym> numbers_of(const PlacesValue& like, const Sym& tensor);
  std::optional<Pattern> pattern_of(const std::vector<Sym>& items, Older older);
  std::optional<Sym> joined(const std::vector<Sym>& lists, std::vector<Sym> items, Older older);
  std::optional<Sym> positions_in(const Sym& like, const Sym& places);
  Sym view_of(const Pattern& p, const std::vector<Sym>& numbers);
  Sym view(const PlacesValue& places, const Sym& numbers);
  Sym one_of(const PlacesValue& places, const std::vector<Sym>& columns, size_t k);
  static c10::TypePtr positions_type(const Sym& like);
  Sym positions_of(const Sym& like, const std::vector<Sym>& numbers);
  Sym rows(const PlacesValue& places);
  Sym collected(const Sym& places);

  // --- place_lists.cpp
  std::optional<Sym> like(const std::vector<Sym>& lists, const Sym* element);
  std::optional<Sym> as_numbers(const Sym& list, const Sym& like);
  bool itemize(ListCell& list);
  void store(ListCell& list, const Sym& like, const ListCell& numbers);

  Executor& ex_;
};

}  // namespace oe::capture
