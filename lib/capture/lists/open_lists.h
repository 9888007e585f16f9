// Lists whose length is not known at export. Their content (ListCell::open) is a stack of the
// elements, column by column for tuples, or a sequence where no stack can hold them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"
#include "lib/capture/values/snapshot.h"

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

  AbstractValue stack_items(const std::vector<AbstractValue>& items);
  // Nothing where the sizes of the elements are not known here.
  std::optional<AbstractValue> empty_stack(const AbstractValue& element, bool stacked);
  AbstractValue sequence(program::Arg recorded, PerWorld c, TensorValue element);
  AbstractValue sequence_of(const std::vector<AbstractValue>& items, const TensorValue* like);
  std::optional<AbstractValue> sequences_of(const std::vector<AbstractValue>& items,
                                            const Sample& like, const c10::TypePtr& type);
  AbstractValue sequence_from(const AbstractValue& stack);
  AbstractValue as_sequences(const AbstractValue& content, const c10::TypePtr& element);
  // Whether two contents have the same form, column by column.
  bool one_form(const AbstractValue& a, const AbstractValue& b);
  // Elements as the content of a list; nothing where no form holds them.
  std::optional<AbstractValue> of(const std::vector<AbstractValue>& items,
                                  const c10::TypePtr& type);

  // A sequence changed by an operator of the program, and by `change` in each world.
  AbstractValue change_sequence(const std::string& op, const AbstractValue& s,
                                const std::vector<AbstractValue>& args, TensorValue element,
                                const std::function<void(c10::impl::GenericList&, size_t)>& change);
  // The same where the elements stay what they are.
  AbstractValue rearranged(
      const std::string& op, const AbstractValue& s, const std::vector<AbstractValue>& args,
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
  std::optional<std::vector<AbstractValue>> method(const OpInfo& op,
                                                   const std::vector<AbstractValue>& args);
  // Another operator on one; nothing where there is no form for it.
  std::optional<std::vector<AbstractValue>> call(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args);

  AbstractValue length(const AbstractValue& content);
  AbstractValue element(const AbstractValue& content, const AbstractValue& index,
                        const c10::TypePtr& type);
  // A 0-d tensor as the number that `type` says; itself where that is no number.
  AbstractValue number_in(const AbstractValue& tensor, const c10::TypePtr& type);
  // As LibTorch has the list in a world.
  c10::IValue value(const AbstractValue& content, const c10::TypePtr& type, size_t world);
  // As an output of the model: a sequence, or one tensor of its numbers.
  AbstractValue output(const AbstractValue& list, const std::string& name);

  // An operator that cuts a dynamic axis into a list of unknown length.
  bool cuts_dynamic_axis(const OpInfo& op, const std::vector<AbstractValue>& args);
  AbstractValue split(const OpInfo& op, const std::vector<AbstractValue>& args);

 private:
  // --- open_elements.cpp
  AbstractValue slice(const AbstractValue& content, const AbstractValue& start,
                      const AbstractValue& end, int64_t step = 1);
  AbstractValue backwards(const AbstractValue& sequence);
  [[noreturn]] void refuse_kinds() const;
  AbstractValue each_pair(
      const AbstractValue& content, const AbstractValue& other,
      const std::function<AbstractValue(const AbstractValue&, const AbstractValue&)>& f);
  AbstractValue concat(AbstractValue a, AbstractValue b);
  AbstractValue insert(AbstractValue content, const AbstractValue& element,
                       const AbstractValue* at);
  AbstractValue erase(const AbstractValue& content, const AbstractValue& index);
  AbstractValue replace(const AbstractValue& content, const AbstractValue& index,
                        const AbstractValue& item);
  AbstractValue content_of(const ListCell& list, const char* why);
  void set_open(ListCell& list, AbstractValue content, const std::vector<AbstractValue>& added);
  AbstractValue tied(AbstractValue element, const AbstractValue& content);
  // The stack of the list takes the tensor as an element that is nowhere else; false where that
  // cannot be told.
  bool takes_over(const ListCell& list, const AbstractValue& item);

  struct Methods;    // open_list_methods.cpp
  struct Operators;  // open_list_operators.cpp

  Executor& ex_;
};

// Whether the content of an open list is the memory of its elements (StorageCell::owns_elements).
bool owns_elements(const AbstractValue& content);

// The content of an open list holds `from`: an element, or other content.
void hold(const AbstractValue& content, const AbstractValue& from);

// The memory of a tensor or a sequence.
std::shared_ptr<StorageCell> storage_of(const AbstractValue& s);

// The type of a list of known length, or of an object, that can be an element of an open list
// column by column; null for other values.
c10::TypePtr columns_of(const AbstractValue& s);
// A list of known length, or an object, as an element: its parts. Others stay what they are.
AbstractValue as_columns(const AbstractValue& s);
// The types of the columns that elements of this type have.
std::vector<c10::TypePtr> column_types(const c10::TypePtr& type, size_t columns);
// Applies `f` to every column of a stack, of which it also gets the number.
AbstractValue each_column(const AbstractValue& content,
                          const std::function<AbstractValue(const AbstractValue&, size_t)>& f,
                          size_t k = 0);
// The memory of the first column, which stands for the elements.
Cell* first_memory(const AbstractValue& content);

}  // namespace oe::capture
