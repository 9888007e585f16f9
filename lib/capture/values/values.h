// How values come to be: inputs, constants, what the model owns, containers and their attributes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/capture/values/abstract_value.h"
#include "lib/support/origin.h"

namespace oe::capture {

class Executor;

class Values {
 public:
  explicit Values(Executor& ex) : ex_(ex) {}

  // A tensor with a memory of its own.
  AbstractValue tensor(TensorValuePtr v);
  AbstractValue list(std::vector<AbstractValue> items, c10::TypePtr element);
  AbstractValue dict(std::vector<std::pair<AbstractValue, AbstractValue>> items, c10::TypePtr key,
                     c10::TypePtr value);
  // What the model or its code owns, `name` its state_dict name: one value however often it is
  // asked for.
  AbstractValue constant(const c10::IValue& v, const std::string& name);
  // The same for a constant that nothing else keeps: its address is its identity.
  AbstractValue kept_constant(const c10::IValue& v, const std::string& name);
  AbstractValue attribute(const AbstractValue& object, const std::string& name);
  void load_attributes(ObjectCell& o);

  static TensorValuePtr input_tensor(program::Value* recorded, PerWorld c, std::vector<Axis> axes);
  static AbstractValue input_number(program::Value* recorded, PerWorld c);

  // The tensor that `handle` stands for is the model's: others may look at the same memory.
  void owns_memory(const at::Tensor& t, TensorHandle& handle);

  // --- state.cpp
  // An attribute of the model is `value` when the run begins: an input of the program.
  void begin_with(const std::string& path, const AbstractValue& self, AbstractValue value);
  void note_write(const ObjectCell& o, const std::string& name);

  struct State {
    std::string path;  // its state_dict name
    AbstractValue value;
    OriginPtr origin;  // of the last line that set it; null where none did
  };
  // Those that were inputs, in that order, as the run left them. Throws Failure where the next call
  // could tell two of them that are one from two that are not.
  std::vector<State> persistent_state();
  // The other buffers and attributes of the model that the run has changed, in the order of their
  // names; where not `only_other`, also those that it set to what they were.
  std::vector<State> written_state(bool only_other);
  // Lines whose constant the run has written: LibTorch keeps that for the next call.
  std::vector<OriginPtr> written_constants() const;

 private:
  AbstractValue once(const void* identity, const std::function<AbstractValue()>& make);
  AbstractValue wrap_tensor(const at::Tensor& t, const std::string& name);
  AbstractValue wrap_list(const c10::List<c10::IValue>& list, const std::string& name);
  AbstractValue wrap_dict(const c10::Dict<c10::IValue, c10::IValue>& dict, const std::string& name);
  AbstractValue wrap_object(c10::intrusive_ptr<c10::ivalue::Object> object,
                            const std::string& name);
  bool as_saved(const AbstractValue& now, const c10::IValue& saved);
  bool was_set(const ObjectCell& o, const std::string& name, const AbstractValue& now) const;
  OriginPtr last_write(const ObjectCell& o, const std::string& name) const;
  void refuse_shared(const std::vector<State>& carried) const;

  Executor& ex_;
  std::unordered_map<const void*, AbstractValue>
      wrapped_;  // identity of objects and constant tensors
  struct ModelStorage {
    std::string name;
    std::shared_ptr<StorageCell> cell;
    uint64_t version;   // before the run
    OriginPtr in_code;  // of the line whose constant it is; null for an attribute
  };
  std::vector<ModelStorage> model_storages_;
  struct Owned {
    at::Tensor tensor;
    std::shared_ptr<StorageCell> cell;
    uint64_t version;  // before the run
  };
  std::unordered_map<const void*, std::vector<Owned>> by_memory_;
  std::vector<c10::IValue> kept_alive_;
  std::vector<std::shared_ptr<ObjectCell>> model_objects_;
  struct Begun {
    std::string path;
    std::shared_ptr<ObjectCell> owner;
    std::string name;
    AbstractValue value;
    std::vector<std::pair<std::shared_ptr<StorageCell>, uint64_t>> storages;  // and versions
  };
  std::vector<Begun> begun_;
  std::map<std::pair<const ObjectCell*, std::string>, OriginPtr> writes_;
};

// Both are constants that nothing tells apart.
bool equal_constants(const AbstractValue& a, const AbstractValue& b);

}  // namespace oe::capture
