// Lists whose length is not known at export. Their content (ListCell::open) is a stack of the
// elements, column by column for tuples, or a sequence where no stack can hold them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/frozen.h"
#include "lib/capture/values/sym.h"

namespace oe::capture {

class Executor;

// The forms of the content.
class Contents {
 public:
  explicit Contents(Executor& ex) : ex_(ex) {}

  // Whether two elements (or stacks of them) go into one stack.
  bool stackable(const Sample& a, const Sample& b);
  // Whether they have the same columns, which a stack or a sequence each can hold.
  bool same_columns(const Sample& a, const Sample& b);
  TensorValue element_type(const Sample& s);
  TensorValue join_elements(const TensorValue& a, const TensorValue& b);

  Sym stack_items(const std::vector<Sym>& items);
  // Nothing where the sizes of the elements are not known here.
  std::optional<Sym> empty_stack(const Sym& element, bool stacked);
  Sym sequence(program::Arg recorded, PerWorld c, TensorValue element);
  Sym sequence_of(const std::vector<Sym>& items, const TensorValue* like);
  std::optional<Sym> sequences_of(const std::vector<Sym>& items, const Sample& like,
                                  const c10::TypePtr& type);
  Sym sequence_from(const Sym& stack);
  Sym as_sequences(const Sym& content, const c10::TypePtr& element);
  // Whether two contents have the same form, column by column.
  bool one_form(const Sym& a, const Sym& b);
  // Elements as the content of a list; nothing where no form holds them.
  std::optional<Sym> of(const std::vector<Sym>& items, const c10::TypePtr& type);

  // A sequence changed by an operator of the program, and by `change` in each world.
  Sym change_sequence(const std::string& op, const Sym& s, const std::vector<Sym>& args,
                      TensorValue element,
                      const std::function<void(c10::impl::GenericList&, size_t)>& change);
  // The same where the elements stay what they are.
  Sym rearranged(
      const std::string& op, const Sym& s, const std::vector<Sym>& args,
      const std::function<c10::impl::GenericList(const c10::impl::GenericList&, size_t)>& f);

 private:
  using TensorsAlike = std::function<bool(const Sample&, const Sample&)>;
  bool alike(const Sample& a, const Sample& b, const TensorsAlike& tensors);

  Executor& ex_;
};

class OpenLists {
 public:
  explicit OpenLists(Executor& ex) : ex_(ex) {}

  // A method of an open list; nothing where it is none.
  std::optional<std::vector<Sym>> method(const OpInfo& op, const std::vector<Sym>& args);
  // Another operator on one; nothing where there is no form for it.
  std::optional<std::vector<Sym>> call(const OpInfo& op, const std::vector<Sym>& args);

  Sym length(const Sym& content);
  Sym element(const Sym& content, const Sym& index, const c10::TypePtr& type);
  // A 0-d tensor as the number that `type` says; itself where that is no number.
  Sym number_in(const Sym& tensor, const c10::TypePtr& type);
  // As LibTorch has the list in a world.
  c10::IValue value(const Sym& content, const c10::TypePtr& type, size_t world);
  // As an output of the model: a sequence, or one tensor of its numbers.
  Sym output(const Sym& list, const std::string& name);

  // An operator that cuts a dynamic axis into a list of unknown length.
  bool cuts_dynamic_axis(const OpInfo& op, const std::vector<Sym>& args);
  Sym split(const OpInfo& op, const std::vector<Sym>& args);

 private:
  // --- open_elements.cpp
  Sym slice(const Sym& content, const Sym& start, const Sym& end, int64_t step = 1);
  Sym backwards(const Sym& sequence);
  [[noreturn]] void refuse_kinds() const;
  Sym each_pair(const Sym& content, const Sym& other,
                const std::function<Sym(const Sym&, const Sym&)>& f);
  Sym concat(Sym a, Sym b);
  Sym insert(Sym content, const Sym& element, const Sym* at);
  Sym erase(const Sym& content, const Sym& index);
  Sym replace(const Sym& content, const Sym& index, const Sym& item);
  Sym content_of(const ListCell& list, const char* why);
  void set_open(ListCell& list, Sym content, const std::vector<Sym>& added);
  Sym tied(Sym element, const Sym& content);
  // The stack of the list takes the tensor as an element that is nowhere else; false where that
  // cannot be told.
  bool takes_over(const ListCell& list, const Sym& item);

  struct Methods;    // open_list_methods.cpp
  struct Operators;  // open_list_operators.cpp

  Executor& ex_;
};

// Whether the content of an open list is the memory of its elements (StorageCell::owns_elements).
bool owns_elements(const Sym& content);

// The content of an open list holds `from`: an element, or other content.
void hold(const Sym& content, const Sym& from);

// The memory of a tensor or a sequence.
std::shared_ptr<StorageCell> storage_of(const Sym& s);

// The type of a list of known length, or of an object, that can be an element of an open list
// column by column; null for other values.
c10::TypePtr columns_of(const Sym& s);
// A list of known length, or an object, as an element: its parts. Others stay what they are.
Sym as_columns(const Sym& s);
// The types of the columns that elements of this type have.
std::vector<c10::TypePtr> column_types(const c10::TypePtr& type, size_t columns);
// Applies `f` to every column of a stack, of which it also gets the number.
Sym each_column(const Sym& content, const std::function<Sym(const Sym&, size_t)>& f, size_t k = 0);
// The memory of the first column, which stands for the elements.
Cell* first_memory(const Sym& content);

}  // namespace oe::capture
