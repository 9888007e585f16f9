// Reading and writing through views: storages are mutated, tensors are ways to look at them.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

class Views {
 public:
  explicit Views(Executor& ex) : ex_(ex) {}

  // The content of a tensor now.
  TensorValuePtr read(const std::shared_ptr<TensorHandle>& h);
  TensorValuePtr read(const AbstractValue& tensor) { return read(tensor.tensor()); }
  // Writes it, through every view to the storage, and wherever the tensor may be another one.
  void write(const std::shared_ptr<TensorHandle>& h, TensorValuePtr v);

  // Results of an operator that share memory with its arguments become views of them.
  void alias_outputs(const OpInfo& op, const std::vector<AbstractValue>& args,
                     std::vector<AbstractValue>& outputs);
  // `h` becomes another way to look at memory: that of `as`.
  void look_as(const std::shared_ptr<TensorHandle>& h, const TensorHandle& as);

  // The slice that a piece of split, chunk, narrow and their kin is; nothing for other views.
  struct Piece {
    AbstractValue axis, start, end;
  };
  std::optional<Piece> piece_of(const ViewStep& step, const AbstractValue& parent);

  // Strides and what depends on them; nothing where all worlds agree.
  AbstractValue as_strided(const OpInfo& op, const std::vector<AbstractValue>& args);
  std::vector<AbstractValue> strides_of(const AbstractValue& tensor);
  std::optional<AbstractValue> contiguity_of(const AbstractValue& tensor);

 private:
  // Where views of `h` start: its place in the chain, whatever metadata operators do to `h` later.
  std::shared_ptr<TensorHandle> anchor(const std::shared_ptr<TensorHandle>& h);
  void restride(TensorValue& v, const TensorValue& like);

  // --- write_back.cpp
  TensorValuePtr write_back(const TensorHandle& h, const TensorValuePtr& parent,
                            const TensorValuePtr& v);
  TensorValuePtr write_back_by_places(const ViewStep& step, const AbstractValue& parent,
                                      const AbstractValue& v);
  // --- aliases.cpp
  TensorValuePtr shaped_as(const TensorValuePtr& v, const TensorValue& target,
                           const Alternative& a);
  void propagate(const std::shared_ptr<StorageCell>& s);

  Executor& ex_;
  std::unordered_set<const StorageCell*> spreading_;  // a write to them is on its way
};

}  // namespace oe::capture
